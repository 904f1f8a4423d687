/*
 * Effects of groups, (1 | g). What is released is what `+ g` releases; here the prior of the coefficients of
 * g becomes that of effects r_l ~ normal(0, s), with s unknown. In the coding of a regression level l > 1 has
 * a coefficient theta_l on a feature of -1 or +1, so that r_l - r_1 = 2 theta_l =: c_l, c_1 = 0. Of slopes in
 * x, (1 + x | g), the feature is x at level l and 0 at others, and c_l = theta_l. With a flat prior on the
 * level of all, or on the slope, r_1 is integrated out:
 *
 *     p(c | s) ~ s^-(K - 1) exp(-sum (c_l - c.)^2 / (2 s^2)),      r_1 | c, s ~ normal(-c., s^2 / K).
 *
 * Draws of (theta, log s) move in coordinates z in which a normal approximation q to the likelihood, from the
 * states of a walk under another prior, makes theta given s standard normal: theta = m(s) + L(s)^-T z. What
 * is left of the posterior is its ratio to that approximation, excess(theta) = log likelihood - log q, by
 * which two kinds of moves are judged: another s at the same z, from a few steps of a chain on p(s) by q
 * alone, which is reversible for it; and an elliptical slice in z at the same s [Murray2010]. Both leave the
 * exact posterior as it is; where the likelihood is normal the first is a draw of s with theta integrated
 * out, so that no funnel is in the way. Where it has further tails than q, that move hardly ever leaves them,
 * since much excess is lost; so a third kind is another s at the same theta, of which the likelihood knows
 * nothing.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/effects.h"

enum { N_STEPS = 4 /* even: see turn_of() */, MAX_LOOKS = 100, MOST_FACTORS = 8 };

/* Of the prior of an sd: half student_t(3, 0, 1). It ends at `least`, below which 4e-4 of it are. */
static const double prior_df = 3, least_log_sd = -7;
/* How far steps in log s go at most. */
static const double farthest = 2;
/* The more coordinates, the less far a slice goes. */
enum { coordinates_per_slice = 5 };
static const double two_pi = 6.283185307179586;
/* Of the generator: the walk before had those from 0. */
static const uint64_t first_stream = (uint64_t)1 << 32;

/* theta given s by q: precision Q = L L', mean m; and log p(log s) by q. */
typedef struct scaled {
  double log_sds[MOST_FACTORS], *factor, *mean, log_density;
} scaled_t;

typedef struct chain {
  tacit_rng_t *rng;
  scaled_t at, trial;
  double *z, *theta, value, excess;
} chain_t;

typedef struct walk {
  const tacit_effects_start_t *start;
  const tacit_noise_aware_effects_t *effects;
  size_t dim;
  double *precision, *linear; /* of q: exp(linear . theta - theta' precision theta / 2) */
  double *draw, *look, *work; /* (dim) */
  double *sds, *levels;       /* reported: of each factor, of all their levels */
  chain_t *chains;
  double *memory;
} walk_t;

/* What a contrast of effects is of a factor's coefficient. */
static double unit_of(const tacit_level_effects_t *f) { return f->main > 0 ? 1 : 2; }

/* ---- given the sds ---- */

static double log_prior_sd(double log_sd) {
  double sd = exp(log_sd);
  return log_sd < least_log_sd ? -INFINITY
                               : log_sd - 0.5 * (prior_df + 1) * log1p(sd * sd / prior_df); /* Jacobian: sd */
}

