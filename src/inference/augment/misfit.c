/*
 * Posterior predictive checks of what was published: could the model, at the chain's theta, have brought
 * forth a number as far out as this one, or as these together? Given theta a number is the sum over n
 * records, drawn anew, plus noise; its tail is bounded by Bennett's inequality for the records and the
 * noise's own moment generating function, so that the p-values hold whatever n is. [docs/theory.md, 12.16]
 */
#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"

enum { LOOKS = 128 }; /* at draws of all chains, about */

/* What a record of a group adds to each sum. */
typedef struct moments {
  double *mean, *square, *low, *high; /* (n_sums) */
  double n, share_unknown; /* records; by how much more than n records' the variance is, as means were found
                              from records that were drawn */
} moments_t;

struct tacit_misfit {
  size_t n_groups, n_looks;
  moments_t *moments; /* (n_groups) */
  double *p;          /* (n_released): added up over draws */
  tacit_rng_t *rng;   /* records that are drawn for a look: the chain's own moves do not depend on it */
};

/* ---- memory ---- */

void tacit_misfit_free(tacit_misfit_t *m) {
  for (size_t g = 0; m != NULL && m->moments != NULL && g < m->n_groups; g++) {
    tacit_free(m->moments[g].mean);
  }
  if (m != NULL) {
    tacit_free(m->moments);
    tacit_free(m->p);
    tacit_rng_free(m->rng);
    tacit_free(m);
  }
}

tacit_status_t tacit_misfit_new(tacit_misfit_t **misfit, const tacit_population_run_t *run, size_t chain,
                                tacit_error_t *err) {
  tacit_misfit_t *m = *misfit = tacit_alloc_zero(1, sizeof *m);
  if (m == NULL) {
    return tacit_error_memory(err);
  }
  m->n_groups = run->n_groups;
  m->moments = tacit_alloc_zero(run->n_groups, sizeof *m->moments);
  m->p = tacit_alloc_zero(run->n_released, sizeof *m->p);
  if (m->moments == NULL || m->p == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t g = 0; g < run->n_groups; g++) {
    moments_t *of = &m->moments[g];
    of->mean = tacit_alloc_zero(4 * run->n_sums, sizeof *of->mean);
    if (of->mean == NULL) {
      return tacit_error_memory(err);
    }
    of->square = of->mean + run->n_sums;
    of->low = of->square + run->n_sums;
    of->high = of->low + run->n_sums;
  }
  return tacit_rng_new(&m->rng, run->chains.settings->key, run->chains.settings->n_chains + chain, err);
}

/* ---- what a record adds ---- */

static bool is_counted(const tacit_released_t *r) { return r->statistic == NULL || r->statistic->is_count; }

static void moments_begin(moments_t *of, const tacit_population_run_t *run) {
  for (size_t v = 0; v < run->n_sums; v++) {
    bool is_count = is_counted(tacit_released_at(run, v));
    of->mean[v] = of->square[v] = 0;
    of->low[v] = is_count ? 0 : INFINITY;
    of->high[v] = is_count ? 1 : -INFINITY;
  }
}

static void moments_add(moments_t *of, const tacit_entry_t *entries, size_t n_entries, double weight) {
  for (size_t e = 0; e < n_entries; e++) {
    size_t v = entries[e].value;
    double x = entries[e].weight;
    of->mean[v] += weight * x;
    of->square[v] += weight * x * x;
    of->low[v] = fmin(of->low[v], x);
    of->high[v] = fmax(of->high[v], x);
  }
}

/* Over cells, with their probabilities. */
static void find_of_cells(tacit_population_chain_t *c, size_t g) {
  const tacit_population_group_t *group = &c->run->groups[g];
  moments_t *of = &c->misfit->moments[g];
  of->n = c->parts[g].n;
  for (size_t i = 0; i < group->n_cells; i++) {
    moments_add(of, tacit_group_entries(group, i), group->n_entries,
                exp(c->parts[g].log_p[group->base[i]] + group->log_channel[i]));
  }
}

static void take_record(void *user, const tacit_entry_t *entries, size_t n_entries) {
  moments_add(user, entries, n_entries, 1);
}

/* Over records that are drawn: as many as there are, or more. A count has half a record in it, and half
 * outside, besides. */
