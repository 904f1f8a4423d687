/*
 * The public schema, from YAML. Every message names file:line:column of the text at fault.
 */
#include <math.h>
#include <string.h>
#include <yaml.h>

#include "data/data_internal.h"

typedef struct tacit_schema_column_owned {
  tacit_column_schema_t public;
  char *name, **levels;
} tacit_schema_column_owned_t;

struct tacit_schema {
  char *dataset, *unit, *delta_meaning;
  tacit_relation_t relation;
  size_t max_rows;
  tacit_schema_column_owned_t *columns;
  size_t n_columns;
};

/* What the reading functions share. */
typedef struct tacit_schema_reader {
  yaml_document_t *document;
  const char *name;
  tacit_schema_t *schema;
  const yaml_node_t *max_rows_key, *unit_value;
  tacit_error_t *err;
} tacit_schema_reader_t;

static tacit_status_t fault(const tacit_schema_reader_t *reader, const yaml_node_t *at, const char *format, ...)
    TACIT_PRINTF(3, 4);

static tacit_status_t fault(const tacit_schema_reader_t *reader, const yaml_node_t *at, const char *format, ...) {
  tacit_text_t what = {0};
  va_list args;
  va_start(args, format);
  tacit_text_vprintf(&what, format, args);
  va_end(args);
  tacit_status_t status =
      what.failed ? tacit_error_memory(reader->err)
                  : tacit_error_set(reader->err, TACIT_ERR_SCHEMA, reader->name, "%s:%zu:%zu: %s", reader->name,
                                    at->start_mark.line + 1, at->start_mark.column + 1, what.data);
  tacit_text_clear(&what);
  return status;
}

static const char *scalar(const yaml_node_t *node) {
  return (const char *)node->data.scalar.value;
}

/* A text without embedded NUL. */
static tacit_status_t read_text(const tacit_schema_reader_t *reader, const yaml_node_t *node, const char *key,
                                char **text) {
  if (node->type != YAML_SCALAR_NODE || strlen(scalar(node)) != node->data.scalar.length) {
    return fault(reader, node, "%s: expected one word or text", key);
  }
  tacit_free(*text);
  *text = tacit_strdup(scalar(node));
  return *text != NULL ? TACIT_OK : tacit_error_memory(reader->err);
}

static tacit_status_t read_bound(const tacit_schema_reader_t *reader, const yaml_node_t *node, const char *key,
                                 double *value) {
  if (node->type == YAML_SCALAR_NODE && strcmp(scalar(node), "?") == 0) {
    return fault(reader, node, "%s: still to be filled in, with a bound that is known without looking at the data",
                 key);
  }
  if (node->type != YAML_SCALAR_NODE || !tacit_number_parse(scalar(node), node->data.scalar.length, value) ||
      !isfinite(*value)) {
    return fault(reader, node, "%s: expected a finite number", key);
  }
  return TACIT_OK;
}

/* One key of a mapping: where its value goes is up to `read`. */
typedef struct tacit_schema_key {
  const char *name;
  tacit_status_t (*read)(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                         void *target);
} tacit_schema_key_t;

static const tacit_schema_key_t *find_key(const tacit_schema_key_t *keys, size_t n_keys, const char *name,
                                          tacit_nearest_t *nearest) {
  for (size_t i = 0; i < n_keys; i++) {
    if (strcmp(keys[i].name, name) == 0) {
      return &keys[i];
    }
    tacit_nearest_offer(nearest, keys[i].name);
  }
  return NULL;
}

static tacit_status_t refuse_duplicate(const tacit_schema_reader_t *reader, const yaml_node_t *mapping,
                                       const yaml_node_pair_t *pair) {
  const yaml_node_t *key = yaml_document_get_node(reader->document, pair->key);
  for (yaml_node_pair_t *other = mapping->data.mapping.pairs.start; other < pair; other++) {
    const yaml_node_t *known = yaml_document_get_node(reader->document, other->key);
    if (known->type == YAML_SCALAR_NODE && strcmp(scalar(known), scalar(key)) == 0) {
      return fault(reader, key, "'%s' is given twice", scalar(key));
    }
  }
  return TACIT_OK;
}