/* to->factor, mean, log_density at its log sds; false: no density there. */
static bool scale(const walk_t *w, scaled_t *to) {
  size_t dim = w->dim;
  memcpy(to->factor, w->precision, dim * dim * sizeof *to->factor);
  memcpy(to->mean, w->linear, dim * sizeof *to->mean);
  to->log_density = 0;
  for (size_t t = 0; t < w->effects->n; t++) {
    tacit_level_effects_t f = w->effects->factors[t];
    double weight = unit_of(&f) * unit_of(&f) * exp(-2 * to->log_sds[t]), others = (double)f.n_levels - 1;
    to->log_density += log_prior_sd(to->log_sds[t]) - others * to->log_sds[t];
    for (size_t i = f.first; i < f.first + f.n_levels - 1; i++) {
      for (size_t j = f.first; j < f.first + f.n_levels - 1; j++) {
        to->factor[i * dim + j] += weight * ((i == j) - 1 / (double)f.n_levels);
      }
    }
  }
  if (!isfinite(to->log_density) || !tacit_cholesky(dim, to->factor)) {
    return false;
  }
  tacit_solve_lower(dim, to->factor, to->mean);
  to->log_density += 0.5 * tacit_dot(dim, to->mean, to->mean);
  for (size_t i = 0; i < dim; i++) {
    to->log_density -= log(to->factor[i * dim + i]);
  }
  tacit_solve_upper(dim, to->factor, to->mean);
  return isfinite(to->log_density);
}

static void copy(const walk_t *w, const scaled_t *from, scaled_t *to) {
  memcpy(to->log_sds, from->log_sds, sizeof to->log_sds);
  memcpy(to->factor, from->factor, w->dim * w->dim * sizeof *to->factor);
  memcpy(to->mean, from->mean, w->dim * sizeof *to->mean);
  to->log_density = from->log_density;
}

/* The factor of a step: there and back again, so that steps in turn are reversible as each by itself is. */
static size_t turn_of(const walk_t *w, size_t step) {
  size_t n = w->effects->n, t = step % n;
  return step / n % 2 == 0 ? t : n - 1 - t;
}

/* A few Metropolis steps on p(log s) by q, one factor after the other, from c->at to c->trial. */
static void step_sds(const walk_t *w, chain_t *c) {
  copy(w, &c->at, &c->trial);
  scaled_t next = {.factor = w->work + w->dim, .mean = w->work};
  for (size_t step = 0; step < N_STEPS * w->effects->n; step++) {
    copy(w, &c->trial, &next);
    double size = farthest * pow(0.05, tacit_rng_uniform(c->rng));
    next.log_sds[turn_of(w, step)] += size * tacit_rng_normal(c->rng);
    double level = log(tacit_rng_uniform(c->rng));
    if (scale(w, &next) && next.log_density - c->trial.log_density > level) {
      copy(w, &next, &c->trial);
    }
  }
}

/* ---- moves ---- */

/* w->look <- theta at z given the sds of `at`; its excess, and the density. */
static double look(const walk_t *w, const scaled_t *at, const double *z, double *value) {
  size_t dim = w->dim;
  double *theta = w->look, form = 0;
  memcpy(theta, z, dim * sizeof *theta);
  tacit_solve_upper(dim, at->factor, theta);
  for (size_t i = 0; i < dim; i++) {
    theta[i] += at->mean[i];
  }
  for (size_t i = 0; i < dim; i++) {
    form += theta[i] * (w->linear[i] - 0.5 * tacit_dot(dim, w->precision + i * dim, theta));
  }
  *value = w->start->log_density(w->start->ctx, theta);
  return isfinite(*value) ? *value - form : -INFINITY;
}

static void take(const walk_t *w, chain_t *c, double value, double excess) {
  memcpy(c->theta, w->look, w->dim * sizeof *c->theta);
  c->value = value;
  c->excess = excess;
}

/* Other sds, theta going with them; was it accepted? */
static bool move_sds(const walk_t *w, chain_t *c) {
  double value;
  step_sds(w, c);
  double excess = look(w, &c->trial, c->z, &value);
  bool is_accepted = excess - c->excess > log(tacit_rng_uniform(c->rng));
  if (is_accepted) {
    copy(w, &c->trial, &c->at);
    take(w, c, value, excess);
  }
  return is_accepted;
}

/* The sum of squares of a factor's effects from their mean. */
static double spread(const tacit_level_effects_t *f, const double *theta) {
  double sum = 0, square = 0, unit = unit_of(f);
  for (size_t k = f->first; k < f->first + f->n_levels - 1; k++) {
    sum += unit * theta[k];
    square += unit * unit * theta[k] * theta[k];
  }
  return square - sum * sum / (double)f->n_levels;
}

