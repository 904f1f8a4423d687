/*
 * Records of a program, each drawn along: theta and x_1 .. x_n. A record is proposed from f(. | theta) and accepted by the noise's ratio
 * [Ju2022, algorithm 1]; theta is moved with the records fixed and, by slices, with their base numbers fixed, which carries the records along
 * [YuMeng2011]. The one mixes where the noise is narrow, the other where it is wide or says nothing about some direction of theta.
 */
#include <string.h>

#include "augment/population_internal.h"

enum { LANES = TACIT_POPULATION_LANES, MOST_SLICES = 3, N_PILOT = 1024 };

struct tacit_latent {
  tacit_population_room_t *room;
  size_t n, block;   /* records; numbers of a block of sixteen */
  double *x, *base;  /* (n / 16 rounded up, n_columns, 16) */
  double *trial_x, *trial_base, *uniforms, *marks, *trial_marks, *grad;
  double *sums, *log_lik;      /* (n_values): of a trial; of each published value at the chain's sums */
  double *start, *direction;   /* (dim): of a slice */
  double floor;                /* a density below it is as good as none */
  tacit_entry_t *entries, *trial_entries;
  size_t n_used;               /* records that a density looks at, which stand for all */
  bool is_beyond, is_misplaced, is_not_one; /* what a run ends with */
};

/* ---- memory ---- */

tacit_status_t tacit_latent_new(tacit_population_chain_t *c, tacit_error_t *err) {
  const tacit_cells_t *shape = &c->run->cells;
  size_t dim = tacit_population_n_parameters(c->run->population), n_columns, n_marks = tacit_population_n_marks(c->run->population);
  tacit_latent_t *l = c->latent = tacit_alloc_zero(1, sizeof *l);
  if (l == NULL) {
    return tacit_error_memory(err);
  }
  (void)tacit_population_columns(c->run->population, &n_columns);
  l->n = (size_t)c->run->n_records;
  l->block = n_columns * LANES;
  size_t n_numbers = (l->n + LANES - 1) / LANES * l->block;
  double **arrays[] = {&l->x, &l->base, &l->trial_x, &l->trial_base, &l->uniforms, &l->marks, &l->trial_marks, &l->grad, &l->sums, &l->log_lik, &l->start, &l->direction};
  size_t sizes[] = {n_numbers, n_numbers, l->block, l->block, l->block, n_marks * LANES, n_marks * LANES, dim * LANES, shape->n_values, shape->n_values, dim, dim};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  l->entries = tacit_alloc_zero(shape->n_entries, sizeof *l->entries);
  l->trial_entries = tacit_alloc_zero(shape->n_entries, sizeof *l->trial_entries);
  return l->entries != NULL && l->trial_entries != NULL ? tacit_population_room_new(&l->room, c->run->population, err) : tacit_error_memory(err);
}

void tacit_latent_free(tacit_latent_t *l) {
  if (l != NULL) {
    double *arrays[] = {l->x, l->base, l->trial_x, l->trial_base, l->uniforms, l->marks, l->trial_marks, l->grad, l->sums, l->log_lik, l->start, l->direction};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
      tacit_free(arrays[i]);
    }
    tacit_free(l->entries);
    tacit_free(l->trial_entries);
    tacit_population_room_free(l->room);
    tacit_free(l);
  }
}

tacit_population_room_t *tacit_latent_room(const tacit_latent_t *latent) { return latent->room; }

/* ---- what a record adds ---- */

/* Records in block b, of n. */
static size_t n_lanes(size_t n, size_t b) { return n - b * LANES < LANES ? n - b * LANES : LANES; }

/* Entries of a record, by its marks; false where they are no values of the statistics. */
static bool find_entries(const tacit_population_chain_t *c, const double *marks, size_t lane, tacit_entry_t *entries) {
  size_t n, e = 0;
  double value = 0;
  bool ok = true;
  const tacit_population_statistic_t *s = tacit_population_statistics(c->run->population, &n);
  for (size_t i = 0; i < n; i++) {
    if (c->run->published[i].n_values == 0) {
      continue;
    }
    double place = 0;
    for (size_t k = 0; k < s[i].n_marks; k++) {
      double mark = marks[(s[i].first_mark + k) * LANES + lane], level = s[i].is_count ? mark - s[i].first[k] : 0;
      ok = ok && isfinite(mark) && level >= 0 && (!s[i].is_count || level < (double)s[i].extents[k]);
      if (s[i].is_count) {
        place = place * (double)s[i].extents[k] + level;
      } else {
        entries[e++] = (tacit_entry_t){.value = (uint32_t)(value + (double)k), .weight = mark};
      }
    }
    if (s[i].is_count) {
      entries[e++] = (tacit_entry_t){.value = ok ? (uint32_t)(value + place) : 0, .weight = 1};
    }
    value += (double)s[i].n_values;
  }
  return ok;
}