/* Read all pairs of a mapping by a table of keys; unknown and repeated keys are refused. */
static tacit_status_t read_mapping(tacit_schema_reader_t *reader, const yaml_node_t *mapping, const char *what,
                                   const tacit_schema_key_t *keys, size_t n_keys, void *target) {
  if (mapping->type != YAML_MAPPING_NODE) {
    return fault(reader, mapping, "%s: expected `key: value` pairs", what);
  }
  yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
  for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < end; pair++) {
    const yaml_node_t *key = yaml_document_get_node(reader->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(reader->document, pair->value);
    if (key->type != YAML_SCALAR_NODE) {
      return fault(reader, key, "%s: expected a word as key", what);
    }
    tacit_nearest_t nearest = {.name = scalar(key)};
    const tacit_schema_key_t *known = find_key(keys, n_keys, scalar(key), &nearest);
    char hint[TACIT_HINT_SIZE];
    if (known == NULL) {
      return fault(reader, key, "%s has no key '%s'%s", what, scalar(key), tacit_nearest_hint(&nearest, hint));
    }
    tacit_status_t status = refuse_duplicate(reader, mapping, pair);
    if (status == TACIT_OK) {
      status = known->read(reader, key, value, target);
    }
    if (status != TACIT_OK) {
      return status;
    }
  }
  return TACIT_OK;
}

/* ---- one column ---- */

typedef struct tacit_column_draft {
  tacit_schema_column_owned_t *column;
  const yaml_node_t *type, *lower, *upper, *levels, *missing, *out_of_range;
} tacit_column_draft_t;

static tacit_status_t read_type(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                void *target) {
  static const char *const types[] = {"numeric", "integer", "categorical", "binary", "id"};
  tacit_column_draft_t *draft = target;
  (void)key;
  draft->type = value;
  tacit_nearest_t nearest = {.name = value->type == YAML_SCALAR_NODE ? scalar(value) : ""};
  for (int i = 0; i < 5; i++) {
    if (strcmp(types[i], nearest.name) == 0) {
      draft->column->public.type = (tacit_column_type_t)i;
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, types[i]);
  }
  char hint[TACIT_HINT_SIZE];
  return fault(reader, value, "type: expected numeric, integer, categorical, binary or id%s",
               tacit_nearest_hint(&nearest, hint));
}

static tacit_status_t read_lower(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                 void *target) {
  tacit_column_draft_t *draft = target;
  draft->lower = key;
  return read_bound(reader, value, "lower", &draft->column->public.lower);
}

static tacit_status_t read_upper(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                 void *target) {
  tacit_column_draft_t *draft = target;
  draft->upper = key;
  return read_bound(reader, value, "upper", &draft->column->public.upper);
}

static tacit_status_t add_level(tacit_schema_reader_t *reader, const yaml_node_t *node,
                                tacit_schema_column_owned_t *column) {
  if (node->type != YAML_SCALAR_NODE || node->data.scalar.length == 0 || strcmp(scalar(node), "?") == 0 ||
      tacit_is_missing(scalar(node), node->data.scalar.length)) {
    return fault(reader, node, "levels: expected a list of level names, known without looking at the data");
  }
  for (size_t i = 0; i < column->public.n_levels; i++) {
    if (strcmp(column->levels[i], scalar(node)) == 0) {
      return fault(reader, node, "levels: '%s' is given twice", scalar(node));
    }
  }
  tacit_status_t status = read_text(reader, node, "levels", &column->levels[column->public.n_levels]);
  column->public.n_levels += status == TACIT_OK;
  return status;
}