/* log p(log s | theta), up to a constant. */
static double log_density_given(const tacit_level_effects_t *f, double square, double log_sd) {
  return log_prior_sd(log_sd) - ((double)f->n_levels - 1) * log_sd - 0.5 * square * exp(-2 * log_sd);
}

/* Other sds at the same theta, which is at another z by them. */
static void renew_sds(const walk_t *w, chain_t *c) {
  size_t dim = w->dim;
  copy(w, &c->at, &c->trial);
  for (size_t step = 0; step < N_STEPS * w->effects->n; step++) {
    size_t t = step % w->effects->n;
    const tacit_level_effects_t *f = &w->effects->factors[t];
    double square = spread(f, c->theta), now = c->trial.log_sds[t];
    double next = now + farthest * pow(0.05, tacit_rng_uniform(c->rng)) * tacit_rng_normal(c->rng);
    double level = log(tacit_rng_uniform(c->rng));
    if (log_density_given(f, square, next) - log_density_given(f, square, now) > level) {
      c->trial.log_sds[t] = next;
    }
  }
  if (!scale(w, &c->trial)) {
    return;
  }
  copy(w, &c->trial, &c->at);
  for (size_t i = 0; i < dim; i++) { /* z = L' (theta - m) */
    c->z[i] = 0;
    for (size_t k = i; k < dim; k++) {
      c->z[i] += c->at.factor[k * dim + i] * (c->theta[k] - c->at.mean[k]);
    }
  }
}

/* An elliptical slice in z; the number of points looked at. */
static size_t slice(const walk_t *w, chain_t *c) {
  size_t dim = w->dim, n_looks = 0;
  double level = c->excess + log(tacit_rng_uniform(c->rng)), *draw = w->draw, *z = w->draw + dim;
  for (size_t i = 0; i < dim; i++) {
    draw[i] = tacit_rng_normal(c->rng);
  }
  double angle = two_pi * tacit_rng_uniform(c->rng), low = angle - two_pi, high = angle;
  for (bool is_found = false; !is_found && n_looks < MAX_LOOKS; n_looks++) {
    double value;
    for (size_t i = 0; i < dim; i++) {
      z[i] = cos(angle) * c->z[i] + sin(angle) * draw[i];
    }
    double excess = look(w, &c->at, z, &value);
    is_found = excess > level;
    if (is_found) {
      memcpy(c->z, z, dim * sizeof *z);
      take(w, c, value, excess);
    }
    *(angle < 0 ? &low : &high) = angle;
    angle = low + (high - low) * tacit_rng_uniform(c->rng);
  }
  return n_looks;
}

/* ---- a walk ---- */

/* q <- less what the prior of coefficient i was at the start. */
static void take_prior(walk_t *w, size_t i) {
  tacit_prior_view_t view;
  if (tacit_parameters_prior(w->start->parameters, i, &view)) {
    double prior = tacit_prior_precision(&view.prior, w->start->mean[i]);
    prior = fmin(prior, 0.9 / w->start->cov[i * w->dim + i]);
    w->precision[i * w->dim + i] -= prior;
    w->linear[i] -= prior * view.prior.location;
  }
}

/* Has a factor before it effects of the same slope? */
static bool is_known(const walk_t *w, size_t t) {
  for (size_t k = 0; k < t; k++) {
    if (w->effects->factors[k].main == w->effects->factors[t].main) {
      return true;
    }
  }
  return false;
}

/* q from the mean and covariance of the start, less the priors that are flat from here on. */
static tacit_status_t approximate(walk_t *w, tacit_error_t *err) {
  size_t dim = w->dim;
  double *factor = w->chains[0].at.factor, *inverse = w->work + dim;
  memcpy(factor, w->start->cov, dim * dim * sizeof *factor);
  if (!tacit_cholesky(dim, factor)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "prior",
                           "the posterior given the releases has no density: give every coefficient a proper "
                           "prior");
  }
  tacit_invert_lower(dim, factor, inverse);
  memset(w->precision, 0, dim * dim * sizeof *w->precision);
  for (size_t k = 0; k < dim; k++) {
    for (size_t a = 0; a < dim * dim; a++) {
      w->precision[a] += inverse[k * dim + a / dim] * inverse[k * dim + a % dim];
    }
  }
  for (size_t i = 0; i < dim; i++) {
    w->linear[i] = tacit_dot(dim, w->precision + i * dim, w->start->mean);
  }
  for (size_t t = 0; t < w->effects->n; t++) {
    tacit_level_effects_t f = w->effects->factors[t];
    for (size_t i = f.first; i < f.first + f.n_levels - 1; i++) {
      take_prior(w, i);
    }
    if (f.main > 0 && !is_known(w, t)) {
      take_prior(w, f.main);
    }
  }
  return TACIT_OK;
}

