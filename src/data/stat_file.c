/*
 * SAS, SPSS and Stata files through ReadStat: once for what they say of their columns, once for the rows. Of
 * ReadStat's own words only its fixed ones are used: others may quote a value.
 */
#include "base/error.h"
#include "base/memory.h"
#include "data/stat_file.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
  const char *ending;
  tacit_stat_parse parse;
  tacit_stat_dates_t dates;
} kinds[] = {
    {".sas7bdat", readstat_parse_sas7bdat, TACIT_STAT_SAS}, {".xpt", readstat_parse_xport, TACIT_STAT_SAS},
    {".sav", readstat_parse_sav, TACIT_STAT_SPSS},          {".zsav", readstat_parse_sav, TACIT_STAT_SPSS},
    {".por", readstat_parse_por, TACIT_STAT_SPSS},          {".dta", readstat_parse_dta, TACIT_STAT_STATA}};

static tacit_status_t failed(const char *path, readstat_error_t code, tacit_error_t *err) {
  switch (code) {
  case READSTAT_OK:
    return TACIT_OK;
  case READSTAT_ERROR_MALLOC:
    return tacit_error_memory(err);
  case READSTAT_ERROR_OPEN:
    return tacit_error_set(err, TACIT_ERR_MISSING, path,
                           "cannot open %s: no such file, or one that may not be read", path);
  case READSTAT_ERROR_READ:
  case READSTAT_ERROR_SEEK:
  case READSTAT_ERROR_ROW_COUNT_MISMATCH:
    return tacit_error_set(err, TACIT_ERR_SYNTAX, path, "%s is cut short or damaged: export it again", path);
  case READSTAT_ERROR_CONVERT:
  case READSTAT_ERROR_CONVERT_BAD_STRING:
  case READSTAT_ERROR_UNSUPPORTED_CHARSET:
    return tacit_error_set(err, TACIT_ERR_SYNTAX, path,
                           "%s holds text that is not in the encoding that it names, or --encoding does: "
                           "--encoding NAME says which it is in",
                           path);
  default:
    return tacit_error_set(err, TACIT_ERR_SYNTAX, path,
                           "%s is not the file that its name says, or damaged (%s)", path,
                           readstat_error_message(code));
  }
}

/* ---- what the file says of its columns ---- */

static tacit_status_t copy(char **to, const char *from, tacit_error_t *err) {
  *to = tacit_strdup(from != NULL ? from : "");
  return *to != NULL ? TACIT_OK : tacit_error_memory(err);
}

/* Of a SAS format, SEX8.2 or $ort20, the name, as catalogues have it: in upper case, without a width, and
 * names do not end in a digit. */
static void to_format_name(char *format) {
  size_t n = strlen(format);
  while (n > 0 && (isdigit((unsigned char)format[n - 1]) || format[n - 1] == '.')) {
    format[--n] = '\0';
  }
  for (size_t i = 0; i < n; i++) {
    format[i] = (char)toupper((unsigned char)format[i]);
  }
}

static tacit_status_t copy_set(const tacit_stat_t *stat, char **to, const char *from, tacit_error_t *err) {
  tacit_status_t status = copy(to, from, err);
  if (status == TACIT_OK && stat->dates == TACIT_STAT_SAS) {
    to_format_name(*to);
  }
  return status;
}

