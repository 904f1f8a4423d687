/*
 * One column of the schema: keys as they come, then what they must be together.
 */
#include <math.h>
#include <string.h>

#include "data/rules.h"
#include "data/schema_internal.h"

static tacit_status_t read_bound(const tacit_schema_reader_t *reader, const yaml_node_t *node, const char *key,
                                 double *value) {
  const char *text = node->type == YAML_SCALAR_NODE ? tacit_schema_scalar(node) : NULL;
  if (text != NULL && (text[0] == '\0' || strcmp(text, "?") == 0)) {
    return tacit_schema_fault(reader, node,
                              "%s: still to be filled in, with a bound that is known without looking at the data", key);
  }
  if (text == NULL || !tacit_number_parse(text, strlen(text), value) || !isfinite(*value)) {
    return tacit_schema_fault(reader, node, "%s: expected a finite number", key);
  }
  return TACIT_OK;
}

typedef struct tacit_column_draft {
  tacit_schema_column_owned_t *column;
  const yaml_node_t *type, *lower, *upper, *levels, *missing, *out_of_range, *typical, *since, *labels;
} tacit_column_draft_t;

static const char *const types[] = {"numeric", "integer", "categorical", "binary", "id"};

const char *tacit_column_type_string(tacit_column_type_t type) {
  return types[type];
}

