#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/read_internal.h"

/* A line without its end; CRLF is accepted. */
typedef struct line {
  char *start;
  size_t length, number;
} line_t;

typedef struct cursor {
  char *bytes;
  size_t n_bytes, offset, number;
} cursor_t;

static bool next_line(cursor_t *cursor, line_t *line) {
  if (cursor->offset >= cursor->n_bytes) {
    return false;
  }
  line->start = cursor->bytes + cursor->offset;
  size_t left = cursor->n_bytes - cursor->offset;
  char *end = memchr(line->start, '\n', left);
  size_t length = end != NULL ? (size_t)(end - line->start) : left;
  cursor->offset += length + (end != NULL);
  line->number = ++cursor->number;
  line->length = length > 0 && line->start[length - 1] == '\r' ? length - 1 : length;
  return true;
}

/* ---- header ---- */

typedef struct header {
  size_t num_samples, num_warmup, save_warmup, thin, num_chains;
  bool has_num_samples;
} header_t;

/* "#   key = value" with an optional " (Default)"; both are cut out of the line in place. */
static bool split_setting(line_t *line, char **key, char **value) {
  char *s = line->start + strspn(line->start, "# ");
  line->start[line->length] = '\0';
  char *separator = strstr(s, " = ");
  if (separator == NULL) {
    return false;
  }
  *separator = '\0';
  *key = s;
  *value = separator + 3;
  char *suffix = strstr(*value, " (Default)");
  if (suffix != NULL) {
    *suffix = '\0';
  }
  return true;
}

static bool parse_count(const char *s, size_t *value) {
  *value = 0;
  for (const char *c = s; *c != '\0'; c++) {
    if (*c < '0' || *c > '9' || __builtin_mul_overflow(*value, 10, value) ||
        __builtin_add_overflow(*value, (size_t)(*c - '0'), value)) {
      return false;
    }
  }
  return *s != '\0';
}

static tacit_status_t header_setting(const tacit_stan_csv_t *csv, header_t *header, const char *key,
                                     const char *value, size_t number, tacit_error_t *err) {
  const struct {
    const char *key;
    size_t *value;
  } counts[] = {{"num_samples", &header->num_samples},
                {"num_warmup", &header->num_warmup},
                {"save_warmup", &header->save_warmup},
                {"thin", &header->thin},
                {"num_chains", &header->num_chains}};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    if (strcmp(key, counts[i].key) != 0) {
      continue;
    }
    if (!parse_count(value, counts[i].value)) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, key, "%s:%zu: %s must be a whole number", csv->path,
                             number, key);
    }
    header->has_num_samples = header->has_num_samples || i == 0;
  }
  return TACIT_OK;
}

/* ---- names ---- */

static bool is_internal(const char *name) {
  size_t n = strlen(name);
  return n > 2 && strcmp(name + n - 2, "__") == 0;
}

static char *next_field(char **rest) {
  char *field = *rest;
  if (field != NULL) {
    char *comma = strchr(field, ',');
    *rest = comma != NULL ? comma + 1 : NULL;
    if (comma != NULL) {
      *comma = '\0';
    }
  }
  return field;
}

static void note_internal(tacit_stan_csv_t *csv, const char *name) {
  int column = (int)csv->n_internal;
  if (strcmp(name, "accept_stat__") == 0) {
    csv->accept_stat = column;
  } else if (strcmp(name, "stepsize__") == 0) {
    csv->step_size = column;
  } else if (strcmp(name, "n_leapfrog__") == 0) {
    csv->n_leapfrog = column;
  }
}

static tacit_status_t take_names(tacit_stan_csv_t *csv, line_t *line, tacit_error_t *err) {
  line->start[line->length] = '\0';
  csv->names_line = line->number;
  csv->n_columns = 1;
  for (const char *c = line->start; *c != '\0'; c++) {
    csv->n_columns += *c == ',';
  }
  csv->names = tacit_alloc_zero(csv->n_columns, sizeof *csv->names);
  csv->labels = tacit_alloc_zero(csv->n_columns, sizeof *csv->labels);
  if (csv->names == NULL || csv->labels == NULL) {
    return tacit_error_memory(err);
  }
  char *rest = line->start;
  for (char *name; (name = next_field(&rest)) != NULL;) {
    if (name[0] == '\0' || (is_internal(name) && csv->n_names > 0)) {
      return tacit_error_set(
          err, TACIT_ERR_SYNTAX, csv->path,
          "%s:%zu: column %zu must have a name, and columns whose name ends in __ come first", csv->path,
          csv->names_line, csv->n_internal + csv->n_names + 1);
    }
    if (is_internal(name)) {
      note_internal(csv, name);
      csv->n_internal++;
    } else if ((csv->names[csv->n_names++] = tacit_strdup(name)) == NULL) {
      return tacit_error_memory(err);
    }
  }
  return TACIT_OK;
}