static tacit_status_t read_levels(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                  void *target) {
  tacit_column_draft_t *draft = target;
  tacit_schema_column_owned_t *column = draft->column;
  draft->levels = key;
  if (value->type != YAML_SEQUENCE_NODE || value->data.sequence.items.start == value->data.sequence.items.top) {
    return fault(reader, value, "levels: expected a list of level names, as in [F, M]");
  }
  yaml_node_item_t *end = value->data.sequence.items.top;
  column->levels = tacit_alloc_zero((size_t)(end - value->data.sequence.items.start), sizeof *column->levels);
  if (column->levels == NULL) {
    return tacit_error_memory(reader->err);
  }
  tacit_status_t status = TACIT_OK;
  for (yaml_node_item_t *item = value->data.sequence.items.start; item < end && status == TACIT_OK; item++) {
    status = add_level(reader, yaml_document_get_node(reader->document, *item), column);
  }
  column->public.levels = (const char *const *)column->levels;
  return status;
}

static tacit_status_t read_missing(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  tacit_column_draft_t *draft = target;
  (void)key;
  if (value->type != YAML_SCALAR_NODE) {
    return fault(reader, value, "missing: expected error, lower, upper, a number within the bounds, or a level");
  }
  draft->missing = value; /* its meaning depends on the type and the bounds, read later */
  return TACIT_OK;
}

static tacit_status_t read_out_of_range(tacit_schema_reader_t *reader, const yaml_node_t *key,
                                        const yaml_node_t *value, void *target) {
  tacit_column_draft_t *draft = target;
  const char *text = value->type == YAML_SCALAR_NODE ? scalar(value) : "";
  draft->out_of_range = key;
  if (strcmp(text, "clamp") != 0 && strcmp(text, "error") != 0) {
    return fault(reader, value, "out_of_range: expected clamp or error");
  }
  draft->column->public.out_of_range = strcmp(text, "error") == 0 ? TACIT_RANGE_ERROR : TACIT_RANGE_CLAMP;
  return TACIT_OK;
}

static tacit_status_t check_bounds(tacit_schema_reader_t *reader, const tacit_column_draft_t *draft) {
  const tacit_column_schema_t *column = &draft->column->public;
  if (draft->lower == NULL || draft->upper == NULL) {
    return fault(reader, draft->type, "column '%s' needs lower and upper: public bounds of its values",
                 column->name);
  }
  char lower[TACIT_NUMBER_SIZE], upper[TACIT_NUMBER_SIZE];
  if (!(column->lower < column->upper)) {
    return fault(reader, draft->lower, "column '%s': lower (%s) must be below upper (%s)%s", column->name,
                 tacit_number_format(column->lower, lower), tacit_number_format(column->upper, upper),
                 column->lower > column->upper ? ": the bounds are reversed" : "");
  }
  bool is_whole = column->lower == floor(column->lower) && column->upper == floor(column->upper);
  if (column->type == TACIT_COLUMN_INTEGER && !is_whole) {
    return fault(reader, draft->lower, "column '%s': the bounds of an integer must be whole numbers",
                 column->name);
  }
  return TACIT_OK;
}

static tacit_status_t check_parts(tacit_schema_reader_t *reader, const tacit_column_draft_t *draft) {
  tacit_column_schema_t *column = &draft->column->public;
  bool has_bounds = column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER;
  const yaml_node_t *bound = draft->lower != NULL ? draft->lower : draft->upper;
  if (!has_bounds && bound != NULL) {
    return fault(reader, bound, "column '%s': only numeric and integer columns have bounds", column->name);
  }
  if (!has_bounds && draft->out_of_range != NULL) {
    return fault(reader, draft->out_of_range, "column '%s': only numeric and integer columns have a range",
                 column->name);
  }
  if (column->type != TACIT_COLUMN_CATEGORICAL && draft->levels != NULL) {
    return fault(reader, draft->levels, "column '%s': only a categorical column has levels", column->name);
  }
  if (column->type == TACIT_COLUMN_CATEGORICAL && draft->levels == NULL) {
    return fault(reader, draft->type, "column '%s' needs levels: the list of its public values", column->name);
  }
  if (column->type == TACIT_COLUMN_ID && draft->missing != NULL) {
    return fault(reader, draft->missing, "column '%s': an identifier cannot be missing", column->name);
  }
  if (column->type == TACIT_COLUMN_BINARY) {
    column->lower = 0;
    column->upper = 1;
  }
  return has_bounds ? check_bounds(reader, draft) : TACIT_OK;
}