/* Sds as the coefficients' spread has them, for each chain others around that. */
static tacit_status_t begin(const walk_t *w, chain_t *c, size_t index, tacit_error_t *err) {
  tacit_status_t status = tacit_rng_new(&c->rng, w->start->settings->key, first_stream + index, err);
  bool is_found = false;
  for (int i = 0; i < MAX_LOOKS && status == TACIT_OK && !is_found; i++) {
    for (size_t t = 0; t < w->effects->n; t++) {
      tacit_level_effects_t f = w->effects->factors[t];
      double square = spread(&f, w->start->mean) / (double)f.n_levels;
      c->at.log_sds[t] = 0.5 * log(fmax(square, 1e-3)) + tacit_rng_normal(c->rng);
    }
    for (size_t k = 0; k < w->dim; k++) {
      c->z[k] = tacit_rng_normal(c->rng) * pow(0.8, i);
    }
    is_found = scale(w, &c->at);
    c->excess = is_found ? look(w, &c->at, c->z, &c->value) : -INFINITY;
    is_found = isfinite(c->excess);
  }
  if (status == TACIT_OK && !is_found) {
    status = tacit_error_set(err, TACIT_ERR_NUMERIC, "prior", "no point has a density of effects");
  }
  if (status == TACIT_OK) {
    take(w, c, c->value, c->excess);
  }
  return status;
}

/* The effects of all levels: r_1 is drawn given the contrasts. */
static void report(const walk_t *w, chain_t *c, double *row) {
  double *theta = w->look, *level = w->levels, *level_of = theta + w->effects->level_at;
  memcpy(theta, c->theta, w->dim * sizeof *theta);
  for (size_t t = 0; t < w->effects->n; t++) {
    tacit_level_effects_t f = w->effects->factors[t];
    double sum = 0, n = (double)f.n_levels, sd = w->sds[t] = exp(c->at.log_sds[t]), unit = unit_of(&f);
    for (size_t k = f.first; k < f.first + f.n_levels - 1; k++) {
      sum += unit * theta[k];
      *level_of -= f.main > 0 ? 0 : w->effects->level_sign * theta[k]; /* its feature is -1 at the first */
    }
    double first = -sum / n + sd / sqrt(n) * tacit_rng_normal(c->rng);
    *(f.main > 0 ? &theta[f.main] : level_of) -= (f.main > 0 ? 1 : w->effects->level_sign) * first;
    *level++ = first;
    for (size_t k = f.first; k < f.first + f.n_levels - 1; k++) {
      *level++ = first + unit * theta[k];
    }
  }
  w->effects->report(w->effects->user, theta, w->sds, w->levels, row);
}

static double iterate(const walk_t *w, size_t index, size_t row, bool is_kept, tacit_draws_t *draws) {
  chain_t *c = &w->chains[index];
  bool is_accepted = move_sds(w, c);
  size_t n_looks = 1, n_slices = 1 + w->dim / coordinates_per_slice;
  for (size_t i = 0; i < n_slices; i++) {
    n_looks += slice(w, c);
  }
  renew_sds(w, c);
  if (is_kept) {
    report(w, c, tacit_draws_row(draws, index, row));
    draws->stats[index * (draws->n_warmup + draws->n_draws) + row] = (tacit_draw_stats_t){
        .accept_stat = is_accepted,
        .n_leapfrog = (double)n_looks,
        .log_prior = w->start->parameters->log_prior(w->start->parameters->ctx, c->theta, NULL)};
  }
  return is_accepted;
}