/* "tacit_label.3": the index, from 1, or 0 if the key is another. */
static size_t label_index(const char *key) {
  static const char prefix[] = "tacit_label.";
  size_t index;
  return strncmp(key, prefix, sizeof prefix - 1) == 0 && parse_count(key + sizeof prefix - 1, &index) ? index
                                                                                                      : 0;
}

/* Where the header's words under a key belong, or NULL. */
static char **place_of(tacit_stan_csv_t *csv, const char *key) {
  size_t index = label_index(key);
  if (index > 0 && index <= csv->n_names) {
    return &csv->labels[index - 1];
  }
  return strcmp(key, "tacit_formula") == 0  ? &csv->formula
         : strcmp(key, "tacit_family") == 0 ? &csv->family
         : strcmp(key, "tacit_method") == 0 ? &csv->method
         : strcmp(key, "tacit_data") == 0   ? &csv->data_name
                                            : NULL;
}

static tacit_status_t take_words(tacit_stan_csv_t *csv, const char *key, const char *value,
                                 tacit_error_t *err) {
  char **place = place_of(csv, key);
  if (place == NULL || *place != NULL) {
    return TACIT_OK;
  }
  *place = tacit_strdup(value);
  if (*place == NULL) {
    return tacit_error_memory(err);
  }
  tacit_header_value_decode(*place);
  return TACIT_OK;
}

/* Settings and labels stand in comments before the names; a missing label is the name itself. */
static tacit_status_t take_header(tacit_stan_csv_t *csv, header_t *header, tacit_error_t *err) {
  cursor_t cursor = {csv->bytes, csv->n_bytes, 0, 0};
  line_t line;
  tacit_status_t status = TACIT_OK;
  while (status == TACIT_OK && next_line(&cursor, &line) && line.number < csv->names_line) {
    char *key, *value;
    if (split_setting(&line, &key, &value)) {
      status = header_setting(csv, header, key, value, line.number, err);
      TACIT_THEN(status, take_words(csv, key, value, err));
    }
  }
  for (size_t j = 0; j < csv->n_names && status == TACIT_OK; j++) {
    if (csv->labels[j] == NULL && (csv->labels[j] = tacit_strdup(csv->names[j])) == NULL) {
      status = tacit_error_memory(err);
    }
  }
  return status;
}

static tacit_status_t find_names(tacit_stan_csv_t *csv, tacit_error_t *err) {
  cursor_t cursor = {csv->bytes, csv->n_bytes, 0, 0};
  for (line_t line; next_line(&cursor, &line);) {
    if (line.length == 0 || line.start[0] != '#') {
      csv->rows_offset = cursor.offset;
      csv->rows_line = cursor.number;
      return take_names(csv, &line, err);
    }
  }
  return tacit_error_set(err, TACIT_ERR_SYNTAX, csv->path,
                         "%s: no line of column names: the file is cut short or is not Stan CSV", csv->path);
}

/* ---- rows ---- */

static tacit_status_t count_rows(tacit_stan_csv_t *csv, const header_t *header, tacit_error_t *err) {
  cursor_t cursor = {csv->bytes, csv->n_bytes, csv->rows_offset, csv->rows_line};
  size_t n_rows = 0;
  for (line_t line; next_line(&cursor, &line);) {
    if (line.length == 0) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, csv->path, "%s:%zu: blank line: Stan CSV has none",
                             csv->path, line.number);
    }
    n_rows += line.start[0] != '#';
  }
  if (header->thin < 1) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "thin", "%s: thin must be at least 1", csv->path);
  }
  size_t thin = header->thin;
  csv->n_skipped = header->save_warmup == 0 ? 0 : header->num_warmup / thin + (header->num_warmup % thin > 0);
  csv->n_kept = header->has_num_samples ? header->num_samples / thin + (header->num_samples % thin > 0)
                                        : n_rows - (n_rows < csv->n_skipped ? n_rows : csv->n_skipped);
  if (n_rows < csv->n_skipped || n_rows - csv->n_skipped != csv->n_kept) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, csv->path,
                           "%s: %zu rows of draws, but its header announces %zu of warm-up and %zu after: "
                           "the file is cut short or was edited",
                           csv->path, n_rows, csv->n_skipped, csv->n_kept);
  }
  return TACIT_OK;
}

