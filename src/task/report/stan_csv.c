/*
 * Draws of one chain in the CSV dialect of CmdStan 2.36, to the taste of all its readers: keys of our own
 * begin with dp_ or tacit_; seven columns end in __, as CmdStanPy (1.3) takes fewer for a run without
 * sampler parameters; two blank comments end the draws, which it waits for.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/report.h"
#include "report/report_internal.h"

enum { FLUSH_BYTES = 1 << 16, DIGITS = 17, MAX_DEPTH = 10 };

/* Rows of a chain that are in the file. A run that ended early counts what it did, not what was planned. */
typedef struct rows {
  size_t n_warmup; /* done */
  size_t n_kept;
  bool has_warmup;
} rows_t;

static rows_t count_rows(const tacit_report_t *report) {
  const tacit_draws_t *draws = report->draws;
  return (rows_t){.n_warmup = draws->n_saved < draws->n_warmup ? draws->n_saved : draws->n_warmup,
                  .n_kept = tacit_draws_n_kept(draws),
                  .has_warmup = tacit_report_has_flag(report, "save-warmup")};
}

static bool has_metric(const tacit_report_t *report) {
  return report->inv_metric != NULL && report->metric_dim > 0;
}

static const char *metric_name(const tacit_report_t *report) {
  return !has_metric(report) ? "unit_e" : report->inv_metric_is_dense ? "dense_e" : "diag_e";
}

/* An identifier, as CmdStan's model names are. */
static void model_name(const tacit_report_t *report, tacit_text_t *text) {
  const char *name = report->family[0] != '\0' ? report->family : report->formula;
  tacit_text_printf(text, "tacit_");
  for (; *name != '\0'; name++) {
    tacit_text_append(text, isalnum((unsigned char)*name) && (unsigned char)*name < 0x80 ? name : "_", 1);
  }
  tacit_text_printf(text, "_model");
}

static void stan_header(const tacit_report_t *report, const rows_t *rows, size_t chain, tacit_text_t *text) {
  tacit_text_printf(text, "# stan_version_major = 2\n"
                          "# stan_version_minor = 36\n"
                          "# stan_version_patch = 0\n"
                          "# model = ");
  model_name(report, text);
  tacit_text_printf(text,
                    "\n"
                    "# method = sample\n"
                    "#   sample\n"
                    "#     num_samples = %zu\n"
                    "#     num_warmup = %zu\n"
                    "#     save_warmup = %d\n"
                    "#     thin = %zu\n"
                    "#     algorithm = hmc\n"
                    "#       hmc\n"
                    "#         engine = static\n"
                    "#           static\n"
                    "#             max_depth = %d\n"
                    "#         metric = %s\n"
                    "#         stepsize = ",
                    rows->n_kept * report->thin, rows->n_warmup, rows->has_warmup ? 1 : 0, report->thin,
                    (int)MAX_DEPTH, metric_name(report));
  tacit_text_shortest(text, report->step_size);
  tacit_text_printf(text,
                    "\n"
                    "#     num_chains = %zu\n"
                    "# id = %zu\n"
                    "# random\n"
                    "#   seed = withheld\n",
                    report->draws->n_chains, chain + 1);
}

static void own_value(tacit_text_t *text, const char *key, const char *value) {
  tacit_text_printf(text, "# %s = ", key);
  tacit_text_header_value(text, value);
  tacit_text_append(text, "\n", 1);
}

static void own_number(tacit_text_t *text, const char *key, double value) {
  tacit_text_printf(text, "# %s = ", key);
  tacit_text_shortest(text, value);
  tacit_text_append(text, "\n", 1);
}

static void own_header(const tacit_report_t *report, tacit_text_t *text) {
  own_value(text, "tacit_version", tacit_version());
  tacit_text_printf(text, "# tacit_private = %d\n", report->is_private ? 1 : 0);
  if (report->release != NULL) {
    own_value(text, "tacit_statistic", report->release->statistic);
    own_value(text, "tacit_noise", report->release->noise);
  } else if (report->is_private) {
    own_number(text, "dp_epsilon", tacit_budget_promised(report->budget).epsilon);
    own_number(text, "dp_delta", tacit_budget_delta(report->budget));
    own_number(text, "dp_epsilon_charged_no_guarantee", tacit_budget_spent(report->budget).epsilon);
    own_value(text, "dp_relation", tacit_relation_string(tacit_budget_relation(report->budget)));
    own_value(text, "dp_unit", report->unit);
  } else {
    tacit_text_printf(text, "# tacit_statement = NOT PRIVATE: ");
    tacit_text_header_value(text, report->not_private_reason);
    tacit_text_append(text, "\n", 1);
  }
  own_value(text, "tacit_method", report->method);
  own_value(text, "tacit_formula", report->formula);
  own_value(text, "tacit_family", report->family);
  own_value(text, "tacit_data", report->data_name);
  own_value(text, "tacit_end", report->end);
  own_value(text, "tacit_withheld", "lp__");
  for (size_t j = 0; j < report->draws->n_reported; j++) {
    tacit_text_printf(text, "# tacit_label.%zu = ", j + 1);
    tacit_text_header_value(text, report->labels[j]);
    tacit_text_append(text, "\n", 1);
  }
}

