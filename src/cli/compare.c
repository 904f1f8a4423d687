/* tacit compare: fits side by side. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "report/report_internal.h"

enum { MAX_FITS = 16 };

typedef struct comparison {
  tacit_report_read_t fits[MAX_FITS];
  size_t n_fits;
  const char **labels; /* of all fits, each once; borrowed */
  size_t n_labels;
} comparison_t;

static size_t find(const char *const *labels, size_t n, const char *label) {
  size_t j = 0;
  while (j < n && strcmp(labels[j], label) != 0) {
    j++;
  }
  return j;
}

static tacit_status_t read_fits(comparison_t *all, const cli_args_t *args, tacit_error_t *err) {
  size_t most = 0;
  for (size_t i = 0; i < args->n_positionals; i++) {
    tacit_status_t status = tacit_report_read(&all->fits[i], args->positionals[i], err);
    if (status != TACIT_OK) {
      return status;
    }
    all->n_fits++;
    most += all->fits[i].draws.n_reported;
  }
  all->labels = tacit_alloc(most + 1, sizeof *all->labels);
  if (all->labels == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < all->n_fits; i++) {
    for (size_t j = 0; j < all->fits[i].draws.n_reported; j++) {
      if (find(all->labels, all->n_labels, all->fits[i].labels[j]) == all->n_labels) {
        all->labels[all->n_labels++] = all->fits[i].labels[j];
      }
    }
  }
  return TACIT_OK;
}

/* The summary of a label in a fit; false if the fit has no such quantity. */
static tacit_status_t summary_of(const tacit_report_read_t *fit, const char *label, bool *is_there,
                                 tacit_summary_t *summary, tacit_error_t *err) {
  size_t j = find((const char *const *)fit->labels, fit->draws.n_reported, label);
  *is_there = j < fit->draws.n_reported;
  return *is_there ? tacit_draws_summarise_with(&fit->draws, j, &fit->evidence, summary, err) : TACIT_OK;
}

static void pad(tacit_text_t *text, size_t begin, size_t width) {
  size_t used = text->failed ? width : tacit_utf8_width(text->data + begin);
  for (; used < width; used++) {
    tacit_text_append(text, " ", 1);
  }
}

static tacit_status_t table(const comparison_t *all, const cli_args_t *args, tacit_text_t *text,
                            tacit_error_t *err) {
  size_t width = 9;
  tacit_status_t status = TACIT_OK;
  for (size_t k = 0; k < all->n_labels; k++) {
    size_t w = tacit_utf8_width(all->labels[k]);
    width = w > width ? w : width;
  }
  for (size_t k = 0; k <= all->n_labels && status == TACIT_OK; k++) {
    size_t begin = text->length;
    tacit_text_printf(text, "%s", k == 0 ? "parameter" : all->labels[k - 1]);
    pad(text, begin, width);
    for (size_t i = 0; i < all->n_fits && status == TACIT_OK; i++) {
      bool is_there = false;
      tacit_summary_t s;
      begin = text->length + 2;
      tacit_text_printf(text, "  ");
      if (k == 0) {
        tacit_text_plain(text, args->positionals[i]);
      } else {
        status = summary_of(&all->fits[i], all->labels[k - 1], &is_there, &s, err);
      }
      if (is_there) {
        tacit_text_estimate(text, s.mean, s.sd);
        tacit_text_printf(text, " [");
        tacit_text_estimate(text, s.q5, s.sd);
        tacit_text_printf(text, ", ");
        tacit_text_estimate(text, s.q95, s.sd);
        tacit_text_printf(text, "]");
      }
      if (i + 1 < all->n_fits) {
        pad(text, begin, 30);
      }
    }
    tacit_text_append(text, "\n", 1);
  }
  return status;
}

static void guarantees(const comparison_t *all, const cli_args_t *args, tacit_text_t *text) {
  tacit_text_printf(text, "\n");
  for (size_t i = 0; i < all->n_fits; i++) {
    const tacit_report_read_t *fit = &all->fits[i];
    tacit_text_plain(text, args->positionals[i]);
    if (!fit->is_private) {
      tacit_text_printf(text, ": NOT PRIVATE\n");
    } else if (fit->is_post_processing) {
      tacit_text_printf(text, ": of a released statistic, at no further privacy cost\n");
    } else {
      tacit_text_printf(text, ": (epsilon %.6g, delta %g)-differentially private\n", fit->epsilon,
                        fit->delta);
    }
  }
}

static int run_compare(const cli_args_t *args) {
  comparison_t *all = tacit_alloc_zero(1, sizeof *all);
  tacit_text_t text = {0};
  tacit_error_t err;
  tacit_status_t status = all != NULL ? read_fits(all, args, &err) : tacit_error_memory(&err);
  TACIT_THEN(status, table(all, args, &text, &err));
  if (status == TACIT_OK) {
    guarantees(all, args, &text);
    status = text.failed ? tacit_error_memory(&err) : TACIT_OK;
  }
  if (status == TACIT_OK) {
    fwrite(text.data, 1, text.length, stdout);
  }
  tacit_text_clear(&text);
  for (size_t i = 0; all != NULL && i < all->n_fits; i++) {
    tacit_report_read_clear(&all->fits[i]);
  }
  tacit_free(all != NULL ? (void *)all->labels : NULL);
  tacit_free(all);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

const cli_command_t cli_compare = {
    .name = "compare",
    .positionals = "DIR DIR [DIR ...]",
    .n_positionals = 2,
    .n_optional = MAX_FITS - 2,
    .summary = "put fits side by side",
    .description = "Prints mean and 90 % interval of each parameter in each fit, and what each fit promises. "
                   "Fits of the same records add up their epsilons, whatever is compared. Comparisons that "
                   "look at records, such as leave-one-out, are not offered: each of their numbers would be "
                   "a release that nobody paid for.",
    .examples = "  tacit compare fit1/ fit2/\n",
    .run = run_compare};
