/*
 * One column of the schema: keys as they come, then what they must be together.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/rules.h"
#include "data/schema_internal.h"

static tacit_status_t read_bound(const tacit_yaml_t *yaml, const yaml_node_t *node, const char *key,
                                 double *value) {
  const char *text = tacit_yaml_scalar(node);
  if (node->type == YAML_SCALAR_NODE && (text[0] == '\0' || strcmp(text, "?") == 0)) {
    return tacit_yaml_fault(
        yaml, node, "%s: still to be filled in, with a bound that is known without looking at the data", key);
  }
  if (!tacit_number_parse(text, strlen(text), value) || !isfinite(*value)) {
    return tacit_yaml_fault(yaml, node, "%s: expected a finite number", key);
  }
  return TACIT_OK;
}

static const char *const types[] = {"numeric", "integer", "categorical", "binary", "id"};

const char *tacit_column_type_string(tacit_column_type_t type) { return types[type]; }

/* What other programs call the types. */
static const char *type_meant(const char *name) {
  static const char *const synonyms[][2] = {
      {"bool", "binary"},         {"boolean", "binary"},        {"logical", "binary"},
      {"dummy", "binary"},        {"float", "numeric"},         {"double", "numeric"},
      {"real", "numeric"},        {"number", "numeric"},        {"continuous", "numeric"},
      {"decimal", "numeric"},     {"date", "numeric"},          {"int", "integer"},
      {"count", "integer"},       {"factor", "categorical"},    {"category", "categorical"},
      {"enum", "categorical"},    {"string", "categorical"},    {"str", "categorical"},
      {"text", "categorical"},    {"character", "categorical"}, {"ordinal", "categorical"},
      {"ordered", "categorical"}, {"identifier", "id"}};
  for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
    if (strcasecmp(synonyms[i][0], name) == 0) {
      return synonyms[i][1];
    }
  }
  return NULL;
}

static tacit_status_t read_type(tacit_yaml_t *yaml, const yaml_node_t *value,
                                tacit_schema_column_owned_t *column) {
  if (strcmp(tacit_yaml_scalar(value), "?") == 0) {
    return tacit_yaml_fault(yaml, value,
                            "column '%s': type: still to be filled in: numeric, integer, categorical, binary "
                            "or id, as the code book says",
                            column->name);
  }
  tacit_nearest_t nearest = {.name = tacit_yaml_scalar(value)};
  for (int i = 0; i < 5; i++) {
    if (strcmp(types[i], nearest.name) == 0) {
      column->public.type = (tacit_column_type_t)i;
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, types[i]);
  }
  char hint[TACIT_HINT_SIZE];
  const char *meant = type_meant(nearest.name);
  if (meant != NULL) {
    return tacit_yaml_fault(yaml, value, "type: '%s' is called %s here%s", nearest.name, meant,
                            strcasecmp(nearest.name, "date") == 0 ? ", with since: a public date" : "");
  }
  return tacit_yaml_fault(yaml, value, "type: expected numeric, integer, categorical, binary or id%s",
                          tacit_nearest_hint(&nearest, hint));
}

static tacit_status_t read_lower(tacit_yaml_t *yaml, const yaml_node_t *value,
                                 tacit_schema_column_owned_t *column) {
  return read_bound(yaml, value, "lower", &column->public.lower);
}

static tacit_status_t read_upper(tacit_yaml_t *yaml, const yaml_node_t *value,
                                 tacit_schema_column_owned_t *column) {
  return read_bound(yaml, value, "upper", &column->public.upper);
}

static tacit_status_t read_units(tacit_yaml_t *yaml, const yaml_node_t *value,
                                 tacit_schema_column_owned_t *column) {
  tacit_status_t status = tacit_yaml_text(yaml, value, "units", &column->units);
  column->public.units = column->units;
  return status == TACIT_OK && (column->units[0] == '\0' || strlen(column->units) > 40)
             ? tacit_yaml_fault(yaml, value,
                                "units: expected a word or two of at most 40 bytes, as in years, for reports")
             : status;
}

