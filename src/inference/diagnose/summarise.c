#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose_internal.h"

/* One quantity under summary, scaled by a power of two so that no square leaves the range of doubles. */
typedef struct quantity {
  size_t n_chains, n_draws, n_all;  /* n_all = n_chains n_draws */
  size_t n_series, n_half, n_split; /* the chains cut in halves; n_split = n_series n_half */
  double *x;                        /* shape (n_chains, n_draws) */
  double *split;                    /* shape (n_series, n_half): a quantity derived from x */
  double *means;                    /* shape (n_series) */
  double *acov;                     /* shape (n_half) */
  tacit_ranked_t *sorted, *scratch; /* shape (n_all) */
  tacit_autocov_t autocov;
} quantity_t;

static const tacit_summary_t undefined = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

static void quantity_clear(quantity_t *q) {
  tacit_free(q->x);
  tacit_free(q->split);
  tacit_free(q->means);
  tacit_free(q->acov);
  tacit_free(q->sorted);
  tacit_free(q->scratch);
  tacit_autocov_clear(&q->autocov);
}

static tacit_status_t quantity_init(quantity_t *q, size_t n_chains, size_t n_draws, tacit_error_t *err) {
  *q = (quantity_t){.n_chains = n_chains, .n_draws = n_draws, .n_half = n_draws / 2};
  if (__builtin_mul_overflow(n_chains, n_draws, &q->n_all) ||
      __builtin_mul_overflow(n_chains, 2, &q->n_series)) {
    return tacit_error_memory(err);
  }
  q->n_split = q->n_series * q->n_half;
  q->x = tacit_alloc(q->n_all, sizeof *q->x);
  q->split = tacit_alloc(q->n_split, sizeof *q->split);
  q->means = tacit_alloc(q->n_series, sizeof *q->means);
  q->acov = tacit_alloc(q->n_half, sizeof *q->acov);
  q->sorted = tacit_alloc(q->n_all, sizeof *q->sorted);
  q->scratch = tacit_alloc(q->n_all, sizeof *q->scratch);
  if (q->x == NULL || q->split == NULL || q->means == NULL || q->acov == NULL || q->sorted == NULL ||
      q->scratch == NULL) {
    return tacit_error_memory(err);
  }
  return tacit_autocov_init(&q->autocov, q->n_half, err);
}

/* Halves of each chain as series of their own; the middle draw of an odd number is left out. */
static void split_chains(quantity_t *q) {
  for (size_t c = 0; c < q->n_chains; c++) {
    const double *chain = q->x + c * q->n_draws;
    double *first = q->split + 2 * c * q->n_half, *second = first + q->n_half;
    for (size_t i = 0; i < q->n_half; i++) {
      first[i] = chain[i];
      second[i] = chain[q->n_draws - q->n_half + i];
    }
  }
}

static double split_ess(quantity_t *q) {
  return tacit_ess(&q->autocov, q->split, q->n_series, q->means, q->acov);
}

/* ESS of the indicator of x <= bound. */
static double indicator_ess(quantity_t *q, double bound) {
  split_chains(q);
  for (size_t i = 0; i < q->n_split; i++) {
    q->split[i] = q->split[i] <= bound ? 1 : 0;
  }
  return split_ess(q);
}

static double split_rhat(quantity_t *q) { return tacit_rhat(q->split, q->n_series, q->n_half, q->means); }

/* The order of the halves' values: that of the chains', unless a middle draw is left out. */
static const tacit_ranked_t *order_of_halves(quantity_t *q) {
  if (q->n_split != q->n_all) {
    tacit_rank_sort(q->split, q->n_split, q->sorted, q->scratch);
  }
  return q->sorted;
}

/* Absolute deviations from the median: differences in spread become differences in location. Of halves'
 * scores become scores of those. */
static void fold(quantity_t *q) {
  split_chains(q);
  double median = tacit_quantile_sorted(q->sorted, q->split, q->n_split, 0.5);
  tacit_rank_fold(q->split, q->n_split, median, q->sorted, q->scratch);
  tacit_rank_normal_scores(q->n_split, q->scratch, q->split);
}