static tacit_status_t add_column(tacit_stat_t *stat, const readstat_variable_t *variable, const char *set,
                                 tacit_error_t *err) {
  tacit_reader_t *reader = stat->reader;
  const char *name = readstat_variable_get_name(variable);
  size_t place;
  bool is_new;
  if (name == NULL || name[0] == '\0') { /* as ReadStat has it in damaged files */
    return tacit_error_set(err, TACIT_ERR_SYNTAX, stat->path,
                           "%s: column %zu has no name: the file is damaged: export it again", stat->path,
                           stat->n_columns + 1);
  }
  if (!tacit_is_utf8(name, strlen(name))) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, stat->path, "%s: the name of column %zu is not UTF-8",
                           stat->path, stat->n_columns + 1);
  }
  tacit_status_t status = tacit_dictionary_add(&reader->header, name, strlen(name), &place, &is_new, err);
  if (status == TACIT_OK && !is_new) {
    status = tacit_error_set(err, TACIT_ERR_SYNTAX, name, "%s names column %zu and column %zu alike: '%s'",
                             stat->path, place + 1, stat->n_columns + 1, name);
  }
  tacit_stat_column_t *columns =
      status == TACIT_OK ? tacit_realloc(stat->columns, stat->n_columns + 1, sizeof *columns) : NULL;
  if (columns == NULL) {
    return status == TACIT_OK ? tacit_error_memory(err) : status;
  }
  stat->columns = columns;
  columns[stat->n_columns] = (tacit_stat_column_t){
      .unit = tacit_stat_date_unit(stat->dates, readstat_variable_get_format(variable))};
  return copy_set(stat, &columns[stat->n_columns++].set, set, err);
}

static int on_variable(int index, readstat_variable_t *variable, const char *set, void *user) {
  tacit_stat_t *stat = user;
  (void)index;
  if (stat->status == TACIT_OK) { /* SPSS files go on after a refused label */
    stat->status = add_column(stat, variable, set, stat->err);
  }
  return stat->status == TACIT_OK ? READSTAT_HANDLER_OK : READSTAT_HANDLER_ABORT;
}

static int on_label(const char *set, readstat_value_t value, const char *text, void *user) {
  tacit_stat_t *stat = user;
  if (stat->status != TACIT_OK || readstat_value_is_system_missing(value) ||
      text == NULL) { /* of a missing value */
    return stat->status == TACIT_OK ? READSTAT_HANDLER_OK : READSTAT_HANDLER_ABORT;
  }
  tacit_stat_label_t *labels = tacit_realloc(stat->labels, stat->n_labels + 1, sizeof *labels);
  stat->status = labels != NULL ? TACIT_OK : tacit_error_memory(stat->err);
  if (labels != NULL) {
    stat->labels = labels;
    tacit_stat_label_t *label = &labels[stat->n_labels++];
    *label = (tacit_stat_label_t){0};
    bool is_number = readstat_value_type_class(value) == READSTAT_TYPE_CLASS_NUMERIC;
    label->number = is_number ? readstat_double_value(value) : NAN;
    stat->status = copy_set(stat, &label->set, set, stat->err);
    stat->status = stat->status == TACIT_OK ? copy(&label->label, text, stat->err) : stat->status;
    stat->status = stat->status == TACIT_OK
                       ? copy(&label->text, is_number ? "" : readstat_string_value(value), stat->err)
                       : stat->status;
  }
  return stat->status == TACIT_OK ? READSTAT_HANDLER_OK : READSTAT_HANDLER_ABORT;
}

/* A catalogue may be of many files: the labels of this one's columns. */
static int on_catalog_label(const char *set, readstat_value_t value, const char *text, void *user) {
  tacit_stat_t *stat = user;
  char *name = NULL;
  stat->status = copy_set(stat, &name, set, stat->err);
  bool is_wanted = false;
  for (size_t i = 0; i < stat->n_columns && stat->status == TACIT_OK && !is_wanted; i++) {
    is_wanted = strcmp(stat->columns[i].set, name) == 0;
  }
  tacit_free(name);
  return stat->status != TACIT_OK ? READSTAT_HANDLER_ABORT
         : is_wanted              ? on_label(set, value, text, user)
                                  : READSTAT_HANDLER_OK;
}

static tacit_status_t parse(tacit_stat_t *stat, const char *path, tacit_stat_parse how,
                            tacit_stat_part_t part, tacit_error_t *err);

/* A transport file does not say how many rows it has: its length, in records of 80 bytes, is what shows most
 * cuts. */
static bool is_whole(const tacit_stat_t *of) {
  struct stat info;
  return of->parse != readstat_parse_xport || (stat(of->path, &info) == 0 && info.st_size % 80 == 0);
}