static double log_lik_of(const tacit_population_run_t *run, size_t value, double sum) {
  return tacit_noise_law_log_lik(&run->laws[run->law_of[value]], run->values[value], sum);
}

/* sums <- those of sixteen records more. */
static bool add_block(tacit_population_chain_t *c, const double *x, size_t lanes, double *sums) {
  tacit_latent_t *l = c->latent;
  tacit_population_marks(l->room, x, l->marks);
  for (size_t lane = 0; lane < lanes; lane++) {
    if (!find_entries(c, l->marks, lane, l->entries)) {
      return false;
    }
    for (size_t e = 0; e < c->run->cells.n_entries; e++) {
      sums[l->entries[e].value] += l->entries[e].weight;
    }
  }
  return true;
}

/* Likelihoods of what was published, at the sums. */
static double set_log_lik(const tacit_population_run_t *run, const double *sums, double factor, double *log_lik) {
  double total = 0;
  for (size_t v = 0; v < run->cells.n_values; v++) {
    double at = log_lik_of(run, v, factor * sums[v]);
    total += at;
    if (log_lik != NULL) {
      log_lik[v] = at;
    }
  }
  return total;
}

/* ---- records given theta ---- */

static void draw_base(tacit_population_chain_t *c, double *base) {
  for (size_t at = 0; at < c->latent->block; at += LANES) {
    bool is_normal = tacit_population_base_is_normal(c->run->population, at / LANES);
    (is_normal ? tacit_rng_normals : tacit_rng_uniforms)(c->rng, LANES, base + at);
  }
}

static double log_ratio_of(const tacit_population_chain_t *c, const tacit_entry_t *before, const tacit_entry_t *after) {
  const tacit_latent_t *l = c->latent;
  double ratio = 0;
  for (size_t e = 0; e < c->run->cells.n_entries; e++) {
    size_t a = before[e].value, b = after[e].value;
    if (a != b) {
      ratio += log_lik_of(c->run, a, c->sums[a] - before[e].weight) - l->log_lik[a] + log_lik_of(c->run, b, c->sums[b] + after[e].weight) - l->log_lik[b];
    } else if (fabs(after[e].weight - before[e].weight) > 0) {
      ratio += log_lik_of(c->run, a, c->sums[a] + (after[e].weight - before[e].weight)) - l->log_lik[a];
    }
  }
  return ratio;
}

static void replace(tacit_population_chain_t *c, const tacit_entry_t *before, const tacit_entry_t *after) {
  for (size_t e = 0; e < c->run->cells.n_entries; e++) {
    size_t a = before[e].value, b = after[e].value;
    c->sums[a] -= before[e].weight;
    c->sums[b] += after[e].weight;
    c->latent->log_lik[a] = log_lik_of(c->run, a, c->sums[a]);
    c->latent->log_lik[b] = log_lik_of(c->run, b, c->sums[b]);
  }
}

static void sweep_block(tacit_population_chain_t *c, size_t b) {
  tacit_latent_t *l = c->latent;
  double *x = l->x + b * l->block;
  draw_base(c, l->trial_base);
  l->is_beyond = !tacit_population_make(l->room, c->walk.theta, l->trial_base, l->trial_x) || l->is_beyond;
  tacit_population_marks(l->room, x, l->marks);
  tacit_population_marks(l->room, l->trial_x, l->trial_marks);
  size_t lanes = n_lanes(l->n, b);
  for (size_t lane = 0; lane < lanes && !l->is_beyond; lane++) {
    if (!find_entries(c, l->marks, lane, l->entries) || !find_entries(c, l->trial_marks, lane, l->trial_entries)) {
      l->is_misplaced = true;
      return;
    }
    double log_ratio = log_ratio_of(c, l->entries, l->trial_entries);
    c->n_proposed++;
    c->min_log_ratio = fmin(c->min_log_ratio, log_ratio);
    if (!tacit_accepts(log_ratio, tacit_rng_uniform(c->rng))) {
      continue;
    }
    c->n_accepted++;
    replace(c, l->entries, l->trial_entries);
    for (size_t at = lane; at < l->block; at += LANES) {
      x[at] = l->trial_x[at];
    }
  }
  for (size_t at = 0; at < l->block; at++) { /* lanes that are no records follow the first, so that they are nowhere else */
    x[at] = at % LANES < lanes ? x[at] : x[at / LANES * LANES];
  }
}

