/* CSV, Markdown and assertions. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "papers.h"

FILE *open_output(const run_t *run, const char *suffix, const char *extension) {
  char path[4096];
  int n = snprintf(path, sizeof path, "%s/%s%s%s%s", run->out, run->study->name, suffix[0] != '\0' ? "-" : "",
                   suffix, extension);
  FILE *file = n > 0 && (size_t)n < sizeof path ? fopen(path, "w") : NULL;
  if (file == NULL) {
    fprintf(stderr, "tacit-papers: cannot write %s\n", path);
    exit(1);
  }
  return file;
}

void close_output(FILE *file) {
  bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed) {
    fprintf(stderr, "tacit-papers: writing a file failed\n");
    exit(1);
  }
}

static void append(run_t *run, const char *text) {
  size_t length = strlen(text);
  char *grown = realloc(run->text, run->text_length + length + 1);
  if (grown == NULL) {
    fprintf(stderr, "tacit-papers: out of memory\n");
    exit(1);
  }
  memcpy(grown + run->text_length, text, length + 1);
  run->text = grown;
  run->text_length += length;
}

static void format_text(char *text, size_t size, const char *format, va_list arguments) {
  int length = vsnprintf(text, size, format, arguments);
  if (length < 0 || (size_t)length >= size) {
    fprintf(stderr, "tacit-papers: a text is too long: %.60s\n", format);
    exit(1);
  }
}

void say(run_t *run, const char *format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  format_text(text, sizeof text, format, arguments);
  va_end(arguments);
  append(run, text);
}

static void append_cells(run_t *run, const char *fields) {
  append(run, "| ");
  for (const char *s = fields; *s != '\0'; s++) {
    append(run, *s == ',' ? " | " : (char[]){*s, '\0'});
  }
  append(run, " |\n");
}

table_t table_open(run_t *run, const char *suffix, const char *columns) {
  table_t table = {.run = run, .csv = open_output(run, suffix, ".csv"), .n_columns = 1};
  fprintf(table.csv, "%s\n", columns);
  for (const char *s = columns; *s != '\0'; s++) {
    table.n_columns += *s == ',';
  }
  append(run, "\n");
  append_cells(run, columns);
  append(run, "|");
  for (size_t i = 0; i < table.n_columns; i++) {
    append(run, " --- |");
  }
  append(run, "\n");
  return table;
}

void table_row(table_t *table, bool is_shown, const char *format, ...) {
  char text[1024];
  size_t n_fields = 1;
  va_list arguments;
  va_start(arguments, format);
  format_text(text, sizeof text, format, arguments);
  va_end(arguments);
  for (const char *s = text; *s != '\0'; s++) {
    n_fields += *s == ',';
  }
  if (n_fields != table->n_columns) {
    fprintf(stderr, "tacit-papers: %s: %zu fields in a table of %zu columns: %s\n", table->run->study->name,
            n_fields, table->n_columns, text);
    exit(1);
  }
  fprintf(table->csv, "%s\n", text);
  if (is_shown) {
    append_cells(table->run, text);
  }
}

void table_close(table_t *table) {
  append(table->run, "\n");
  close_output(table->csv);
}

void check(run_t *run, bool holds, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  format_text(text, sizeof text, format, arguments);
  va_end(arguments);
  run->n_checks++;
  run->n_failed += !holds;
  say(run, "- %s: %s\n", holds ? "holds" : "DOES NOT HOLD", text);
  if (!holds) {
    fprintf(stderr, "does not hold: %s: %s\n", run->study->name, text);
  }
}

void study_begin(run_t *run, const study_t *study) {
  run->study = study;
  run->text_length = 0;
  say(run, "# %s\n\n%s. Written by `tacit-papers%s --only %s`.\n", study->title, study->source,
      run->quick ? " --quick" : "", study->name);
}

void study_end(run_t *run) {
  FILE *file = open_output(run, "", ".md");
  fputs(run->text, file);
  close_output(file);
  free(run->text);
  run->text = NULL;
  run->text_length = 0;
}