static tacit_status_t open_file(tacit_reader_t *reader, tacit_error_t *err) {
  tacit_stat_t *stat = reader->state = tacit_alloc_zero(1, sizeof *stat);
  if (stat == NULL) {
    return tacit_error_memory(err);
  }
  stat->reader = reader;
  stat->path = reader->source.path;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (tacit_has_ending(stat->path, kinds[i].ending)) {
      stat->parse = kinds[i].parse;
      stat->dates = kinds[i].dates;
    }
  }
  tacit_status_t status = parse(stat, stat->path, stat->parse, TACIT_STAT_COLUMNS, err);
  if (status == TACIT_OK && !is_whole(stat)) {
    status = failed(stat->path, READSTAT_ERROR_READ, err);
  }
  if (status == TACIT_OK && stat->parse == readstat_parse_sas7bdat && tacit_sas_has_deleted(stat->path)) {
    status = tacit_error_set(err, TACIT_ERR_DATA, stat->path,
                             "%s holds rows that were deleted in SAS and still stand in the file, consents "
                             "that were withdrawn perhaps: write it anew, "
                             "which leaves them out: data new; set old; run;",
                             stat->path);
  }
  if (status == TACIT_OK && reader->source.catalog != NULL) {
    status = parse(stat, reader->source.catalog, readstat_parse_sas7bcat, TACIT_STAT_CATALOG, err);
  }
  if (status == TACIT_OK && stat->n_columns == 0) {
    status = tacit_error_set(err, TACIT_ERR_SYNTAX, stat->path, "%s has no columns", stat->path);
  }
  return status;
}

bool tacit_is_stat_file(const char *path) {
  bool found = false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    found = found || tacit_has_ending(path, kinds[i].ending);
  }
  return found;
}

/* ---- what goes where; refused before a row is read ---- */

static bool has_labels(const tacit_stat_t *stat, const char *set) {
  for (size_t i = 0; i < stat->n_labels && set[0] != '\0'; i++) {
    if (strcmp(stat->labels[i].set, set) == 0) {
      return true;
    }
  }
  return false;
}

static tacit_status_t check_column(tacit_stat_t *stat, size_t slot, size_t field,
                                   const tacit_column_schema_t *schema, tacit_error_t *err) {
  stat->columns[field].slot = slot + 1;
  stat->columns[field].has_labels = schema->has_labels;
  stat->columns[field].wants_digits = schema->type == TACIT_COLUMN_ID || tacit_cell_wants_digits(schema);
  stat->n_wanted++;
  return !schema->has_labels || has_labels(stat, stat->columns[field].set)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_DATA, schema->name,
                               "column '%s': the schema says labels: true, and %s has no labels for it: %s "
                               "give codes as levels",
                               schema->name,
                               stat->reader->source.catalog != NULL ? stat->reader->source.catalog
                                                                    : stat->path,
                               stat->dates == TACIT_STAT_SAS && stat->reader->source.catalog == NULL
                                   ? "SAS keeps them in a catalogue, which --catalog FILE.sas7bcat names; or"
                                   : "leave it out, and");
}

static tacit_status_t check_columns(tacit_reader_t *reader, tacit_error_t *err) {
  tacit_stat_t *stat = reader->state;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < reader->n_columns && status == TACIT_OK; i++) {
    status = check_column(stat, i, reader->columns[i].field, reader->columns[i].rule.schema, err);
  }
  if (status == TACIT_OK && reader->unit_field != SIZE_MAX) {
    status = check_column(stat, reader->n_columns, reader->unit_field,
                          tacit_schema_find(reader->schema, tacit_schema_unit(reader->schema)), err);
  }
  stat->cells = tacit_alloc_zero(reader->n_columns + 1, sizeof *stat->cells);
  stat->texts = tacit_alloc_zero(reader->n_columns + 1, sizeof *stat->texts);
  return status != TACIT_OK || (stat->cells != NULL && stat->texts != NULL) ? status
                                                                            : tacit_error_memory(err);
}

