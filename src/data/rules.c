/*
 * What the schema says of a value: levels, bounds, missing values.
 */
#include "base/number.h"
#include "data/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Levels are the schema's, and public: the first ones are named, whole. */
static void say_levels(tacit_rule_t *rule) {
  enum { MAX_NAMED = 8 };
  const tacit_column_schema_t *schema = rule->schema;
  size_t room = sizeof rule->no_level - sizeof ", ...",
         at = (size_t)snprintf(rule->no_level, room, "not one of the levels in the schema");
  for (size_t i = 0; i < schema->n_levels; i++) {
    const char *joint = i == 0 ? ": expected " : ", ";
    if (i == MAX_NAMED || at + strlen(joint) + strlen(schema->levels[i]) >= room) {
      snprintf(rule->no_level + at, sizeof rule->no_level - at, "%s", i == 0 ? "" : ", ...");
      return;
    }
    at += (size_t)snprintf(rule->no_level + at, room - at, "%s%s", joint, schema->levels[i]);
  }
}

tacit_status_t tacit_rule_init(tacit_rule_t *rule, const tacit_column_schema_t *schema, tacit_error_t *err) {
  *rule = (tacit_rule_t){.schema = schema};
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < schema->n_levels && status == TACIT_OK; i++) {
    size_t place;
    bool is_new;
    status = tacit_dictionary_add(&rule->levels, schema->levels[i], strlen(schema->levels[i]), &place,
                                  &is_new, err);
  }
  say_levels(rule);
  return status;
}

void tacit_rule_clear(tacit_rule_t *rule) { tacit_dictionary_clear(&rule->levels); }

tacit_complaint_t tacit_rule_missing(tacit_rule_t *rule, bool counts, double *value) {
  if (rule->schema->missing == TACIT_MISSING_ERROR) {
    return rule->is_of_new_rows ? "a missing value, and the schema has no public value for it: write one"
           : rule->schema->type == TACIT_COLUMN_CATEGORICAL
               ? "a missing value (the schema says missing: error): say there missing: drop (its record adds "
                 "nothing) or missing: LEVEL"
               : "a missing value (the schema says missing: error): say there missing: drop (its record adds "
                 "nothing), lower, upper or a public "
                 "value";
  }
  rule->n_missing += counts;
  *value = rule->schema->missing_value;
  return NULL;
}

static const char complaint_date[] = "expected a number, found a date or time: say since: DATE in the "
                                     "schema, a public date, and it is a number of days",
                  complaint_no_date[] =
                      "expected a date, as the schema says since: write 1999-12-31, or 1999-12-31 23:59:59";

static tacit_complaint_t not_binary(void) {
  return "expected 0 or 1, or FALSE or TRUE; of two other words say type: categorical";
}

/* What was found where a number was expected, in words that fit any value of the kind. */
static tacit_complaint_t not_number(const char *text, size_t n) {
  switch (tacit_look(text, n)) {
  case TACIT_LOOK_COMMA:
    return "expected a number, found one with a comma: write a decimal point, or separate fields by "
           "semicolons";
  case TACIT_LOOK_DATE:
    return complaint_date;
  case TACIT_LOOK_TRUTH:
    return "expected a number, found true or false: that is a column of type binary";
  case TACIT_LOOK_MISSING:
    return "expected a number, found a word for a missing value: leave the field empty, or write NA";
  default:
    return "expected a number";
  }
}

/* "1,5" in a file whose fields are separated by semicolons. */
static bool parse_comma(const char *text, size_t n, double *number) {
  char plain[64];
  const char *comma = memchr(text, ',', n);
  if (comma == NULL || n >= sizeof plain || memchr(text, '.', n) != NULL) {
    return false;
  }
  memcpy(plain, text, n);
  plain[comma - text] = '.';
  return tacit_number_parse(plain, n, number);
}

static const char complaint_two_marks[] = "a number with a decimal point and others with a comma in one file "
                                          "(1.234 may mean 1234): write all with the same mark";

/* Is the number's mark, if it has one, that of all numbers before? */
static bool is_of_one_mark(const tacit_rule_t *rule, const char *text, size_t n) {
  char mark = memchr(text, '.', n) != NULL ? '.' : memchr(text, ',', n) != NULL ? ',' : '\0';
  if (rule->decimal_mark == NULL || mark == '\0') {
    return true;
  }
  *rule->decimal_mark = *rule->decimal_mark == '\0' ? mark : *rule->decimal_mark;
  return *rule->decimal_mark == mark;
}

/* A number that is not missing, by bounds. */
static tacit_complaint_t check_number(tacit_rule_t *rule, double number, bool counts, double *value) {
  const tacit_column_schema_t *schema = rule->schema;
  *value = number;
  if (schema->type == TACIT_COLUMN_BINARY) {
    return number == 0 || number == 1 ? NULL : not_binary(); /* exactly */
  }
  if (schema->type == TACIT_COLUMN_INTEGER && isfinite(number) && number != floor(number)) {
    return "expected a whole number";
  }
  if (number >= schema->lower && number <= schema->upper) {
    return NULL;
  }
  if (schema->out_of_range == TACIT_RANGE_ERROR) {
    return rule->is_of_new_rows ? "outside its bounds in the schema, where the fit says nothing"
                                : "outside its bounds (the schema says out_of_range: error)";
  }
  rule->n_clamped += counts;
  double width = schema->upper - schema->lower;
  rule->n_far += counts && !(number >= schema->lower - width && number <= schema->upper + width);
  *value = number < schema->lower ? schema->lower : schema->upper;
  return NULL;
}