static void column_names(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(text, "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,int_time__");
  for (size_t j = 0; j < report->draws->n_reported; j++) {
    tacit_text_printf(text, ",%s", report->names[j]);
  }
  tacit_text_append(text, "\n", 1);
}

static void matrix_row(const double *row, size_t n, tacit_text_t *text) {
  for (size_t i = 0; i < n; i++) {
    tacit_text_printf(text, i == 0 ? "# " : ", ");
    tacit_text_shortest(text, row[i]);
  }
  tacit_text_append(text, "\n", 1);
}

/* The wording is a format of its own: readers match it to the letter. */
static void adaptation(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(text, "# Adaptation terminated\n# Step size = ");
  tacit_text_shortest(text, report->step_size);
  tacit_text_append(text, "\n", 1);
  size_t d = report->metric_dim;
  if (!has_metric(report)) {
    tacit_text_printf(text, "# No free parameters for unit metric\n");
  } else if (!report->inv_metric_is_dense) {
    tacit_text_printf(text, "# Diagonal elements of inverse mass matrix:\n");
    matrix_row(report->inv_metric, d, text);
  } else {
    tacit_text_printf(text, "# Elements of inverse mass matrix:\n");
    for (size_t i = 0; i < d; i++) {
      matrix_row(report->inv_metric + i * d, d, text);
    }
  }
}

/* lp__ is a function of the records, so 0 stands there; the other statistics come from releases only. */
static void draw_row(const tacit_draws_t *draws, size_t chain, size_t row, tacit_text_t *text) {
  const tacit_draw_stats_t *stats = draws->stats + chain * (draws->n_warmup + draws->n_draws) + row;
  tacit_text_append(text, "0,", 2);
  tacit_text_number(text, stats->accept_stat, DIGITS);
  tacit_text_append(text, ",", 1);
  tacit_text_number(text, stats->step_size, DIGITS);
  tacit_text_append(text, ",0,", 3);
  tacit_text_number(text, stats->n_leapfrog, DIGITS);
  tacit_text_append(text, ",0,", 3);
  tacit_text_number(text, stats->step_size * stats->n_leapfrog, DIGITS);
  const double *values = tacit_draws_row(draws, chain, row);
  for (size_t j = 0; j < draws->n_reported; j++) {
    tacit_text_append(text, ",", 1);
    tacit_text_number(text, values[j], DIGITS);
  }
  tacit_text_append(text, "\n", 1);
}

static tacit_status_t write_rows(const tacit_report_t *report, size_t chain, size_t first, size_t end,
                                 size_t step, tacit_directory_t *dir, tacit_text_t *text,
                                 tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t row = first; row < end && status == TACIT_OK; row += step) {
    draw_row(report->draws, chain, row, text);
    if (text->failed || text->length > FLUSH_BYTES) {
      status = tacit_directory_put(dir, text, err);
    }
  }
  return status;
}

tacit_status_t tacit_report_write_chain(const tacit_report_t *report, size_t chain, tacit_directory_t *dir,
                                        tacit_error_t *err) {
  rows_t rows = count_rows(report);
  tacit_text_t text = {0};
  tacit_text_printf(&text, "draws-%zu.csv", chain + 1);
  tacit_status_t status = text.failed ? tacit_error_memory(err) : tacit_directory_open(dir, text.data, err);
  if (status == TACIT_OK) {
    text.length = 0;
    stan_header(report, &rows, chain, &text);
    own_header(report, &text);
    column_names(report, &text);
    if (rows.has_warmup) { /* every thin-th iteration, as CmdStan does */
      status = write_rows(report, chain, 0, rows.n_warmup, report->thin, dir, &text, err);
    }
  }
  if (status == TACIT_OK) {
    adaptation(report, &text);
    size_t first = report->draws->n_warmup;
    status = write_rows(report, chain, first, first + rows.n_kept, 1, dir, &text, err);
  }
  if (status == TACIT_OK) {
    tacit_text_printf(&text, "# \n# \n");
    status = tacit_directory_put(dir, &text, err);
  }
  TACIT_THEN(status, tacit_directory_close(dir, err));
  tacit_text_clear(&text);
  return status;
}