static bool find_of_records(tacit_population_chain_t *c, size_t g) {
  enum { LEAST = 1024 };
  const tacit_population_run_t *run = c->run;
  moments_t *of = &c->misfit->moments[g];
  size_t n = run->groups[g].as->n_records, n_drawn = n > LEAST ? n : LEAST;
  of->n = (double)n;
  of->share_unknown = (double)n / (double)n_drawn;
  if (!tacit_latent_draw(c, g, c->misfit->rng, n_drawn, take_record, of)) {
    return false;
  }
  for (size_t v = 0; v < run->n_sums; v++) {
    bool is_count = is_counted(tacit_released_at(run, v));
    of->mean[v] = (of->mean[v] + (is_count ? 0.5 : 0)) / ((double)n_drawn + (is_count ? 1 : 0));
    of->square[v] = is_count ? of->mean[v] : of->square[v] / (double)n_drawn;
  }
  return true;
}

/* ---- tails ---- */

/* log E e^(s noise) of a value, s >= 0; discrete gaussian noise is below gaussian noise in this
 * [Canonne2020]. */
static double log_mgf_of_distribution(const tacit_noise_distribution_t *distribution, double s) {
  double b = distribution->as.scale;
  switch (distribution->as.noise) {
  case TACIT_RELEASE_GAUSSIAN:
  case TACIT_RELEASE_DISCRETE_GAUSSIAN:
    return 0.5 * s * s * b * b;
  case TACIT_RELEASE_LAPLACE:
    return -log1p(-s * s * b * b);
  case TACIT_RELEASE_DISCRETE_LAPLACE:
    return 2 * log(-expm1(-1 / b)) - log(-expm1(s - 1 / b)) - log(-expm1(-s - 1 / b));
  default:
    return 0;
  }
}

/* Of the sum of m values' noise, less what all k were moved by, so that they add up. */
static double log_mgf_of_noise(const tacit_noise_distribution_t *distribution, double m, double s) {
  double k = (double)distribution->n_sums;
  return !distribution->as.adds_up ? m * log_mgf_of_distribution(distribution, s)
                                   : m * log_mgf_of_distribution(distribution, s * (1 - m / k)) +
                                         (k - m) * log_mgf_of_distribution(distribution, s * m / k);
}

static double variance_of_noise(const tacit_noise_distribution_t *distribution, double m) {
  bool is_gaussian = distribution->as.noise == TACIT_RELEASE_GAUSSIAN ||
                     distribution->as.noise == TACIT_RELEASE_DISCRETE_GAUSSIAN;
  double one =
      distribution->is_exact ? 0 : distribution->as.scale * distribution->as.scale * (is_gaussian ? 1 : 2);
  return one * m * (distribution->as.adds_up ? 1 - m / (double)distribution->n_sums : 1);
}

/* Of a record of a group in some values of a release, added up. */
typedef struct part {
  double n, mean, variance, low, high, share_unknown;
} part_t;

typedef struct total {
  const tacit_released_t *of;
  double n_values, from, to; /* added up; between which noisy totals are those that were published */
  size_t n_parts;
  part_t parts[TACIT_MAX_GROUPS];
  double side, beyond; /* 1: above what is expected, -1: below; how far */
} total_t;

static void total_begin(total_t *total, const tacit_misfit_t *m, const tacit_released_t *r) {
  total->of = r;
  total->n_values = total->from = total->to = 0;
  total->n_parts = 0;
  for (size_t g = 0; g < m->n_groups; g++) {
    if ((r->groups >> g & 1) != 0) {
      total->parts[total->n_parts++] =
          (part_t){.n = m->moments[g].n, .high = 1, .share_unknown = m->moments[g].share_unknown};
    }
  }
}

/* Value k more. Rounded and moved ones, and those withheld, are sets of noisy ones. Sums of real numbers
 * stand alone. */
static void total_add(total_t *total, const tacit_misfit_t *m, const tacit_population_run_t *run, size_t k) {
  const tacit_released_t *r = total->of;
  const tacit_noisy_t *as = &r->distribution.as;
  bool is_whole = as->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN || as->noise == TACIT_RELEASE_DISCRETE_LAPLACE;
  size_t v = r->first + k, i = 0;
  double y = run->values[v], half = is_whole ? fmax(0.5 * (as->rounded - 1), 0) : 0.5 * as->rounded;
  total->from += isnan(y) || y <= as->lower ? -INFINITY : y - half;
  total->to += isnan(y) ? as->suppressed - 0.5 * as->rounded : y >= as->upper ? INFINITY : y + half;
  total->n_values++;
  for (size_t g = 0; g < m->n_groups; g++) {
    if ((r->groups >> g & 1) != 0) {
      part_t *part = &total->parts[i++];
      part->mean += m->moments[g].mean[v];
      part->variance =
          fmax((is_counted(r) ? part->mean : m->moments[g].square[v]) - part->mean * part->mean, 0);
      part->low = is_counted(r) ? 0 : m->moments[g].low[v];
      part->high = is_counted(r) ? 1 : m->moments[g].high[v];
    }
  }
}