/* The missing rule, once type, bounds and levels are known. */
static tacit_status_t settle_missing(tacit_schema_reader_t *reader, const tacit_column_draft_t *draft) {
  tacit_column_schema_t *column = &draft->column->public;
  if (draft->missing == NULL || strcmp(scalar(draft->missing), "error") == 0) {
    return TACIT_OK;
  }
  const char *text = scalar(draft->missing);
  column->missing = TACIT_MISSING_VALUE;
  if (column->type == TACIT_COLUMN_CATEGORICAL) {
    for (size_t i = 0; i < column->n_levels; i++) {
      if (strcmp(column->levels[i], text) == 0) {
        column->missing_value = (double)i;
        return TACIT_OK;
      }
    }
    return fault(reader, draft->missing, "missing: expected error or one of the levels of '%s'", column->name);
  }
  if (strcmp(text, "lower") == 0 || strcmp(text, "upper") == 0) {
    column->missing_value = text[0] == 'l' ? column->lower : column->upper;
    return TACIT_OK;
  }
  double *value = &column->missing_value;
  bool is_number = tacit_number_parse(text, strlen(text), value);
  bool must_be_whole = column->type != TACIT_COLUMN_NUMERIC;
  if (!is_number || !(*value >= column->lower && *value <= column->upper) ||
      (must_be_whole && *value != floor(*value))) {
    return fault(reader, draft->missing, "missing: expected error, lower, upper, or a value within the bounds of '%s'",
                 column->name);
  }
  return TACIT_OK;
}

static tacit_status_t read_column(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value) {
  static const tacit_schema_key_t keys[] = {{"type", read_type},     {"lower", read_lower},
                                            {"upper", read_upper},   {"levels", read_levels},
                                            {"missing", read_missing}, {"out_of_range", read_out_of_range}};
  tacit_schema_column_owned_t *column = &reader->schema->columns[reader->schema->n_columns];
  reader->schema->n_columns++;
  tacit_status_t status = read_text(reader, key, "columns", &column->name);
  if (status != TACIT_OK) {
    return status;
  }
  column->public.name = column->name;
  if (column->name[0] == '\0') {
    return fault(reader, key, "columns: a column without a name");
  }
  tacit_column_draft_t draft = {.column = column};
  status = read_mapping(reader, value, "a column", keys, sizeof keys / sizeof keys[0], &draft);
  if (status == TACIT_OK && draft.type == NULL) {
    status = fault(reader, value, "column '%s' needs a type: numeric, integer, categorical, binary or id",
                   column->name);
  }
  if (status == TACIT_OK) {
    status = check_parts(reader, &draft);
  }
  return status == TACIT_OK ? settle_missing(reader, &draft) : status;
}

/* ---- the whole ---- */

static tacit_status_t read_dataset(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  (void)key;
  (void)target;
  return read_text(reader, value, "dataset", &reader->schema->dataset);
}

static tacit_status_t read_relation(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                    void *target) {
  (void)key;
  (void)target;
  const char *text = value->type == YAML_SCALAR_NODE ? scalar(value) : "";
  if (strcmp(text, "substitute") != 0 && strcmp(text, "add-remove") != 0) {
    return fault(reader, value, "relation: expected substitute or add-remove");
  }
  reader->schema->relation =
      strcmp(text, "add-remove") == 0 ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE;
  return TACIT_OK;
}

static tacit_status_t read_unit(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                void *target) {
  (void)key;
  (void)target;
  reader->unit_value = value;
  return read_text(reader, value, "unit", &reader->schema->unit);
}

static tacit_status_t read_max_rows(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                    void *target) {
  (void)target;
  double rows = 0;
  reader->max_rows_key = key;
  if (value->type != YAML_SCALAR_NODE || !tacit_number_parse(scalar(value), value->data.scalar.length, &rows) ||
      !(rows >= 1 && rows <= 1e9) || rows != floor(rows)) {
    return fault(reader, value, "max_rows: expected a whole number from 1");
  }
  reader->schema->max_rows = (size_t)rows;
  return TACIT_OK;
}