static tacit_status_t read_type(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                void *target) {
  tacit_column_draft_t *draft = target;
  (void)key;
  draft->type = value;
  if (value->type == YAML_SCALAR_NODE && strcmp(tacit_schema_scalar(value), "?") == 0) {
    return tacit_schema_fault(reader, value,
                              "column '%s': type: still to be filled in: numeric, integer, categorical, binary or id, as the code book says",
                              draft->column->name);
  }
  tacit_nearest_t nearest = {.name = value->type == YAML_SCALAR_NODE ? tacit_schema_scalar(value) : ""};
  for (int i = 0; i < 5; i++) {
    if (strcmp(types[i], nearest.name) == 0) {
      draft->column->public.type = (tacit_column_type_t)i;
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, types[i]);
  }
  char hint[TACIT_HINT_SIZE];
  return tacit_schema_fault(reader, value, "type: expected numeric, integer, categorical, binary or id%s",
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

static tacit_status_t read_typical(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value, void *target) {
  tacit_column_draft_t *draft = target;
  tacit_column_schema_t *column = &draft->column->public;
  draft->typical = key;
  if (value->type != YAML_SEQUENCE_NODE || value->data.sequence.items.top - value->data.sequence.items.start != 2) {
    return tacit_schema_fault(reader, value, "typical: expected [low, high], between which nine in ten values are known to lie");
  }
  const yaml_node_item_t *items = value->data.sequence.items.start;
  column->has_typical = true;
  tacit_status_t status = read_bound(reader, yaml_document_get_node(reader->document, items[0]), "typical", &column->typical_low);
  return status == TACIT_OK ? read_bound(reader, yaml_document_get_node(reader->document, items[1]), "typical", &column->typical_high)
                            : status;
}

static tacit_status_t add_level(tacit_schema_reader_t *reader, const yaml_node_t *node, tacit_dictionary_t *seen,
                                tacit_schema_column_owned_t *column) {
  const char *text = node->type == YAML_SCALAR_NODE ? tacit_schema_scalar(node) : "";
  if (strcmp(text, "NA") == 0) {
    return tacit_schema_fault(reader, node, "levels: NA stands for a missing value in the data, and is no level: leave it out, and say in "
                                            "`missing:` what a missing value counts as");
  }
  if (strcmp(text, "?") == 0 || tacit_is_missing(text, strlen(text))) {
    return tacit_schema_fault(reader, node,
                              "levels: expected a list of level names, known without looking at the data");
  }
  size_t place;
  bool is_new;
  tacit_status_t status = tacit_dictionary_add(seen, text, strlen(text), &place, &is_new, reader->err);
  if (status == TACIT_OK && !is_new) {
    status = tacit_schema_fault(reader, node, "levels: '%s' is given twice", text);
  }
  if (status == TACIT_OK) {
    status = tacit_schema_text(reader, node, "levels", &column->levels[column->public.n_levels]);
  }
  column->public.n_levels += status == TACIT_OK;
  return status;
}

static tacit_status_t read_levels(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                  void *target) {
  tacit_column_draft_t *draft = target;
  tacit_schema_column_owned_t *column = draft->column;
  draft->levels = key;
  if (value->type != YAML_SEQUENCE_NODE || value->data.sequence.items.start == value->data.sequence.items.top) {
    return tacit_schema_fault(reader, value, "levels: expected a list of level names, as in [F, M]");
  }
  yaml_node_item_t *end = value->data.sequence.items.top;
  column->levels = tacit_alloc_zero((size_t)(end - value->data.sequence.items.start), sizeof *column->levels);
  if (column->levels == NULL) {
    return tacit_error_memory(reader->err);
  }
  tacit_status_t status = TACIT_OK;
  tacit_dictionary_t seen = {0};
  for (yaml_node_item_t *item = value->data.sequence.items.start; item < end && status == TACIT_OK; item++) {
    status = add_level(reader, yaml_document_get_node(reader->document, *item), &seen, column);
  }
  tacit_dictionary_clear(&seen);
  column->public.levels = (const char *const *)column->levels;
  return status;
}

static tacit_status_t read_missing(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  tacit_column_draft_t *draft = target;
  (void)key;
  if (value->type != YAML_SCALAR_NODE) {
    return tacit_schema_fault(reader, value,
                              "missing: expected error, drop, lower, upper, a number within the bounds, or a level");
  }
  draft->missing = value; /* its meaning depends on the type and the bounds, read later */
  return TACIT_OK;
}

static tacit_status_t read_out_of_range(tacit_schema_reader_t *reader, const yaml_node_t *key,
                                        const yaml_node_t *value, void *target) {
  tacit_column_draft_t *draft = target;
  const char *text = value->type == YAML_SCALAR_NODE ? tacit_schema_scalar(value) : "";
  draft->out_of_range = key;
  if (strcmp(text, "clamp") != 0 && strcmp(text, "error") != 0) {
    return tacit_schema_fault(reader, value, "out_of_range: expected clamp or error");
  }
  draft->column->public.out_of_range = strcmp(text, "error") == 0 ? TACIT_RANGE_ERROR : TACIT_RANGE_CLAMP;
  return TACIT_OK;
}

static tacit_status_t read_since(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value, void *target) {
  tacit_column_draft_t *draft = target;
  tacit_column_schema_t *column = &draft->column->public;
  const char *text = value->type == YAML_SCALAR_NODE ? tacit_schema_scalar(value) : "";
  draft->since = key;
  column->has_since = tacit_date_parse(text, strlen(text), &column->since) && column->since == floor(column->since);
  return column->has_since ? TACIT_OK
                           : tacit_schema_fault(reader, value, "since: expected a date, as in 1999-12-31: values are dates, as days since then");
}

static tacit_status_t read_labels(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value, void *target) {
  tacit_column_draft_t *draft = target;
  const char *text = value->type == YAML_SCALAR_NODE ? tacit_schema_scalar(value) : "";
  draft->labels = key;
  draft->column->public.has_labels = strcmp(text, "true") == 0;
  return draft->column->public.has_labels || strcmp(text, "false") == 0
             ? TACIT_OK
             : tacit_schema_fault(reader, value, "labels: expected true (levels are the labels of values) or false (they are the values)");
}

static tacit_status_t check_bounds(tacit_schema_reader_t *reader, const tacit_column_draft_t *draft) {
  const tacit_column_schema_t *column = &draft->column->public;
  if (draft->lower == NULL || draft->upper == NULL) {
    return tacit_schema_fault(reader, draft->type, "column '%s' needs lower and upper: public bounds of its values",
                              column->name);
  }
  char lower[TACIT_NUMBER_SIZE], upper[TACIT_NUMBER_SIZE];
  if (!(column->lower < column->upper)) {
    return tacit_schema_fault(reader, draft->lower, "column '%s': lower (%s) must be below upper (%s)%s", column->name,
                              tacit_number_format(column->lower, lower), tacit_number_format(column->upper, upper),
                              column->lower > column->upper ? ": the bounds are reversed" : ": one value says nothing; leave the column out");
  }
  if (!isfinite(column->upper - column->lower)) {
    return tacit_schema_fault(reader, draft->lower, "column '%s': the bounds are too far apart", column->name);
  }
  if (column->has_typical && !(column->lower <= column->typical_low && column->typical_low < column->typical_high &&
                               column->typical_high <= column->upper)) {
    return tacit_schema_fault(reader, draft->typical, "column '%s': typical: low must be below high, and both within the bounds", column->name);
  }
  bool is_whole = column->lower == floor(column->lower) && column->upper == floor(column->upper);
  if (column->type == TACIT_COLUMN_INTEGER && !is_whole) {
    return tacit_schema_fault(reader, draft->lower, "column '%s': the bounds of an integer must be whole numbers",
                              column->name);
  }
  return TACIT_OK;
}

static tacit_status_t check_parts(tacit_schema_reader_t *reader, const tacit_column_draft_t *draft) {
  tacit_column_schema_t *column = &draft->column->public;
  bool has_bounds = column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER;
  const yaml_node_t *bound = draft->lower != NULL ? draft->lower : draft->upper;
  if (!has_bounds && bound != NULL) {
    return tacit_schema_fault(reader, bound, "column '%s': only numeric and integer columns have bounds", column->name);
  }
  if (!has_bounds && draft->typical != NULL) {
    return tacit_schema_fault(reader, draft->typical, "column '%s': only numeric and integer columns have typical values", column->name);
  }
  if (!has_bounds && draft->since != NULL) {
    return tacit_schema_fault(reader, draft->since, "column '%s': only numeric and integer columns have dates", column->name);
  }
  if (column->type != TACIT_COLUMN_CATEGORICAL && draft->labels != NULL) {
    return tacit_schema_fault(reader, draft->labels, "column '%s': only a categorical column has labels", column->name);
  }
  if (!has_bounds && draft->out_of_range != NULL) {
    return tacit_schema_fault(reader, draft->out_of_range, "column '%s': only numeric and integer columns have a range",
                              column->name);
  }
  if (column->type != TACIT_COLUMN_CATEGORICAL && draft->levels != NULL) {
    return tacit_schema_fault(reader, draft->levels, "column '%s': only a categorical column has levels", column->name);
  }
  if (column->type == TACIT_COLUMN_CATEGORICAL && draft->levels == NULL) {
    return tacit_schema_fault(reader, draft->type, "column '%s' needs levels: the list of its public values",
                              column->name);
  }
  if (column->type == TACIT_COLUMN_ID && draft->missing != NULL) {
    return tacit_schema_fault(reader, draft->missing, "column '%s': an identifier cannot be missing", column->name);
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
  const char *text = draft->missing != NULL ? tacit_schema_scalar(draft->missing) : "error";
  bool is_drop = strcmp(text, "drop") == 0;
  for (size_t i = 0; is_drop && i < column->n_levels; i++) {
    if (strcmp(column->levels[i], text) == 0) {
      return tacit_schema_fault(reader, draft->missing, "missing: drop leaves the record out, and is a level of '%s' too: name that level "
                                                        "otherwise", column->name);
    }
  }
  if (is_drop || strcmp(text, "error") == 0) {
    column->missing = is_drop ? TACIT_MISSING_DROP : TACIT_MISSING_ERROR;
    column->missing_value = is_drop ? NAN : 0;
    return TACIT_OK;
  }
  column->missing = TACIT_MISSING_VALUE;
  if (column->type == TACIT_COLUMN_CATEGORICAL) {
    for (size_t i = 0; i < column->n_levels; i++) {
      if (strcmp(column->levels[i], text) == 0) {
        column->missing_value = (double)i;
        return TACIT_OK;
      }
    }
    return tacit_schema_fault(reader, draft->missing, "missing: expected error, drop or one of the levels of '%s'",
                              column->name);
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
    return tacit_schema_fault(reader, draft->missing,
                              "missing: expected error, drop, lower, upper, or a value within the bounds of '%s'",
                              column->name);
  }
  return TACIT_OK;
}

tacit_status_t tacit_schema_read_column(tacit_schema_reader_t *reader, const yaml_node_t *key,
                                        const yaml_node_t *value) {
  static const tacit_schema_key_t keys[] = {{"type", read_type},       {"lower", read_lower},
                                            {"upper", read_upper},     {"levels", read_levels},
                                            {"missing", read_missing}, {"out_of_range", read_out_of_range},
                                            {"typical", read_typical}, {"since", read_since},
                                            {"labels", read_labels}};
  tacit_schema_column_owned_t *column = &reader->schema->columns[reader->schema->n_columns];
  reader->schema->n_columns++;
  tacit_status_t status = tacit_schema_text(reader, key, "columns", &column->name);
  if (status != TACIT_OK) {
    return status;
  }
  column->public.name = column->name;
  if (column->name[0] == '\0') {
    return tacit_schema_fault(reader, key, "columns: a column without a name");
  }
  tacit_column_draft_t draft = {.column = column};
  status = tacit_schema_mapping(reader, value, "a column", keys, sizeof keys / sizeof keys[0], &draft);
  if (status == TACIT_OK && draft.type == NULL) {
    status = tacit_schema_fault(reader, value, "column '%s' needs a type: numeric, integer, categorical, binary or id",
                                column->name);
  }
  if (status == TACIT_OK) {
    status = check_parts(reader, &draft);
  }
  return status == TACIT_OK ? settle_missing(reader, &draft) : status;
}
