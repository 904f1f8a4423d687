/* Rows, on the terminal and in the two files that show them. */
#include <string.h>

#include "output.h"

void print_row(const audit_row_t *row) {
  printf("%-26s %-24s charged %.3f, at least %.3f (%.2f)", row->of->name, fault_names[row->fault],
         row->charged, row->lower, row->lower / row->charged);
  if (row->exact >= 0) {
    printf(", exactly %.3f (%.2f)", row->exact, row->exact / row->charged);
  }
  printf("%s\n", row->holds ? "" : "  NOT WHERE IT MUST BE");
  fflush(stdout);
}

static FILE *open_output(const char *folder, const char *name) {
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "w") : NULL;
  if (file == NULL) {
    fprintf(stderr, "tacit-audits: cannot write %s/%s\n", folder, name);
  }
  return file;
}

static bool close_output(FILE *file, const char *name) {
  bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed) {
    fprintf(stderr, "tacit-audits: writing %s failed\n", name);
    return false;
  }
  return true;
}

static const char *relation_of(const audit_row_t *row) {
  return row->of->relation == TACIT_RELATION_SUBSTITUTE ? "substitute" : "add-remove";
}

static bool write_csv(const char *folder, const audit_row_t *rows, size_t n, size_t n_runs) {
  FILE *file = open_output(folder, "audits.csv");
  if (file == NULL) {
    return false;
  }
  fputs("name,method,setting,relation,error,runs,delta,charged,lower,exact,holds\n", file);
  for (size_t i = 0; i < n; i++) {
    const audit_row_t *row = &rows[i];
    fprintf(file, "%s,%s,\"%s\",%s,\"%s\",%zu,%g,%.6g,%.6g,", row->of->name, row->of->method,
            row->of->setting, relation_of(row), fault_names[row->fault], n_runs, audit_delta, row->charged,
            row->lower);
    if (row->exact >= 0) {
      fprintf(file, "%.6g", row->exact);
    }
    fprintf(file, ",%s\n", row->holds ? "yes" : "NO");
  }
  return close_output(file, "audits.csv");
}

static void write_sound(FILE *file, const audit_row_t *rows, size_t n) {
  fputs("| case | method | setting | relation | charged | at least | share | exact |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
        file);
  for (size_t i = 0; i < n; i++) {
    const audit_row_t *row = &rows[i];
    if (row->fault != FAULT_NONE) {
      continue;
    }
    fprintf(file, "| %s | `%s` | %s | %s | %.3f | %.3f | %.2f | ", row->of->name, row->of->method,
            row->of->setting, relation_of(row), row->charged, row->lower, row->lower / row->charged);
    if (row->exact >= 0) {
      fprintf(file, "%.3f (%.2f) ", row->exact, row->exact / row->charged);
    }
    fprintf(file, "|%s\n", row->holds ? "" : " **NOT WHERE IT MUST BE**");
  }
}

static void write_faults(FILE *file, const audit_row_t *rows, size_t n) {
  fputs("| case | error | charged | at least | times the charge |\n| --- | --- | --- | --- | --- |\n", file);
  for (size_t i = 0; i < n; i++) {
    const audit_row_t *row = &rows[i];
    if (row->fault != FAULT_NONE) {
      fprintf(file, "| %s | %s | %.3f | %.3f | %.2f |%s\n", row->of->name, fault_names[row->fault],
              row->charged, row->lower, row->lower / row->charged, row->holds ? "" : " **NOT FOUND**");
    }
  }
}

static bool write_markdown(const char *folder, const audit_row_t *rows, size_t n, size_t n_runs) {
  FILE *file = open_output(folder, "audits.md");
  if (file == NULL) {
    return false;
  }
  fprintf(file,
          "# Audits\n\nWritten by `tacit-audits`, %zu runs on either data set, delta = %g; read "
          "[README.md](README.md).\n\n"
          "## Methods as they are\n\n",
          n_runs, audit_delta);
  write_sound(file, rows, n);
  fputs("\n## Planted errors\n\n", file);
  write_faults(file, rows, n);
  return close_output(file, "audits.md");
}

bool write_results(const char *folder, const audit_row_t *rows, size_t n, size_t n_runs) {
  bool is_written = write_csv(folder, rows, n, n_runs);
  return write_markdown(folder, rows, n, n_runs) && is_written;
}