static tacit_status_t read_typical(tacit_yaml_t *yaml, const yaml_node_t *value,
                                   tacit_schema_column_owned_t *column) {
  if (tacit_yaml_length(value) != 2) {
    return tacit_yaml_fault(
        yaml, value, "typical: expected [low, high], between which nine in ten values are known to lie");
  }
  column->public.has_typical = true;
  tacit_status_t status =
      read_bound(yaml, tacit_yaml_item(yaml, value, 0), "typical", &column->public.typical_low);
  return status == TACIT_OK
             ? read_bound(yaml, tacit_yaml_item(yaml, value, 1), "typical", &column->public.typical_high)
             : status;
}

static tacit_status_t add_level(tacit_yaml_t *yaml, const yaml_node_t *node, tacit_dictionary_t *seen,
                                tacit_schema_column_owned_t *column) {
  const char *text = tacit_yaml_scalar(node);
  bool is_na = strcmp(text, "NA") == 0, is_plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (is_na && is_plain) {
    return tacit_yaml_fault(
        yaml, node,
        "levels: NA stands for a missing value in the data, and is no level: leave it out, and say in "
        "`missing:` what a missing value counts as; \"NA\" in quotes is a level, Namibia's perhaps");
  }
  if (strcmp(text, "?") == 0 || (!is_na && tacit_is_missing(text, strlen(text)))) {
    return tacit_yaml_fault(yaml, node,
                            "levels: expected a list of level names, known without looking at the data");
  }
  size_t place;
  bool is_new;
  tacit_status_t status = tacit_dictionary_add(seen, text, strlen(text), &place, &is_new, yaml->err);
  if (status == TACIT_OK && !is_new) {
    status = tacit_yaml_fault(yaml, node, "levels: '%s' is given twice", text);
  }
  TACIT_THEN(status, tacit_yaml_text(yaml, node, "levels", &column->levels[column->public.n_levels]));
  column->public.n_levels += status == TACIT_OK;
  return status;
}

static tacit_status_t read_levels(tacit_yaml_t *yaml, const yaml_node_t *value,
                                  tacit_schema_column_owned_t *column) {
  size_t n = tacit_yaml_length(value);
  if (n == 0) {
    return tacit_yaml_fault(yaml, value, "levels: expected a list of level names, as in [F, M]");
  }
  column->levels = tacit_alloc_zero(n, sizeof *column->levels);
  tacit_status_t status = column->levels != NULL ? TACIT_OK : tacit_error_memory(yaml->err);
  tacit_dictionary_t seen = {0};
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = add_level(yaml, tacit_yaml_item(yaml, value, i), &seen, column);
  }
  tacit_dictionary_clear(&seen);
  column->public.levels = (const char *const *)column->levels;
  return status;
}

static tacit_status_t read_out_of_range(tacit_yaml_t *yaml, const yaml_node_t *value,
                                        tacit_schema_column_owned_t *column) {
  const char *text = tacit_yaml_scalar(value);
  if (strcmp(text, "clamp") != 0 && strcmp(text, "error") != 0) {
    return tacit_yaml_fault(yaml, value, "out_of_range: expected clamp or error");
  }
  column->public.out_of_range = strcmp(text, "error") == 0 ? TACIT_RANGE_ERROR : TACIT_RANGE_CLAMP;
  return TACIT_OK;
}

static tacit_status_t read_since(tacit_yaml_t *yaml, const yaml_node_t *value,
                                 tacit_schema_column_owned_t *column) {
  const char *text = tacit_yaml_scalar(value);
  column->public.has_since = tacit_date_parse(text, strlen(text), &column->public.since) &&
                             column->public.since == floor(column->public.since);
  return column->public.has_since
             ? TACIT_OK
             : tacit_yaml_fault(
                   yaml, value,
                   "since: expected a date, as in 1999-12-31: values are dates, as days since then");
}