/* Sums afresh, since differences round; false: some record has no place. */
static bool refresh(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  memset(c->sums, 0, c->run->cells.n_values * sizeof *c->sums);
  for (size_t b = 0; b * LANES < l->n; b++) {
    if (!add_block(c, l->x + b * l->block, n_lanes(l->n, b), c->sums)) {
      return false;
    }
  }
  (void)set_log_lik(c->run, c->sums, 1, l->log_lik);
  return true;
}

/* ---- theta with base numbers fixed ---- */

/* What the likelihood cannot be above: weights of whole numbers, whose largest is 1, add up to less than 3 scale + 1. */
static double most_log_lik(const tacit_population_run_t *run) {
  double most = 0;
  for (size_t v = 0; v < run->cells.n_values; v++) {
    most += log1p(3 * run->laws[run->law_of[v]].as.scale);
  }
  return most;
}

/* Log density at start + t direction, where the records that are used stand for all. */
static double carried_density(void *user, double t) {
  tacit_population_chain_t *c = user;
  tacit_latent_t *l = c->latent;
  double *theta = c->walk.trial;
  for (size_t j = 0; j < c->walk.dim; j++) {
    theta[j] = l->start[j] + t * l->direction[j];
  }
  double log_prior = tacit_population_log_prior(l->room, theta, NULL);
  if (!isfinite(log_prior) || log_prior + most_log_lik(c->run) < l->floor) { /* records of such parameters may be large, and slow to come by */
    return -INFINITY;
  }
  memset(l->sums, 0, c->run->cells.n_values * sizeof *l->sums);
  for (size_t b = 0; b * LANES < l->n_used; b++) {
    if (!tacit_population_make(l->room, theta, l->base + b * l->block, l->trial_x) || !add_block(c, l->trial_x, n_lanes(l->n_used, b), l->sums)) {
      return -INFINITY;
    }
  }
  return log_prior + set_log_lik(c->run, l->sums, (double)l->n / (double)l->n_used, NULL);
}

/* One slice along a direction that is drawn by `spread`, lower, or the identity. One in four is wide, to cross plateaus. */
static void slice(tacit_population_chain_t *c, const double *spread) {
  tacit_latent_t *l = c->latent;
  size_t dim = c->walk.dim;
  memset(l->direction, 0, dim * sizeof *l->direction);
  memcpy(l->start, c->walk.theta, dim * sizeof *l->start);
  for (size_t j = 0; j < dim; j++) {
    double z = tacit_rng_normal(c->rng);
    for (size_t i = j; i < dim; i++) {
      l->direction[i] += spread != NULL ? spread[i * dim + j] * z : i == j ? z : 0;
    }
  }
  l->floor = -INFINITY;
  double width = tacit_rng_uniform(c->rng) < 0.25 ? 16 : 2, log_at = carried_density(c, 0);
  l->floor = log_at - 50; /* below every level of a slice: uniform numbers are multiples of 2^-53 */
  double t = tacit_slice(carried_density, c, 0, &log_at, width, c->rng);
  for (size_t j = 0; j < dim; j++) {
    c->walk.theta[j] = l->start[j] + t * l->direction[j];
  }
}

/* Base numbers of the records at theta; records of base numbers at theta. */
static bool to_base(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  bool ok = true;
  for (size_t b = 0; b * LANES < l->n; b++) {
    tacit_rng_uniforms(c->rng, l->block, l->uniforms);
    ok = tacit_population_unmake(l->room, c->walk.theta, l->x + b * l->block, l->uniforms, l->base + b * l->block) && ok;
  }
  return ok;
}