tacit_complaint_t tacit_rule_number(tacit_rule_t *rule, double number, bool counts, double *value) {
  if (isnan(number)) {
    return tacit_rule_missing(rule, counts, value);
  }
  return rule->schema->has_since ? complaint_no_date : check_number(rule, number, counts, value);
}

tacit_complaint_t tacit_rule_days(tacit_rule_t *rule, double days, bool counts, double *value) {
  if (rule->schema->has_since) {
    return check_number(rule, days - rule->schema->since, counts, value);
  }
  return rule->schema->type == TACIT_COLUMN_CATEGORICAL ? "a date or time, where the schema has levels"
                                                        : complaint_date;
}

static bool is_nan_text(const char *text, size_t n) {
  return n == 3 && (memcmp(text, "NaN", 3) == 0 || memcmp(text, "nan", 3) == 0);
}

/* "Inf" with an optional sign, in either case: a number out of any range. */
static bool is_infinite_text(const char *text, size_t n, double *value) {
  size_t sign = n > 0 && (*text == '-' || *text == '+') ? 1 : 0;
  const char *rest = text + sign;
  if (n != sign + 3 || (memcmp(rest, "Inf", 3) != 0 && memcmp(rest, "inf", 3) != 0)) {
    return false;
  }
  *value = sign == 1 && *text == '-' ? -INFINITY : INFINITY;
  return true;
}

/* Blanks at the ends say nothing unless a level has them: databases fill char(n) with such, and codes of a
 * fixed width begin with some. */
static const char *trim_level(const tacit_rule_t *rule, const char *text, size_t *n) {
  if (*n == 0 || (text[*n - 1] != ' ' && *text != ' ') ||
      tacit_dictionary_find(&rule->levels, text, *n) != SIZE_MAX) {
    return text;
  }
  while (*n > 0 && text[*n - 1] == ' ') {
    --*n;
  }
  for (; *n > 0 && *text == ' '; text++) {
    --*n;
  }
  return text;
}

static tacit_complaint_t level_of(const tacit_rule_t *rule, const char *text, size_t n, double *value) {
  size_t level = tacit_dictionary_find(&rule->levels, text, n);
  *value = (double)level;
  return level != SIZE_MAX        ? NULL
         : tacit_is_utf8(text, n) ? rule->no_level
                                  : "not one of the levels in the schema, nor UTF-8: is the file in Latin-1? "
                                    "--encoding latin1 reads it";
}

static tacit_complaint_t truth_of(const char *text, size_t n, double *value) {
  static const char *const words[] = {"FALSE", "TRUE", "False", "True", "false", "true",
                                      "f",     "t",    "F",     "T"}; /* one letter: as psql writes them */
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (n == strlen(words[i]) && memcmp(text, words[i], n) == 0) {
      *value = (double)(i % 2);
      return NULL;
    }
  }
  return not_binary();
}

tacit_complaint_t tacit_rule_text(tacit_rule_t *rule, const char *text, size_t n, bool counts,
                                  double *value) {
  tacit_column_type_t type = rule->schema->type;
  text = type == TACIT_COLUMN_CATEGORICAL ? trim_level(rule, text, &n) : text;
  bool is_nan = is_nan_text(text, n) && (type == TACIT_COLUMN_NUMERIC || type == TACIT_COLUMN_INTEGER);
  bool is_level = n > 0 && tacit_is_missing(text, n) && type == TACIT_COLUMN_CATEGORICAL &&
                  tacit_dictionary_find(&rule->levels, text, n) != SIZE_MAX;
  return is_nan || (tacit_is_missing(text, n) && !is_level)
             ? tacit_rule_missing(rule, counts, value)
             : tacit_rule_written(rule, text, n, counts, value);
}

tacit_complaint_t tacit_rule_written(tacit_rule_t *rule, const char *text, size_t n, bool counts,
                                     double *value) {
  tacit_column_type_t type = rule->schema->type;
  if (type == TACIT_COLUMN_CATEGORICAL) {
    return level_of(rule, text, n, value);
  }
  double number;
  if (rule->schema->has_since) {
    return tacit_date_parse(text, n, &number) ? tacit_rule_days(rule, number, counts, value)
                                              : complaint_no_date;
  }
  if (tacit_number_parse(text, n, &number) || (rule->decimal_mark != NULL && parse_comma(text, n, &number))) {
    return is_of_one_mark(rule, text, n) ? tacit_rule_number(rule, number, counts, value)
                                         : complaint_two_marks;
  }
  if (type == TACIT_COLUMN_BINARY) {
    return truth_of(text, n, value);
  }
  return is_infinite_text(text, n, &number) ? tacit_rule_number(rule, number, counts, value)
                                            : not_number(text, n);
}