static tacit_status_t read_delta_meaning(tacit_schema_reader_t *reader, const yaml_node_t *key,
                                         const yaml_node_t *value, void *target) {
  (void)key;
  (void)target;
  return read_text(reader, value, "delta_meaning", &reader->schema->delta_meaning);
}

static tacit_status_t read_columns(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  (void)key;
  (void)target;
  if (value->type != YAML_MAPPING_NODE || value->data.mapping.pairs.start == value->data.mapping.pairs.top) {
    return fault(reader, value, "columns: expected `name: {type: ...}` pairs");
  }
  yaml_node_pair_t *end = value->data.mapping.pairs.top;
  size_t n = (size_t)(end - value->data.mapping.pairs.start);
  reader->schema->columns = tacit_alloc_zero(n, sizeof *reader->schema->columns);
  if (reader->schema->columns == NULL) {
    return tacit_error_memory(reader->err);
  }
  tacit_status_t status = TACIT_OK;
  for (yaml_node_pair_t *pair = value->data.mapping.pairs.start; pair < end && status == TACIT_OK; pair++) {
    const yaml_node_t *name = yaml_document_get_node(reader->document, pair->key);
    if (name->type != YAML_SCALAR_NODE) {
      return fault(reader, name, "columns: expected a column name");
    }
    status = refuse_duplicate(reader, value, pair);
    if (status == TACIT_OK) {
      status = read_column(reader, name, yaml_document_get_node(reader->document, pair->value));
    }
  }
  return status;
}

/* `unit: row` becomes NULL; a person column must exist, be an id, and come with max_rows. */
static tacit_status_t settle_unit(tacit_schema_reader_t *reader) {
  tacit_schema_t *schema = reader->schema;
  if (schema->unit == NULL || strcmp(schema->unit, "row") == 0) {
    tacit_free(schema->unit);
    schema->unit = NULL;
    schema->max_rows = 1;
    return reader->max_rows_key == NULL
               ? TACIT_OK
               : fault(reader, reader->max_rows_key, "max_rows only goes with a person column as unit");
  }
  const tacit_column_schema_t *column = tacit_schema_find(schema, schema->unit);
  if (column == NULL || column->type != TACIT_COLUMN_ID) {
    return fault(reader, reader->unit_value, "unit: '%s' must be a column of type id", schema->unit);
  }
  if (reader->max_rows_key == NULL) {
    return fault(reader, reader->unit_value, "unit: '%s' needs max_rows, the most rows of one person that are used",
                 schema->unit);
  }
  return TACIT_OK;
}

static tacit_status_t read_root(tacit_schema_reader_t *reader) {
  static const tacit_schema_key_t keys[] = {{"dataset", read_dataset},   {"relation", read_relation},
                                            {"unit", read_unit},         {"max_rows", read_max_rows},
                                            {"delta_meaning", read_delta_meaning}, {"columns", read_columns}};
  const yaml_node_t *root = yaml_document_get_root_node(reader->document);
  if (root == NULL) {
    return tacit_error_set(reader->err, TACIT_ERR_SCHEMA, reader->name,
                           "%s is empty: expected a schema with the key columns", reader->name);
  }
  tacit_status_t status = read_mapping(reader, root, "the schema", keys, sizeof keys / sizeof keys[0], NULL);
  if (status == TACIT_OK && reader->schema->n_columns == 0) {
    status = fault(reader, root, "the schema needs the key columns");
  }
  return status == TACIT_OK ? settle_unit(reader) : status;
}

static tacit_status_t yaml_fault(const yaml_parser_t *parser, const char *name, tacit_error_t *err) {
  if (parser->error == YAML_MEMORY_ERROR) {
    return tacit_error_memory(err);
  }
  yaml_mark_t mark = parser->problem_mark;
  return tacit_error_set(err, TACIT_ERR_SYNTAX, name, "%s:%zu:%zu: not valid YAML: %s", name, mark.line + 1,
                         mark.column + 1, parser->problem != NULL ? parser->problem : "unreadable text");
}