static double larger(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmax(a, b); }

static double smaller(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }

/* Everything that needs chains cut in halves; x is not constant and has at least 4 draws a chain. */
static void diagnose(quantity_t *q, double sd, double q5, double q95, tacit_summary_t *summary) {
  summary->ess_tail = smaller(indicator_ess(q, q5), indicator_ess(q, q95));
  split_chains(q);
  summary->mcse_mean = sd / sqrt(split_ess(q));
  tacit_rank_normal_scores(q->n_split, order_of_halves(q), q->split);
  summary->ess_bulk = split_ess(q);
  double rhat_bulk = split_rhat(q);
  fold(q);
  summary->rhat = larger(rhat_bulk, split_rhat(q));
}

/* Exponent e with 2^-e max |x| in [0.5, 1), or false if a value is not finite. */
static bool common_exponent(const double *x, size_t n, int *exponent) {
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i])) {
      return false;
    }
    largest = fmax(largest, fabs(x[i]));
  }
  frexp(largest, exponent);
  return true;
}

tacit_status_t tacit_summarise(const double *x, size_t n_chains, size_t n_draws, tacit_summary_t *summary,
                               tacit_error_t *err) {
  *summary = undefined;
  quantity_t q;
  tacit_status_t status = quantity_init(&q, n_chains, n_draws, err);
  int exponent;
  if (status != TACIT_OK || q.n_all == 0 || !common_exponent(x, q.n_all, &exponent)) {
    quantity_clear(&q);
    return status;
  }
  for (size_t i = 0; i < q.n_all; i++) {
    q.x[i] = ldexp(x[i], -exponent);
  }
  tacit_rank_sort(q.x, q.n_all, q.sorted, q.scratch);
  double mean = tacit_mean(q.x, q.n_all);
  double sd = q.n_all < 2 ? NAN : sqrt(tacit_sum_squares(q.x, q.n_all, mean) / (double)(q.n_all - 1));
  double q5 = tacit_quantile_sorted(q.sorted, q.x, q.n_all, 0.05);
  double q50 = tacit_quantile_sorted(q.sorted, q.x, q.n_all, 0.5);
  double q95 = tacit_quantile_sorted(q.sorted, q.x, q.n_all, 0.95);
  summary->q2_5 = ldexp(tacit_quantile_sorted(q.sorted, q.x, q.n_all, 0.025), exponent);
  summary->q97_5 = ldexp(tacit_quantile_sorted(q.sorted, q.x, q.n_all, 0.975), exponent);
  bool is_constant = q.sorted[0].key == q.sorted[q.n_all - 1].key;
  if (!is_constant && n_draws >= 4) {
    diagnose(&q, sd, q5, q95, summary);
  }
  summary->mean = is_constant ? x[0] : ldexp(mean, exponent);
  summary->sd = is_constant && q.n_all > 1 ? 0 : ldexp(sd, exponent);
  summary->mcse_mean = ldexp(summary->mcse_mean, exponent);
  summary->q5 = ldexp(q5, exponent);
  summary->q50 = ldexp(q50, exponent);
  summary->q95 = ldexp(q95, exponent);
  quantity_clear(&q);
  return TACIT_OK;
}

tacit_status_t tacit_draws_summarise(const tacit_draws_t *draws, size_t j, tacit_summary_t *summary,
                                     tacit_error_t *err) {
  *summary = undefined;
  if (j >= draws->n_reported) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "j",
                           "quantity %zu does not exist: the draws have quantities 0 to %zu - 1", j,
                           draws->n_reported);
  }
  size_t n_kept = tacit_draws_n_kept(draws);
  double *x = tacit_alloc(draws->n_chains * n_kept, sizeof *x);
  if (x == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t c = 0; c < draws->n_chains; c++) {
    for (size_t i = 0; i < n_kept; i++) {
      x[c * n_kept + i] = tacit_draws_row(draws, c, draws->n_warmup + i)[j];
    }
  }
  tacit_status_t status = tacit_summarise(x, draws->n_chains, n_kept, summary, err);
  tacit_free(x);
  return status;
}