static tacit_status_t read_labels(tacit_yaml_t *yaml, const yaml_node_t *value,
                                  tacit_schema_column_owned_t *column) {
  const char *text = tacit_yaml_scalar(value);
  column->public.has_labels = strcmp(text, "true") == 0;
  return column->public.has_labels || strcmp(text, "false") == 0
             ? TACIT_OK
             : tacit_yaml_fault(
                   yaml, value,
                   "labels: expected true (levels are the labels of values) or false (they are the values)");
}

/* A column as it stands in the file: where messages point to. */
typedef struct tacit_column_draft {
  tacit_schema_column_owned_t *column;
  const yaml_node_t *node;
} tacit_column_draft_t;

static tacit_status_t check_bounds(tacit_yaml_t *yaml, const tacit_column_draft_t *draft) {
  const tacit_column_schema_t *column = &draft->column->public;
  const yaml_node_t *lower_key = tacit_yaml_key_in(yaml, draft->node, "lower");
  if (lower_key == NULL || tacit_yaml_key_in(yaml, draft->node, "upper") == NULL) {
    return tacit_yaml_fault(yaml, tacit_yaml_find_in(yaml, draft->node, "type"),
                            "column '%s' needs lower and upper: public bounds of its values", column->name);
  }
  char lower[TACIT_NUMBER_SIZE], upper[TACIT_NUMBER_SIZE];
  if (!(column->lower < column->upper)) {
    return tacit_yaml_fault(yaml, lower_key, "column '%s': lower (%s) must be below upper (%s)%s",
                            column->name, tacit_number_format(column->lower, lower),
                            tacit_number_format(column->upper, upper),
                            column->lower > column->upper ? ": the bounds are reversed"
                                                          : ": one value says nothing; leave the column out");
  }
  if (!isfinite(column->upper - column->lower)) {
    return tacit_yaml_fault(yaml, lower_key, "column '%s': the bounds are too far apart", column->name);
  }
  if (column->has_typical &&
      !(column->lower <= column->typical_low && column->typical_low < column->typical_high &&
        column->typical_high <= column->upper)) {
    return tacit_yaml_fault(yaml, tacit_yaml_key_in(yaml, draft->node, "typical"),
                            "column '%s': typical: low must be below high, and both within the bounds",
                            column->name);
  }
  bool is_whole = column->lower == floor(column->lower) && column->upper == floor(column->upper);
  if (column->type == TACIT_COLUMN_INTEGER && !is_whole) {
    return tacit_yaml_fault(yaml, lower_key, "column '%s': the bounds of an integer must be whole numbers",
                            column->name);
  }
  return TACIT_OK;
}

/* Keys, what reads them, and which columns have them: of numbers, or categorical ones alone, where `has` says
 * what it is. */
static const char *const keys[] = {"type",         "lower",  "upper",  "typical", "units", "since",
                                   "out_of_range", "labels", "levels", "missing", NULL};
static const struct {
  tacit_status_t (*read)(tacit_yaml_t *yaml, const yaml_node_t *value, tacit_schema_column_owned_t *column);
  const char *has;
  bool is_of_numbers;
} parts[] = {{read_type, NULL, false},
             {read_lower, "bounds", true},
             {read_upper, "bounds", true},
             {read_typical, "typical values", true},
             {read_units, "units", true},
             {read_since, "dates", true},
             {read_out_of_range, "a range", true},
             {read_labels, "labels", false},
             {read_levels, "levels", false}};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

