#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/report.h"
#include "report/report_internal.h"

bool tacit_report_has_flag(const tacit_report_t *report, const char *name) {
  for (size_t i = 0; i < report->n_settings; i++) {
    const char *a = report->settings[i].name, *b = name;
    while (*a != '\0' && (*a == *b || (*a == '_' && *b == '-'))) {
      a++, b++;
    }
    if (*a == '\0' && *b == '\0') {
      const char *value = report->settings[i].value;
      return strcmp(value, "1") == 0 || strcmp(value, "true") == 0 || strcmp(value, "yes") == 0 ||
             strcmp(value, "on") == 0;
    }
  }
  return false;
}

tacit_relation_t tacit_report_relation(const tacit_report_t *report) {
  return report->budget != NULL    ? tacit_budget_relation(report->budget)
         : report->release != NULL ? report->release->relation
                                   : TACIT_RELATION_SUBSTITUTE;
}

/* name or name.i.j: a letter, letters, digits and single underscores, then indices from 1. */
static bool is_stan_name(const char *s) {
  bool is_letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
  size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (!is_letter || strstr(s, "__") != NULL) {
    return false;
  }
  for (s += n; *s == '.'; s += n) {
    n = 1 + strspn(s + 1, "0123456789");
    if (n == 1 || s[1] == '0') {
      return false;
    }
  }
  return *s == '\0';
}

static tacit_status_t check_names(const tacit_report_t *report, tacit_error_t *err) {
  for (size_t j = 0; j < report->draws->n_reported; j++) {
    if (!is_stan_name(report->names[j])) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "names",
                             "\"%s\" cannot name a column of Stan CSV: a letter first, then letters, digits "
                             "and single underscores, then indices as in b.1.2",
                             report->names[j]);
    }
    for (size_t k = 0; k < j; k++) {
      if (strcmp(report->names[j], report->names[k]) == 0) {
        return tacit_error_set(err, TACIT_ERR_ARGUMENT, "names",
                               "two quantities are named \"%s\": names must differ", report->names[j]);
      }
    }
  }
  return TACIT_OK;
}

static tacit_status_t check_report(const tacit_report_t *report, tacit_error_t *err) {
  if (report->release != NULL && (!report->is_private || report->budget != NULL)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "release",
                           "a report on a released statistic is private and has no budget of its own");
  }
  if (report->is_private && report->budget == NULL && report->release == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "budget",
                           "a report that claims privacy needs the budget that was charged");
  }
  if (report->is_private == (report->not_private_reason[0] != '\0')) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "not_private_reason",
                           "a report that is not private must say why, and only such a report may");
  }
  if (report->draws->n_chains < 1 || report->thin < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "draws", "a report needs at least 1 chain and thin >= 1");
  }
  if (!isfinite(report->step_size)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "step_size", "the step size must be a number");
  }
  return check_names(report, err);
}

typedef void (*text_writer)(const tacit_report_t *report, const tacit_summary_t *summaries,
                            tacit_text_t *text);

static void privacy_json(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  (void)summaries;
  if (report->privacy_json != NULL) {
    tacit_text_append(text, report->privacy_json, strlen(report->privacy_json));
  } else {
    tacit_report_privacy_json(report, text);
  }
}

static void run_yaml(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  (void)summaries;
  tacit_report_run_yaml(report, text);
}

static void diagnostics_json(const tacit_report_t *report, const tacit_summary_t *summaries,
                             tacit_text_t *text) {
  (void)summaries;
  tacit_report_diagnostics_json(report, text);
}

static void schema_yaml(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  (void)summaries;
  tacit_text_append(text, report->schema, strlen(report->schema));
}

static void program_stan(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  (void)summaries;
  tacit_text_append(text, report->program, strlen(report->program));
}

static void statistic_yaml(const tacit_report_t *report, const tacit_summary_t *summaries,
                           tacit_text_t *text) {
  (void)summaries;
  tacit_text_append(text, report->statistic, strlen(report->statistic));
}

static void releases_json(const tacit_report_t *report, const tacit_summary_t *summaries,
                          tacit_text_t *text) {
  (void)summaries;
  tacit_released_json(report->kept, text);
}

