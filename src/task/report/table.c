/* A table for a terminal, and the JSON of the same numbers. */
#include <math.h>
#include <string.h>

#include "report/report_internal.h"

enum { N_COLUMNS = 12, N_PLAIN = 10 };

static const char *const headings[N_COLUMNS] = {"parameter", "mean", "sd",       "5%",
                                                "50%",       "95%",  "mcse",     "ess_bulk",
                                                "ess_tail",  "rhat", "prior_sd", "prior_share"};

static void cell(tacit_text_t *text, const char *label, const tacit_summary_t *s, int column) {
  text->length = 0;
  switch (column) {
  case 0:
    tacit_text_plain(text, label);
    break;
  case 1:
    tacit_text_estimate(text, s->mean, s->sd);
    break;
  case 2:
    tacit_text_estimate(text, s->sd, s->sd);
    break;
  case 3:
    tacit_text_estimate(text, s->q5, s->sd);
    break;
  case 4:
    tacit_text_estimate(text, s->q50, s->sd);
    break;
  case 5:
    tacit_text_estimate(text, s->q95, s->sd);
    break;
  case 6:
    tacit_text_significant(text, s->mcse_mean, 2);
    break;
  case 7:
    tacit_text_fixed(text, s->ess_bulk, 0);
    break;
  case 8:
    tacit_text_fixed(text, s->ess_tail, 0);
    break;
  case 9:
    tacit_text_fixed(text, s->rhat, 3);
    break;
  case 10:
    tacit_text_significant(text, s->prior_sd, 2);
    break;
  default:
    tacit_text_fixed(text, s->prior_share, 2);
    break;
  }
}

static void spaces(tacit_text_t *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    tacit_text_append(text, " ", 1);
  }
}

/* The first column is flush left, the numbers flush right. */
static void padded(tacit_text_t *text, const char *content, size_t width, int column) {
  size_t pad = width - tacit_utf8_width(content);
  if (column > 0) {
    spaces(text, 2 + pad);
  }
  tacit_text_append(text, content, strlen(content));
  if (column == 0) {
    spaces(text, pad);
  }
}

bool tacit_report_has_priors(const tacit_summary_t *summaries, size_t n) {
  for (size_t j = 0; j < n; j++) {
    if (summaries[j].prior_share > 0) {
      return true;
    }
  }
  return false;
}

tacit_status_t tacit_report_table(const char *const *labels, const tacit_summary_t *summaries, size_t n,
                                  char **out, tacit_error_t *err) {
  *out = NULL;
  tacit_text_t text = {0}, content = {0};
  size_t widths[N_COLUMNS];
  int n_columns = tacit_report_has_priors(summaries, n) ? N_COLUMNS : N_PLAIN;
  tacit_text_append(&content, "", 0); /* so that an empty label has a text */
  for (int c = 0; c < n_columns; c++) {
    widths[c] = strlen(headings[c]);
    for (size_t j = 0; j < n && !content.failed; j++) {
      cell(&content, labels[j], &summaries[j], c);
      size_t width = content.length > 0 && !content.failed ? tacit_utf8_width(content.data) : 0;
      widths[c] = width > widths[c] ? width : widths[c];
    }
  }
  for (int c = 0; c < n_columns; c++) {
    padded(&text, headings[c], widths[c], c);
  }
  tacit_text_append(&text, "\n", 1);
  for (size_t j = 0; j < n && !content.failed; j++) {
    for (int c = 0; c < n_columns; c++) {
      cell(&content, labels[j], &summaries[j], c);
      if (!content.failed) {
        padded(&text, content.length > 0 ? content.data : "", widths[c], c);
      }
    }
    tacit_text_append(&text, "\n", 1);
  }
  text.failed = text.failed || content.failed;
  tacit_text_clear(&content);
  return tacit_text_take(&text, TACIT_OK, out, err);
}

static void json_parameter(tacit_text_t *text, const char *label, const tacit_summary_t *s) {
  tacit_text_printf(text, "    {\"name\": ");
  tacit_text_json_string(text, label);
  tacit_text_json_field(text, "mean", s->mean);
  tacit_text_json_field(text, "sd", s->sd);
  tacit_text_json_field(text, "q5", s->q5);
  tacit_text_json_field(text, "q50", s->q50);
  tacit_text_json_field(text, "q95", s->q95);
  tacit_text_json_field(text, "mcse_mean", s->mcse_mean);
  tacit_text_json_field(text, "ess_bulk", s->ess_bulk);
  tacit_text_json_field(text, "ess_tail", s->ess_tail);
  tacit_text_json_field(text, "rhat", s->rhat);
  if (s->prior_share > 0) {
    tacit_text_json_field(text, "prior_sd", s->prior_sd);
    tacit_text_json_field(text, "prior_share", s->prior_share);
  }
  tacit_text_append(text, "}", 1);
}

tacit_status_t tacit_report_summary_json(const tacit_report_read_t *read, char **out, tacit_error_t *err) {
  *out = NULL;
  tacit_text_t text = {0};
  tacit_status_t status = TACIT_OK;
  tacit_text_printf(
      &text, "{\n  \"private\": %s,\n  \"n_chains\": %zu,\n  \"n_draws\": %zu,\n  \"parameters\": [",
      read->is_private ? "true" : "false", read->draws.n_chains, tacit_draws_n_kept(&read->draws));
  for (size_t j = 0; j < read->draws.n_reported && status == TACIT_OK; j++) {
    tacit_summary_t summary;
    status = tacit_draws_summarise_with(&read->draws, j, &read->evidence, &summary, err);
    tacit_text_printf(&text, j > 0 ? ",\n" : "\n");
    json_parameter(&text, read->labels[j], &summary);
  }
  tacit_text_printf(&text, read->draws.n_reported > 0 ? "\n  ]\n}\n" : "]\n}\n");
  return tacit_text_take(&text, status, out, err);
}