/* All chains side by side, so that what is done when somebody interrupts is the same of each. */
static void run_effects(const walk_t *w, tacit_draws_t *draws) {
  const tacit_noise_aware_settings_t *settings = w->start->settings;
  size_t thin = settings->thin, n_iterations = draws->n_warmup + draws->n_draws * thin;
  double accepted = 0;
  bool goes_on = true;
  for (size_t i = 0; i < n_iterations && goes_on; i++) {
    bool is_kept = i < draws->n_warmup || (i + 1 - draws->n_warmup) % thin == 0;
    size_t n_rows = tacit_aware_rows(draws, thin, i + 1);
    for (size_t c = 0; c < draws->n_chains; c++) {
      accepted += iterate(w, c, n_rows - 1, is_kept, draws) / (double)draws->n_chains;
    }
    draws->n_saved = n_rows;
    goes_on = tacit_aware_goes_on(settings, i + 1, accepted / (double)(i + 1));
  }
}

static tacit_status_t open_walk(walk_t *w, size_t n_chains, tacit_error_t *err) {
  size_t dim = w->dim, n_levels = 0, a_chain = 2 * (dim * dim + dim) + 2 * dim;
  for (size_t t = 0; t < w->effects->n; t++) {
    n_levels += w->effects->factors[t].n_levels;
  }
  w->chains = tacit_alloc_zero(n_chains, sizeof *w->chains);
  w->memory = tacit_alloc_zero(2 * dim * dim + 5 * dim + w->effects->n + n_levels + n_chains * a_chain,
                               sizeof *w->memory);
  if (w->chains == NULL || w->memory == NULL) {
    return tacit_error_memory(err);
  }
  w->precision = w->memory;
  w->linear = w->precision + dim * dim;
  w->draw = w->linear + dim;
  w->look = w->draw + 2 * dim;
  w->work = w->look + dim;
  w->sds = w->work + dim + dim * dim;
  w->levels = w->sds + w->effects->n;
  double *from = w->levels + n_levels;
  for (size_t c = 0; c < n_chains; c++, from += a_chain) {
    w->chains[c].at = (scaled_t){.factor = from, .mean = from + dim * dim};
    w->chains[c].trial = (scaled_t){.factor = from + dim * dim + dim, .mean = from + 2 * dim * dim + dim};
    w->chains[c].z = from + 2 * (dim * dim + dim);
    w->chains[c].theta = w->chains[c].z + dim;
  }
  return TACIT_OK;
}

/* drawn <- effects; the walk's memory is made and freed here. */
static tacit_status_t walk_effects(walk_t *w, tacit_draws_t *drawn, tacit_error_t *err) {
  tacit_status_t status = open_walk(w, drawn->n_chains, err);
  TACIT_THEN(status, approximate(w, err));
  if (status == TACIT_OK) {
    w->effects->begin(w->effects->user);
  }
  for (size_t c = 0; c < drawn->n_chains && status == TACIT_OK; c++) {
    status = begin(w, &w->chains[c], c, err);
  }
  if (status == TACIT_OK) {
    run_effects(w, drawn);
  }
  for (size_t c = 0; w->chains != NULL && c < drawn->n_chains; c++) {
    tacit_rng_free(w->chains[c].rng);
  }
  tacit_free(w->chains);
  tacit_free(w->memory);
  return status;
}

tacit_status_t tacit_effects_walk(const tacit_effects_start_t *start, tacit_draws_t *draws,
                                  tacit_error_t *err) {
  const tacit_noise_aware_effects_t *effects = start->settings->effects;
  walk_t w = {.start = start, .effects = effects, .dim = start->dim};
  tacit_draws_t drawn = {0};
  bool is_whole = draws->n_saved == draws->n_warmup + draws->n_draws;
  tacit_status_t status =
      tacit_draws_init(&drawn, draws->n_chains, draws->n_warmup, draws->n_draws, effects->n_reported, err);
  if (is_whole) { /* else somebody stopped the walk before, and its mean and covariance are of nothing */
    TACIT_THEN(status, walk_effects(&w, &drawn, err));
  }
  tacit_draws_clear(draws);
  *draws = drawn;
  return status;
}