/* ---- rows ---- */

static int skip_variable(int index, readstat_variable_t *variable, const char *set, void *user) {
  const tacit_stat_t *stat = user;
  (void)variable;
  (void)set;
  bool is_wanted = index >= 0 && (size_t)index < stat->n_columns && stat->columns[index].slot > 0;
  return is_wanted ? READSTAT_HANDLER_OK : READSTAT_HANDLER_SKIP_VARIABLE;
}

/* The text is ReadStat's until the next value comes. */
static void put_text(tacit_stat_t *stat, size_t slot, const char *text) {
  tacit_text_t *to = &stat->texts[slot];
  to->length = 0;
  tacit_text_append(to, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
  stat->status = to->failed ? tacit_error_memory(stat->err) : TACIT_OK;
  tacit_cell_text(&stat->cells[slot], to->data != NULL ? to->data : "", to->length);
  stat->cells[slot].is_written = true;
}

static void put_label(tacit_cell_t *cell, const tacit_stat_t *stat, const tacit_stat_column_t *column) {
  for (size_t i = 0; i < stat->n_labels; i++) {
    const tacit_stat_label_t *label = &stat->labels[i];
    bool is_it = strcmp(label->set, column->set) == 0 &&
                 (cell->kind == TACIT_CELL_TEXT ? isnan(label->number) && strlen(label->text) == cell->n &&
                                                      memcmp(label->text, cell->text, cell->n) == 0
                                                : label->number == cell->number);
    if (is_it) {
      tacit_cell_text(cell, label->label, strlen(label->label));
      cell->is_written = true;
      return;
    }
  }
  cell->kind = TACIT_CELL_TEXT;
  cell->text = NULL; /* no level: to be refused by place */
}

static void put_value(tacit_stat_t *stat, readstat_variable_t *variable, readstat_value_t value,
                      const tacit_stat_column_t *column) {
  size_t slot = column->slot - 1;
  tacit_cell_t *cell = &stat->cells[slot];
  if (readstat_value_is_missing(value, variable)) {
    cell->kind = TACIT_CELL_MISSING;
    return;
  }
  if (readstat_value_type_class(value) == READSTAT_TYPE_CLASS_STRING) {
    put_text(stat, slot, readstat_string_value(value));
    if (cell->kind == TACIT_CELL_TEXT && cell->n == 0) {
      cell->kind = TACIT_CELL_MISSING;
    }
  } else {
    tacit_cell_real(cell, readstat_double_value(value), column->wants_digits);
  }
  if (cell->kind == TACIT_CELL_NUMBER && column->unit != TACIT_STAT_NO_DATE && !column->wants_digits) {
    cell->number = tacit_stat_days(stat->dates, column->unit, cell->number);
    cell->kind = column->unit == TACIT_STAT_OTHER_DATE ? TACIT_CELL_BROKEN : TACIT_CELL_DAYS;
    cell->broken = "a time of day, a week, month, quarter or year: make a number or a date of it";
  }
  if (column->has_labels && cell->kind != TACIT_CELL_MISSING && cell->kind != TACIT_CELL_BROKEN) {
    put_label(cell, stat, column);
    if (cell->text == NULL) {
      tacit_cell_break(cell, "a value without a label in the file, where the schema says labels: true");
    }
  }
}

static int on_value(int row, readstat_variable_t *variable, readstat_value_t value, void *user) {
  enum { rows_unwatched = 1024 };
  tacit_stat_t *stat = user;
  tacit_reader_t *reader = stat->reader;
  int index = readstat_variable_get_index(variable);
  if (index < 0 || (size_t)index >= stat->n_columns || stat->columns[index].slot == 0) {
    stat->status = failed(stat->path, READSTAT_ERROR_PARSE, stat->err);
    return READSTAT_HANDLER_ABORT;
  }
  put_value(stat, variable, value, &stat->columns[index]);
  if (stat->status == TACIT_OK && ++stat->n_seen == stat->n_wanted) {
    stat->n_seen = 0;
    stat->status = tacit_reader_put(reader, stat->cells, &stat->cells[reader->n_columns], (size_t)row + 1,
                                    stat->make_room, stat->user, stat->err);
    if (stat->status == TACIT_OK && row % rows_unwatched == 0) {
      stat->status = tacit_watch_check(reader->source.watch, stat->err);
    }
  }
  return stat->status == TACIT_OK ? READSTAT_HANDLER_OK : READSTAT_HANDLER_ABORT;
}

static tacit_status_t parse(tacit_stat_t *stat, const char *path, tacit_stat_parse how,
                            tacit_stat_part_t part, tacit_error_t *err) {
  readstat_parser_t *parser = readstat_parser_init();
  const char *encoding = stat->reader->source.encoding;
  if (parser == NULL) {
    return tacit_error_memory(err);
  }
  stat->err = err;
  if (part == TACIT_STAT_ROWS) {
    readstat_set_variable_handler(parser, skip_variable);
    readstat_set_value_handler(parser, on_value);
  } else if (part == TACIT_STAT_COLUMNS) {
    readstat_set_variable_handler(parser, on_variable);
    readstat_set_value_label_handler(parser, on_label);
  } else {
    readstat_set_value_label_handler(parser, on_catalog_label);
  }
  readstat_error_t code =
      encoding != NULL ? readstat_set_file_character_encoding(parser, encoding) : READSTAT_OK;
  code = code == READSTAT_OK ? how(parser, path, stat) : code;
  readstat_parser_free(parser);
  return stat->status != TACIT_OK ? stat->status
                                  : failed(path, code, err); /* ours, whatever ReadStat made of it */
}

static tacit_status_t read_rows(tacit_reader_t *reader, tacit_room_maker make_room, void *user,
                                tacit_error_t *err) {
  tacit_stat_t *stat = reader->state;
  stat->make_room = make_room;
  stat->user = user;
  tacit_status_t status = parse(stat, stat->path, stat->parse, TACIT_STAT_ROWS, err);
  return status == TACIT_OK && stat->n_seen > 0
             ? tacit_error_set(err, TACIT_ERR_SYNTAX, stat->path,
                               "%s ends in the middle of a row: export it again", stat->path)
             : status;
}

/* ---- for a template ---- */

/* Labels are of the file, not of its records; what they are of is said, since a program may have made them
 * from the records. */
static void describe(const tacit_reader_t *reader, size_t field, tacit_text_t *text) {
  const tacit_stat_t *stat = reader->state;
  const tacit_stat_column_t *column = &stat->columns[field];
  const char *before = "   # labels in the file: ";
  for (size_t i = 0; i < stat->n_labels; i++) {
    if (column->set[0] != '\0' && strcmp(stat->labels[i].set, column->set) == 0) {
      tacit_text_printf(text, "%s", before);
      tacit_schema_append_text(text, stat->labels[i].label, strlen(stat->labels[i].label));
      before = ", ";
    }
  }
}

static void close_file(tacit_reader_t *reader) {
  tacit_stat_t *stat = reader->state;
  for (size_t i = 0; i < stat->n_columns; i++) {
    tacit_free(stat->columns[i].set);
  }
  for (size_t i = 0; i < stat->n_labels; i++) {
    tacit_free(stat->labels[i].set);
    tacit_free(stat->labels[i].label);
    tacit_free(stat->labels[i].text);
  }
  for (size_t i = 0; stat->texts != NULL && i <= reader->n_columns; i++) {
    tacit_wipe(stat->texts[i].data, stat->texts[i].capacity);
    tacit_text_clear(&stat->texts[i]);
  }
  tacit_free(stat->columns);
  tacit_free(stat->labels);
  tacit_free(stat->texts);
  tacit_free(stat->cells);
  tacit_free(stat);
}

const tacit_reader_kind_t tacit_reader_stat = {
    .open = open_file, .check = check_columns, .rows = read_rows, .describe = describe, .close = close_file};