/* A second document would be silently ignored, so it is refused. */
static tacit_status_t refuse_more(yaml_parser_t *parser, const char *name, tacit_error_t *err) {
  yaml_document_t document;
  if (!yaml_parser_load(parser, &document)) {
    return yaml_fault(parser, name, err);
  }
  const yaml_node_t *root = yaml_document_get_root_node(&document);
  tacit_status_t status = TACIT_OK;
  if (root != NULL) {
    status = tacit_error_set(err, TACIT_ERR_SCHEMA, name, "%s:%zu:%zu: expected one YAML document only", name,
                             root->start_mark.line + 1, root->start_mark.column + 1);
  }
  yaml_document_delete(&document);
  return status;
}

tacit_status_t tacit_schema_parse(tacit_schema_t **out, const char *text, size_t n, const char *name,
                                  tacit_error_t *err) {
  *out = NULL;
  yaml_parser_t parser;
  yaml_document_t document;
  if (!yaml_parser_initialize(&parser)) {
    return tacit_error_memory(err);
  }
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
  if (!yaml_parser_load(&parser, &document)) {
    tacit_status_t status = yaml_fault(&parser, name, err);
    yaml_parser_delete(&parser);
    return status;
  }
  tacit_schema_t *schema = tacit_alloc_zero(1, sizeof *schema);
  tacit_schema_reader_t reader = {.document = &document, .name = name, .schema = schema, .err = err};
  tacit_status_t status = schema != NULL ? read_root(&reader) : tacit_error_memory(err);
  if (status == TACIT_OK && yaml_document_get_root_node(&document) != NULL) {
    status = refuse_more(&parser, name, err);
  }
  yaml_document_delete(&document);
  yaml_parser_delete(&parser);
  if (status != TACIT_OK) {
    tacit_schema_free(schema);
    return status;
  }
  *out = schema;
  return TACIT_OK;
}

tacit_status_t tacit_schema_read(tacit_schema_t **schema, const char *path, tacit_error_t *err) {
  *schema = NULL;
  char *text;
  size_t n;
  tacit_status_t status = tacit_file_read(path, (size_t)1 << 22, &text, &n, err);
  if (status == TACIT_OK) {
    status = tacit_schema_parse(schema, text, n, path, err);
    tacit_free(text);
  }
  return status;
}

void tacit_schema_free(tacit_schema_t *schema) {
  if (schema == NULL) {
    return;
  }
  for (size_t i = 0; i < schema->n_columns; i++) {
    tacit_schema_column_owned_t *column = &schema->columns[i];
    for (size_t k = 0; k < column->public.n_levels; k++) {
      tacit_free(column->levels[k]);
    }
    tacit_free(column->levels);
    tacit_free(column->name);
  }
  tacit_free(schema->columns);
  tacit_free(schema->dataset);
  tacit_free(schema->unit);
  tacit_free(schema->delta_meaning);
  tacit_free(schema);
}

const char *tacit_schema_dataset(const tacit_schema_t *schema) {
  return schema->dataset != NULL ? schema->dataset : "";
}

tacit_relation_t tacit_schema_relation(const tacit_schema_t *schema) {
  return schema->relation;
}

const char *tacit_schema_unit(const tacit_schema_t *schema) {
  return schema->unit;
}

size_t tacit_schema_max_rows(const tacit_schema_t *schema) {
  return schema->max_rows;
}

const char *tacit_schema_delta_meaning(const tacit_schema_t *schema) {
  return schema->delta_meaning != NULL ? schema->delta_meaning : "";
}

size_t tacit_schema_n_columns(const tacit_schema_t *schema) {
  return schema->n_columns;
}

const tacit_column_schema_t *tacit_schema_column(const tacit_schema_t *schema, size_t i) {
  return i < schema->n_columns ? &schema->columns[i].public : NULL;
}

const tacit_column_schema_t *tacit_schema_find(const tacit_schema_t *schema, const char *name) {
  for (size_t i = 0; i < schema->n_columns; i++) {
    if (strcmp(schema->columns[i].name, name) == 0) {
      return &schema->columns[i].public;
    }
  }
  return NULL;
}