/* log E e^(s x), or more, of x of mean 0 and at most `far`: that of the distribution on far and one other
 * point, which a count's is [Bennett1962]. */
static double log_most_mgf(double variance, double far, double s) {
  double other = variance / far;
  return s * (far + other) < 1e-5 ? 0.5 * s * s * variance
                                  : log1p((far * expm1(-s * other) + other * expm1(s * far)) / (far + other));
}

/* A chance below e^this, of whatever s. */
static double log_bound(const total_t *t, double s) {
  double value = log_mgf_of_noise(&t->of->distribution, t->n_values, s) - s * t->beyond;
  for (size_t i = 0; i < t->n_parts; i++) {
    const part_t *p = &t->parts[i];
    double far = t->side > 0 ? p->high - p->mean : p->mean - p->low;
    value += p->variance > 0
                 ? p->n * (log_most_mgf(p->variance, far, s) + 0.5 * p->share_unknown * p->variance * s * s)
                 : 0;
  }
  return value;
}

/* The least of a convex function, by golden sections. */
static double least_bound(const total_t *t) {
  enum { DOUBLINGS = 200, SECTIONS = 40 };
  bool is_laplace = t->of->distribution.as.noise == TACIT_RELEASE_LAPLACE ||
                    t->of->distribution.as.noise == TACIT_RELEASE_DISCRETE_LAPLACE;
  double most = is_laplace ? 1 / t->of->distribution.as.scale : INFINITY, from = 0,
         to = fmin(1 / t->beyond, 0.5 * most);
  for (int i = 0; i < DOUBLINGS && log_bound(t, fmin(2 * to, 0.5 * (to + most))) < log_bound(t, to); i++) {
    to = fmin(2 * to, 0.5 * (to + most));
  }
  to = fmin(2 * to, 0.5 * (to + most));
  for (int i = 0; i < SECTIONS; i++) {
    double a = to - 0.6180339887498949 * (to - from), b = from + 0.6180339887498949 * (to - from);
    if (log_bound(t, a) < log_bound(t, b)) {
      to = b;
    } else {
      from = a;
    }
  }
  return fmin(log_bound(t, 0.5 * (from + to)), 0);
}

/* log P(noisy total as far out as the published one, on its side), or more: 0 where, of so many chances,
 * nothing would follow. */
static double log_tail(total_t *t, double n_chances) {
  double mean = 0, variance = variance_of_noise(&t->of->distribution, t->n_values);
  for (size_t i = 0; i < t->n_parts; i++) {
    mean += t->parts[i].n * t->parts[i].mean;
    variance += t->parts[i].n * t->parts[i].variance * (1 + t->parts[i].share_unknown);
  }
  t->side = t->from > mean ? 1 : -1;
  t->beyond = t->side > 0 ? t->from - mean : mean - t->to;
  return !(t->beyond > 0) || t->beyond * t->beyond < variance * log(2 * n_chances) ? 0 : least_bound(t);
}

/* ---- quantiles ---- */

/* Shares of records below two candidates, `low` the lower one, of each group. */
static double log_mgf_of_two(const tacit_misfit_t *m, const tacit_released_t *r, size_t low, size_t high,
                             double at_low, double between) {
  double value = 0;
  for (size_t g = 0; g < m->n_groups; g++) {
    const moments_t *of = &m->moments[g];
    if ((r->groups >> g & 1) == 0) {
      continue;
    }
    double a = 0, b = 0;
    for (size_t i = 0; i <= high; i++) {
      *(i <= low ? &a : &b) += of->mean[r->first + i];
    }
    double mean = a * at_low + b * between,
           variance = fmax(a * at_low * at_low + b * between * between - mean * mean, 0);
    value += of->n * (log1p(a * expm1(at_low) + b * expm1(between)) + 0.5 * of->share_unknown * variance);
  }
  return value;
}

/*
 * log P(candidate i is chosen), or more: e^(rho (|N_r - q n| - |N_i - q n|) / scale) is at least its
 * probability beside candidate r, for all rho in [0, 1], and N_i - q n, on the side where it should be, at
 * most |N_i - q n|.
 */
static double log_chosen(const tacit_misfit_t *m, const tacit_released_t *r, size_t i, size_t nearest,
                         double at) {
  enum { STEPS = 32 };
  size_t low = i < nearest ? i : nearest, high = i < nearest ? nearest : i;
  double least = 0, sign = i > nearest ? 1 : -1; /* whether more records should be below i than are wanted */
  for (int step = 1; step <= STEPS; step++) {
    double t = step / (STEPS * r->distribution.as.scale);
    double same = log_mgf_of_two(m, r, low, high, 0, -t);
    double other = log_mgf_of_two(m, r, low, high, -2 * sign * t, -sign * t) + 2 * sign * t * at;
    double most = fmax(same, other);
    least = fmin(least, most + log(exp(same - most) + exp(other - most)));
  }
  return least;
}