tacit_status_t tacit_stan_csv_open(tacit_stan_csv_t *csv, const char *path, tacit_error_t *err) {
  *csv = (tacit_stan_csv_t){.path = path, .accept_stat = -1, .step_size = -1, .n_leapfrog = -1};
  header_t header = {.thin = 1};
  tacit_status_t status = tacit_file_read(path, SIZE_MAX / 2, &csv->bytes, &csv->n_bytes, err);
  if (status == TACIT_OK && memchr(csv->bytes, '\0', csv->n_bytes) != NULL) {
    status = tacit_error_set(err, TACIT_ERR_SYNTAX, path, "%s: not a text file: it holds a NUL byte", path);
  }
  TACIT_THEN(status, find_names(csv, err));
  TACIT_THEN(status, take_header(csv, &header, err));
  csv->n_chains = header.num_chains > 0 ? header.num_chains : 1;
  return status == TACIT_OK ? count_rows(csv, &header, err) : status;
}

/*
 * One number and what ends it. strtod would skip white space, line ends included, and take hexadecimal:
 * a field begins with what a decimal number, nan or inf begins with.
 */
static bool parse_field(char **s, const char *end, bool is_last, double *value) {
  char *start = *s;
  if (start >= end || strchr("+-.0123456789nNiI", *start) == NULL) {
    return false;
  }
  char *stop;
  *value = strtod(start, &stop);
  if (stop == start || stop > end || memchr(start, 'x', (size_t)(stop - start)) != NULL) {
    return false;
  }
  *s = is_last ? stop : stop + 1;
  return is_last ? stop == end : stop < end && *stop == ',';
}

static tacit_status_t parse_row(const tacit_stan_csv_t *csv, const line_t *line, double *values,
                                tacit_draw_stats_t *stats, tacit_error_t *err) {
  char *s = line->start, *end = line->start + line->length;
  for (size_t k = 0; k < csv->n_columns; k++) {
    double value;
    if (!parse_field(&s, end, k + 1 == csv->n_columns, &value)) {
      return tacit_error_set(
          err, TACIT_ERR_SYNTAX, csv->path,
          "%s:%zu: column %zu of %zu is not a number, or the row has more or fewer columns", csv->path,
          line->number, k + 1, csv->n_columns);
    }
    if (k >= csv->n_internal) {
      values[k - csv->n_internal] = value;
    } else if ((int)k == csv->accept_stat) {
      stats->accept_stat = value;
    } else if ((int)k == csv->step_size) {
      stats->step_size = value;
    } else if ((int)k == csv->n_leapfrog) {
      stats->n_leapfrog = value;
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_stan_csv_draws(tacit_stan_csv_t *csv, tacit_draws_t *draws, size_t chain,
                                    tacit_error_t *err) {
  /* Numbers have a point whatever the locale of the program. */
  locale_t numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (numbers == (locale_t)0) {
    return tacit_error_memory(err);
  }
  locale_t before = uselocale(numbers);
  cursor_t cursor = {csv->bytes, csv->n_bytes, csv->rows_offset, csv->rows_line};
  tacit_status_t status = TACIT_OK;
  size_t row = 0;
  for (line_t line; status == TACIT_OK && next_line(&cursor, &line);) {
    if (line.start[0] == '#') {
      continue;
    }
    if (row >= csv->n_skipped) {
      size_t kept = row - csv->n_skipped;
      status = parse_row(csv, &line, tacit_draws_row(draws, chain, kept),
                         draws->stats + chain * draws->n_draws + kept, err);
    }
    row++;
  }
  uselocale(before);
  freelocale(numbers);
  return status;
}

void tacit_stan_csv_clear(tacit_stan_csv_t *csv) {
  for (size_t j = 0; j < csv->n_names; j++) {
    tacit_free(csv->names != NULL ? csv->names[j] : NULL);
    tacit_free(csv->labels != NULL ? csv->labels[j] : NULL);
  }
  tacit_free(csv->names);
  tacit_free(csv->labels);
  tacit_free(csv->formula);
  tacit_free(csv->family);
  tacit_free(csv->data_name);
  tacit_free(csv->method);
  tacit_free(csv->bytes);
  *csv = (tacit_stan_csv_t){0};
}
