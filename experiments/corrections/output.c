/* Rows and the two files that show them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corrections.h"

static void add_row(run_t *run, const double numbers[3], bool confirmed, const char *verdict,
                    const char *format, va_list arguments) {
  row_t *rows = realloc(run->rows, (run->n_rows + 1) * sizeof *rows);
  if (rows == NULL) {
    fprintf(stderr, "tacit-corrections: out of memory\n");
    exit(1);
  }
  run->rows = rows;
  row_t *row = &rows[run->n_rows++];
  *row = (row_t){.source = run->source,
                 .of = run->current,
                 .paper = numbers[0],
                 .ours = numbers[1],
                 .expected = numbers[2],
                 .confirmed = confirmed};
  int length = vsnprintf(row->quantity, sizeof row->quantity, format, arguments);
  if (length < 0 || (size_t)length >= sizeof row->quantity) {
    fprintf(stderr, "tacit-corrections: the quantity of a row of %s is too long\n", run->current->name);
    exit(1);
  }
  snprintf(row->verdict, sizeof row->verdict, "%s", confirmed ? verdict : "NOT CONFIRMED");
  if (!confirmed) {
    fprintf(stderr, "not confirmed: %s: paper %.9g, corrected %.9g, expected %.9g\n", row->quantity,
            numbers[0], numbers[1], numbers[2]);
  }
}

void expect_value(run_t *run, double paper, double ours, double expected, double tolerance,
                  const char *verdict, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  bool apart = paper == NONE || !(fabs(paper - expected) <= tolerance);
  add_row(run, (double[]){paper, ours, expected}, apart && fabs(ours - expected) <= tolerance, verdict,
          format, arguments);
  va_end(arguments);
}

void expect_bound(run_t *run, double paper, double ours, double bound, const char *verdict,
                  const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_row(run, (double[]){paper, ours, bound}, ours <= bound && paper > bound, verdict, format, arguments);
  va_end(arguments);
}

void expect_that(run_t *run, bool holds, double paper, double ours, double expected, const char *verdict,
                 const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_row(run, (double[]){paper, ours, expected}, holds, verdict, format, arguments);
  va_end(arguments);
}

static const char *number(double x, char text[32]) {
  if (x == NONE || isnan(x)) {
    return x == NONE ? "" : "not a number";
  }
  snprintf(text, 32, "%.6g", x);
  return text;
}

static void write_quoted(FILE *file, const char *text) {
  putc('"', file);
  for (; *text != '\0'; text++) {
    if (*text == '"') {
      putc('"', file);
    }
    putc(*text, file);
  }
  putc('"', file);
}

static void close_output(FILE *file, const char *name) {
  bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed) {
    fprintf(stderr, "tacit-corrections: writing %s failed\n", name);
    exit(1);
  }
}

void write_csv(const run_t *run) {
  FILE *file = open_output(run, "corrections", ".csv");
  char text[3][32];
  fputs("name,source,claim,quantity,paper,corrected,expected,verdict\n", file);
  for (size_t i = 0; i < run->n_rows; i++) {
    const row_t *row = &run->rows[i];
    fprintf(file, "%s,%s,", row->of->name, row->source->key);
    write_quoted(file, row->of->claim);
    putc(',', file);
    write_quoted(file, row->quantity);
    fprintf(file, ",%s,%s,%s,%s\n", number(row->paper, text[0]), number(row->ours, text[1]),
            number(row->expected, text[2]), row->verdict);
  }
  close_output(file, "corrections.csv");
}

/* Vertical bars would end a table's cell. */
static void write_cell(FILE *file, const char *text) {
  for (; *text != '\0'; text++) {
    fputs(*text == '|' ? "\\" : "", file);
    putc(*text, file);
  }
}

static void write_case(const run_t *run, FILE *file, size_t from) {
  char text[3][32];
  const correction_case_t *c = run->rows[from].of;
  bool has_figure = false;
  fprintf(file, "\n### `%s`: %s\n\n**Says.** %s\n\n**But.** %s ([theory](../../theory.md), section %s.)\n\n",
          c->name, c->place, c->claim, c->fault, c->theory);
  fputs("| quantity | as published | corrected | bound or expected | verdict |\n| --- | --- | --- | --- | "
        "--- |\n",
        file);
  for (size_t i = from; i < run->n_rows && run->rows[i].of == c; i++) {
    const row_t *row = &run->rows[i];
    has_figure = has_figure || row->has_figure;
    fputs("| ", file);
    write_cell(file, row->quantity);
    fprintf(file, " | %s | %s | %s | %s |\n", number(row->paper, text[0]), number(row->ours, text[1]),
            number(row->expected, text[2]), row->verdict);
  }
  if (has_figure) {
    fprintf(file, "\n![%s](%s.svg)\n", c->name, c->name);
  }
}

void write_markdown(const run_t *run) {
  FILE *file = open_output(run, "corrections", ".md");
  fprintf(file,
          "# Errors of the literature, shown\n\nWritten by `tacit-corrections%s`. Each row was asserted: a "
          "verdict is "
          "printed only if the numbers bear it out. Keys in\nbrackets are in "
          "[references](../../references.md).\n",
          run->quick ? " --quick" : "");
  for (size_t i = 0; i < run->n_rows; i++) {
    const row_t *row = &run->rows[i], *last = i > 0 ? row - 1 : NULL;
    if (last == NULL || last->source != row->source) {
      fprintf(file, "\n## [%s]\n", row->source->key);
    }
    if (last == NULL || last->of != row->of) {
      write_case(run, file, i);
    }
  }
  close_output(file, "corrections.md");
}