static void privacy_text(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  (void)summaries;
  if (report->privacy_text != NULL) {
    tacit_text_append(text, report->privacy_text, strlen(report->privacy_text));
    return;
  }
  tacit_text_t lines = {0};
  tacit_statement_lines(report, &lines);
  if (!lines.failed) {
    tacit_statement_text(lines.data, text);
  }
  text->failed = text->failed || lines.failed;
  tacit_text_clear(&lines);
}

static tacit_status_t write_file(const tacit_report_t *report, const tacit_summary_t *summaries,
                                 const char *name, text_writer writer, tacit_directory_t *dir,
                                 tacit_error_t *err) {
  tacit_text_t text = {0};
  tacit_status_t status = tacit_directory_open(dir, name, err);
  if (status == TACIT_OK) {
    writer(report, summaries, &text);
    status = tacit_directory_put(dir, &text, err);
  }
  TACIT_THEN(status, tacit_directory_close(dir, err));
  tacit_text_clear(&text);
  return status;
}

static tacit_status_t write_files(const tacit_report_t *report, const tacit_summary_t *summaries,
                                  tacit_directory_t *dir, tacit_error_t *err) {
  static const struct {
    const char *name;
    text_writer writer;
  } files[] = {{"summary.csv", tacit_report_summary_csv},
               {"privacy.json", privacy_json},
               {"privacy.txt", privacy_text},
               {"run.yaml", run_yaml},
               {"report.html", tacit_report_page}};
  tacit_status_t status = TACIT_OK;
  for (size_t c = 0; c < report->draws->n_chains && status == TACIT_OK; c++) {
    status = tacit_report_write_chain(report, c, dir, err);
  }
  for (size_t i = 0; i < sizeof files / sizeof files[0] && status == TACIT_OK; i++) {
    status = write_file(report, summaries, files[i].name, files[i].writer, dir, err);
  }
  if (status == TACIT_OK && report->schema != NULL) {
    status = write_file(report, summaries, "schema.yaml", schema_yaml, dir, err);
  }
  if (status == TACIT_OK && report->program != NULL) {
    status = write_file(report, summaries, "program.stan", program_stan, dir, err);
  }
  if (status == TACIT_OK && report->statistic != NULL) {
    status = write_file(report, summaries, "statistic.yaml", statistic_yaml, dir, err);
  }
  if (status == TACIT_OK && (report->published != NULL || report->evidence != NULL)) {
    status = write_file(report, summaries, "diagnostics.json", diagnostics_json, dir, err);
  }
  if (status == TACIT_OK && report->kept != NULL) {
    status = write_file(report, summaries, "releases.json", releases_json, dir, err);
  }
  return status;
}

tacit_status_t tacit_report_write_into(const tacit_report_t *report, tacit_directory_t *dir,
                                       tacit_error_t *err) {
  tacit_status_t status = check_report(report, err);
  if (status != TACIT_OK) {
    return status;
  }
  size_t n = report->draws->n_reported;
  tacit_summary_t *summaries = tacit_alloc(n, sizeof *summaries);
  if (summaries == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    status = tacit_draws_summarise_with(report->draws, j, report->evidence, &summaries[j], err);
  }
  TACIT_THEN(status, write_files(report, summaries, dir, err));
  TACIT_THEN(status, tacit_directory_commit(dir, err));
  tacit_free(summaries);
  return status;
}

tacit_status_t tacit_report_write(const tacit_report_t *report, const char *path, tacit_error_t *err) {
  tacit_directory_t dir = tacit_directory_none;
  tacit_status_t status = tacit_directory_begin(&dir, path, false, err);
  TACIT_THEN(status, tacit_report_write_into(report, &dir, err));
  tacit_directory_clear(&dir);
  return status;
}

tacit_status_t tacit_report_statement(const tacit_report_t *report, char **out, tacit_error_t *err) {
  *out = NULL;
  tacit_status_t status = check_report(report, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_text_t text = {0};
  privacy_text(report, NULL, &text);
  return tacit_text_take(&text, TACIT_OK, out, err);
}

void tacit_report_text_free(char *text) { tacit_free(text); }