static double log_further_choice(const tacit_misfit_t *m, const tacit_released_t *r) {
  size_t n_candidates = r->distribution.n_sums - 1, chosen = r->distribution.chosen, nearest = 0;
  double n = 0, below = 0, best = INFINITY, sum = 0;
  for (size_t g = 0; g < m->n_groups; g++) {
    n += (r->groups >> g & 1) != 0 ? m->moments[g].n : 0;
  }
  for (size_t i = 0; i < n_candidates; i++) {
    for (size_t g = 0; g < m->n_groups; g++) {
      below += (r->groups >> g & 1) != 0 ? m->moments[g].n * m->moments[g].mean[r->first + i] : 0;
    }
    nearest = fabs(below - r->distribution.quantile * n) < best ? i : nearest;
    best = fmin(best, fabs(below - r->distribution.quantile * n));
  }
  if (chosen == nearest) {
    return 0;
  }
  for (size_t i = chosen > nearest ? chosen : 0; i < (chosen > nearest ? n_candidates : chosen + 1); i++) {
    sum += exp(log_chosen(m, r, i, nearest, r->distribution.quantile * n));
  }
  return fmin(log(sum), 0);
}

/* ---- a look, and all of them ---- */

/* Of a table also how many records have at most a level of a factor: distributions miss cells side by side.
 */
static double chances_of(const tacit_released_t *r) {
  double n = (double)r->distribution.n_sums;
  for (size_t f = 0; r->statistic != NULL && r->statistic->is_count && f < r->statistic->n_marks; f++) {
    n += (double)r->statistic->extents[f] - 1;
  }
  return n;
}

static double log_least_of_factor(const tacit_misfit_t *m, const tacit_population_run_t *run,
                                  const tacit_released_t *r, size_t factor, total_t *total) {
  size_t stride = 1, n_levels = r->statistic->extents[factor];
  double least = 0;
  for (size_t f = factor + 1; f < r->statistic->n_marks; f++) {
    stride *= r->statistic->extents[f];
  }
  total_begin(total, m, r);
  for (size_t level = 0; level + 1 < n_levels; level++) {
    for (size_t block = level * stride; block < r->distribution.n_sums; block += n_levels * stride) {
      for (size_t i = 0; i < stride; i++) {
        total_add(total, m, run, block + i);
      }
    }
    least = fmin(least, log_tail(total, chances_of(r)));
  }
  return least;
}

/* Two sides, and as many chances as are looked at. */
static double p_of(const tacit_misfit_t *m, const tacit_population_run_t *run, const tacit_released_t *r) {
  total_t total;
  double least = 0, n_chances = chances_of(r);
  if (r->distribution.as.noise == TACIT_RELEASE_EXPONENTIAL) {
    return fmin(1, 2 * exp(log_further_choice(m, r)));
  }
  for (size_t k = 0; k < r->distribution.n_sums; k++) {
    total_begin(&total, m, r);
    total_add(&total, m, run, k);
    least = fmin(least, log_tail(&total, n_chances));
  }
  for (size_t f = 0; r->statistic != NULL && r->statistic->is_count && f < r->statistic->n_marks; f++) {
    least = fmin(least, log_least_of_factor(m, run, r, f, &total));
  }
  return fmin(1, 2 * n_chances * exp(least));
}

void tacit_misfit_look(tacit_population_chain_t *c, size_t draw) {
  tacit_misfit_t *m = c->misfit;
  const tacit_augment_settings_t *s = c->run->chains.settings;
  size_t every = (s->n_draws * s->n_chains + LOOKS - 1) / LOOKS;
  bool ok = draw % every == 0;
  for (size_t g = 0; g < m->n_groups && ok; g++) {
    moments_begin(&m->moments[g], c->run);
    if (c->latent != NULL) {
      ok = find_of_records(c, g);
    } else {
      find_of_cells(c, g);
    }
  }
  m->n_looks += ok;
  for (size_t i = 0; i < c->run->n_released && ok; i++) {
    m->p[i] += p_of(m, c->run, &c->run->released[i]);
  }
}

void tacit_misfit_conclude(const tacit_population_run_t *run, double *p) {
  for (size_t i = 0; i < run->n_released; i++) {
    double sum = 0, n = 0;
    for (size_t c = 0; c < run->chains.settings->n_chains; c++) {
      sum += run->each[c].misfit->p[i];
      n += (double)run->each[c].misfit->n_looks;
    }
    p[i] = n > 0 ? fmin(1, 2 * sum / n) : NAN;
  }
}