static tacit_status_t check_parts(tacit_yaml_t *yaml, const tacit_column_draft_t *draft) {
  tacit_column_schema_t *column = &draft->column->public;
  bool has_bounds = column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER;
  for (size_t i = 1; i < N_PARTS; i++) {
    const yaml_node_t *key = tacit_yaml_key_in(yaml, draft->node, keys[i]);
    if (key != NULL && !(parts[i].is_of_numbers ? has_bounds : column->type == TACIT_COLUMN_CATEGORICAL)) {
      return tacit_yaml_fault(yaml, key, "column '%s': only %s %s", column->name,
                              parts[i].is_of_numbers ? "numeric and integer columns have"
                                                     : "a categorical column has",
                              parts[i].has);
    }
  }
  const yaml_node_t *missing = tacit_yaml_find_in(yaml, draft->node, "missing");
  if (column->type == TACIT_COLUMN_CATEGORICAL && column->n_levels == 0) {
    return tacit_yaml_fault(yaml, tacit_yaml_find_in(yaml, draft->node, "type"),
                            "column '%s' needs levels: the list of its public values", column->name);
  }
  if (column->type == TACIT_COLUMN_ID && missing != NULL) {
    return tacit_yaml_fault(yaml, missing, "column '%s': an identifier cannot be missing", column->name);
  }
  if (column->type == TACIT_COLUMN_BINARY) {
    column->lower = 0;
    column->upper = 1;
  }
  return has_bounds ? check_bounds(yaml, draft) : TACIT_OK;
}

/* The missing rule, once type, bounds and levels are known. */
static tacit_status_t settle_missing(tacit_yaml_t *yaml, const tacit_column_draft_t *draft) {
  tacit_column_schema_t *column = &draft->column->public;
  const yaml_node_t *missing = tacit_yaml_find_in(yaml, draft->node, "missing");
  if (missing != NULL && missing->type != YAML_SCALAR_NODE) {
    return tacit_yaml_fault(
        yaml, missing, "missing: expected error, drop, lower, upper, a number within the bounds, or a level");
  }
  const char *text = missing != NULL ? tacit_yaml_scalar(missing) : "error";
  bool is_drop = strcmp(text, "drop") == 0;
  for (size_t i = 0; is_drop && i < column->n_levels; i++) {
    if (strcmp(column->levels[i], text) == 0) {
      return tacit_yaml_fault(
          yaml, missing,
          "missing: drop leaves the record out, and is a level of '%s' too: name that level "
          "otherwise",
          column->name);
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
    return tacit_yaml_fault(yaml, missing, "missing: expected error, drop or one of the levels of '%s'",
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
    return tacit_yaml_fault(
        yaml, missing, "missing: expected error, drop, lower, upper, or a value within the bounds of '%s'",
        column->name);
  }
  return TACIT_OK;
}

tacit_status_t tacit_schema_read_column(tacit_yaml_t *yaml, tacit_schema_t *schema, const yaml_node_t *key,
                                        const yaml_node_t *value) {
  tacit_schema_column_owned_t *column = &schema->columns[schema->n_columns++];
  const tacit_column_draft_t draft = {.column = column, .node = value};
  tacit_status_t status = tacit_yaml_text(yaml, key, "columns", &column->name);
  column->public.name = column->name;
  if (status == TACIT_OK && column->name[0] == '\0') {
    status = tacit_yaml_fault(yaml, key, "columns: a column without a name");
  }
  TACIT_THEN(status, tacit_yaml_mapping(yaml, value, "a column", keys));
  if (status == TACIT_OK && tacit_yaml_find_in(yaml, value, "type") == NULL) {
    status = tacit_yaml_fault(
        yaml, value, "column '%s' needs a type: numeric, integer, categorical, binary or id", column->name);
  }
  for (size_t i = 0; i < N_PARTS && status == TACIT_OK; i++) {
    const yaml_node_t *part = tacit_yaml_find_in(yaml, value, keys[i]);
    status = part != NULL ? parts[i].read(yaml, part, column) : TACIT_OK;
  }
  TACIT_THEN(status, check_parts(yaml, &draft));
  return status == TACIT_OK ? settle_missing(yaml, &draft) : status;
}