static bool of_base(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  bool ok = true;
  for (size_t b = 0; b * LANES < l->n; b++) {
    ok = tacit_population_make(l->room, c->walk.theta, l->base + b * l->block, l->x + b * l->block) && ok;
  }
  return ok;
}

/* ---- theta with records fixed ---- */

double tacit_latent_density(void *user, const double *theta, double *grad) {
  tacit_population_chain_t *c = user;
  tacit_latent_t *l = c->latent;
  double log_lik[LANES], value = tacit_population_log_prior(l->room, theta, grad);
  for (size_t b = 0; b * LANES < l->n && isfinite(value); b++) {
    tacit_population_log_lik(l->room, theta, l->x + b * l->block, log_lik, l->grad);
    for (size_t lane = 0; lane < n_lanes(l->n, b); lane++) {
      value += log_lik[lane];
    }
    for (size_t j = 0; j < c->walk.dim; j++) {
      for (size_t lane = 0; lane < n_lanes(l->n, b); lane++) {
        grad[j] += l->grad[j * LANES + lane];
      }
    }
  }
  bool ok = isfinite(value);
  for (size_t j = 0; j < c->walk.dim; j++) {
    ok = ok && isfinite(grad[j]);
  }
  return ok ? value : -INFINITY;
}

/* ---- a chain ---- */

/* theta near what agrees with what was published, by slices over some of the records. */
static bool find_start(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  size_t dim = c->walk.dim;
  double best = -INFINITY, *found = c->walk.mean;
  l->floor = -INFINITY;
  l->n_used = l->n < N_PILOT ? l->n : N_PILOT;
  memset(l->direction, 0, dim * sizeof *l->direction);
  for (int i = 0; i < 60; i++) {
    for (size_t j = 0; j < dim; j++) {
      l->start[j] = 4 * tacit_rng_uniform(c->rng) - 2;
    }
    double value = carried_density(c, 0);
    if (value > best) {
      best = value;
      memcpy(found, l->start, dim * sizeof *found);
    }
  }
  memcpy(c->walk.theta, found, dim * sizeof *found);
  memset(found, 0, dim * sizeof *found);
  for (size_t i = 0; i < 40 * dim && best > -INFINITY; i++) {
    slice(c, NULL);
  }
  l->n_used = l->n;
  return best > -INFINITY;
}

static tacit_status_t refuse(tacit_population_chain_t *c) {
  return tacit_error_set(&c->err, TACIT_ERR_ARGUMENT, "model", "%s",
                         c->latent->is_misplaced ? "a statistic of a record is no finite number, or beyond what its ints are declared to be: clamp it, fmin(fmax(x, 0), 10)"
                         : c->latent->is_not_one ? "the probabilities of a whole number of the record do not add up to 1 over the values that it is declared to have"
         : c->latent->is_beyond ? "a record's number came out beyond its declared bounds: bounds inside its range need a truncation, T[a, b]"
                                                : "no parameters were found that agree with what was published: is a cell filled that the model cannot reach?");
}

tacit_status_t tacit_latent_begin(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  for (size_t b = 0; b * LANES < l->n; b++) {
    draw_base(c, l->base + b * l->block);
  }
  if (!find_start(c) || !of_base(c) || !refresh(c)) {
    return refuse(c);
  }
  tacit_trajectory_start_at(&c->walk);
  return TACIT_OK;
}

tacit_status_t tacit_latent_step(tacit_population_chain_t *c, double *accept) {
  tacit_latent_t *l = c->latent;
  size_t n_slices = c->walk.dim < MOST_SLICES ? c->walk.dim : MOST_SLICES;
  bool ok = refresh(c);
  for (size_t b = 0; b * LANES < l->n && ok; b++) {
    sweep_block(c, b);
  }
  ok = ok && !l->is_beyond && !l->is_misplaced;
  if (ok && c->run->settings->interweave) {
    ok = to_base(c);
    l->is_not_one = !ok;
    for (size_t i = 0; i < n_slices && ok; i++) {
      slice(c, c->walk.spread);
    }
    ok = ok && of_base(c);
  }
  if (!ok) {
    return refuse(c);
  }
  tacit_trajectory_refresh(&c->walk);
  *accept = tacit_trajectory_step(&c->walk, c->rng);
  return TACIT_OK;
}
