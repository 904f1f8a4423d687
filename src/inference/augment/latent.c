/*
 * Records of a program, each drawn along: theta and x_1 .. x_n. A record is proposed from f(. | theta) and
 * accepted by the noise's ratio [Ju2022, algorithm 1]; theta is moved with the records fixed and, by slices,
 * with their base numbers fixed, which carries the records along [YuMeng2011]. The one mixes where the noise
 * is narrow, the other where it is wide or says nothing about some direction of theta.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"

enum { LANES = TACIT_POPULATION_LANES, MOST_SLICES = 3, N_PILOT_BLOCKS = 64 };

/* Sixteen records or fewer, of one group. `factor`: how many each of them stands for where a density looks at
 * the pilots alone, else 0. */
typedef struct block {
  uint32_t group, lanes;
  double factor;
} block_t;

struct tacit_latent {
  tacit_population_workspace_t *workspace;
  block_t *blocks;
  size_t n_blocks, block; /* numbers of a block of sixteen */
  double *x, *base;       /* (n_blocks, n_columns, 16) */
  double *trial_x, *trial_base, *uniforms, *marks, *trial_marks, *grad;
  double *sums, *log_lik;    /* (n_values): of a trial; of each published value at the chain's sums */
  double *start, *direction; /* (dim): of a slice */
  double floor;              /* a density below it is as good as none */
  tacit_entry_t *entries, *trial_entries;
  bool is_pilot;                            /* a density looks at some records, which stand for all */
  bool is_beyond, is_misplaced, is_not_one; /* what a run ends with */
};

/* ---- memory ---- */

static tacit_status_t make_blocks(tacit_population_chain_t *c, tacit_error_t *err) {
  const tacit_population_run_t *run = c->run;
  tacit_latent_t *l = c->latent;
  for (size_t g = 0; g < run->n_groups; g++) {
    l->n_blocks += (run->groups[g].as->n_records + LANES - 1) / LANES;
  }
  l->blocks = tacit_alloc_zero(l->n_blocks, sizeof *l->blocks);
  if (l->blocks == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t g = 0, b = 0; g < run->n_groups; g++) {
    size_t n = run->groups[g].as->n_records, most = (size_t)N_PILOT_BLOCKS * LANES,
           pilots = n < most ? n : most;
    for (size_t done = 0; done < n; done += LANES, b++) {
      l->blocks[b] = (block_t){.group = (uint32_t)g,
                               .lanes = (uint32_t)(n - done < LANES ? n - done : LANES),
                               .factor = done < pilots ? (double)n / (double)pilots : 0};
    }
  }
  return TACIT_OK;
}

static size_t most_entries(const tacit_population_run_t *run) {
  size_t most = 0;
  for (size_t g = 0; g < run->n_groups; g++) {
    most = run->groups[g].n_entries > most ? run->groups[g].n_entries : most;
  }
  return most;
}

tacit_status_t tacit_latent_new(tacit_population_chain_t *c, tacit_error_t *err) {
  size_t n_sums = c->run->n_sums, n_entries = most_entries(c->run);
  size_t dim = tacit_population_n_parameters(c->run->population), n_columns,
         n_marks = tacit_population_n_marks(c->run->population);
  tacit_latent_t *l = c->latent = tacit_alloc_zero(1, sizeof *l);
  if (l == NULL) {
    return tacit_error_memory(err);
  }
  (void)tacit_population_columns(c->run->population, &n_columns);
  l->block = n_columns * LANES;
  tacit_status_t status = make_blocks(c, err);
  if (status != TACIT_OK) {
    return status;
  }
  size_t n_numbers = l->n_blocks * l->block;
  double **arrays[] = {&l->x,           &l->base, &l->trial_x, &l->trial_base, &l->uniforms, &l->marks,
                       &l->trial_marks, &l->grad, &l->sums,    &l->log_lik,    &l->start,    &l->direction};
  size_t sizes[] = {n_numbers,       n_numbers,   l->block, l->block, l->block, n_marks * LANES,
                    n_marks * LANES, dim * LANES, n_sums,   n_sums,   dim,      dim};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  l->entries = tacit_alloc_zero(n_entries, sizeof *l->entries);
  l->trial_entries = tacit_alloc_zero(n_entries, sizeof *l->trial_entries);
  return l->entries != NULL && l->trial_entries != NULL
             ? tacit_population_workspace_new(&l->workspace, c->run->population, err)
             : tacit_error_memory(err);
}

void tacit_latent_free(tacit_latent_t *l) {
  if (l != NULL) {
    double *arrays[] = {l->x,           l->base, l->trial_x, l->trial_base, l->uniforms, l->marks,
                        l->trial_marks, l->grad, l->sums,    l->log_lik,    l->start,    l->direction};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
      tacit_free(arrays[i]);
    }
    tacit_free(l->blocks);
    tacit_free(l->entries);
    tacit_free(l->trial_entries);
    tacit_population_workspace_free(l->workspace);
    tacit_free(l);
  }
}

tacit_population_workspace_t *tacit_latent_workspace(const tacit_latent_t *latent) {
  return latent->workspace;
}

/* ---- what a record adds ---- */

/* Entries of a record of a group, by its marks; false where they are no values of the statistics. */
static bool find_entries(const tacit_population_group_t *group, const double *marks, size_t lane,
                         tacit_entry_t *entries) {
  size_t e = 0;
  bool ok = true;
  for (size_t i = 0; i < group->n_seen; i++) {
    const tacit_population_statistic_t *s = group->seen[i].statistic;
    double place = 0;
    for (size_t k = 0; s != NULL && k < s->n_marks; k++) {
      double mark = marks[(s->first_mark + k) * LANES + lane], level = s->is_count ? mark - s->first[k] : 0;
      ok = ok && isfinite(mark) && level >= 0 && (!s->is_count || level < (double)s->extents[k]);
      if (s->is_count) {
        place = place * (double)s->extents[k] + level;
      } else {
        entries[e++] = (tacit_entry_t){.value = group->seen[i].first + (uint32_t)k, .weight = mark};
      }
    }
    if (s == NULL || s->is_count) {
      entries[e++] = (tacit_entry_t){.value = group->seen[i].first + (ok ? (uint32_t)place : 0), .weight = 1};
    }
  }
  return ok;
}

static const tacit_population_group_t *group_of(const tacit_population_chain_t *c, size_t b) {
  return &c->run->groups[c->latent->blocks[b].group];
}

/* sums <- those of the records of block b more, each `factor` times. */
static bool add_block(tacit_population_chain_t *c, size_t b, const double *x, double factor, double *sums) {
  tacit_latent_t *l = c->latent;
  const tacit_population_group_t *group = group_of(c, b);
  tacit_population_marks(l->workspace, x, l->marks);
  for (size_t lane = 0; lane < l->blocks[b].lanes; lane++) {
    if (!find_entries(group, l->marks, lane, l->entries)) {
      return false;
    }
    for (size_t e = 0; e < group->n_entries; e++) {
      sums[l->entries[e].value] += factor * l->entries[e].weight;
    }
  }
  return true;
}

static const tacit_change_t nothing = {.a = SIZE_MAX, .b = SIZE_MAX};

/* Likelihoods of what was published, at the sums; of a joint distribution at its first sum, and 0 at the
 * others. */
static double set_log_lik(const tacit_population_chain_t *c, const double *sums, double *log_lik) {
  double total = 0;
  for (size_t v = 0; v < c->run->n_sums; v++) {
    const tacit_released_t *r = tacit_released_at(c->run, v);
    double at = !r->distribution.is_joint ? tacit_released_log_lik(c->run, v, sums[v])
                : v == r->first           ? tacit_released_log_joint(c, r, sums, nothing)
                                          : 0;
    total += at;
    if (log_lik != NULL) {
      log_lik[v] = at;
    }
  }
  return total;
}

/* ---- records given theta ---- */

static void draw_base(tacit_population_chain_t *c, tacit_rng_t *rng, double *base) {
  for (size_t at = 0; at < c->latent->block; at += LANES) {
    bool is_normal = tacit_population_base_is_normal(c->run->population, at / LANES);
    (is_normal ? tacit_rng_normals : tacit_rng_uniforms)(rng, LANES, base + at);
  }
}

bool tacit_latent_draw(tacit_population_chain_t *c, size_t g, tacit_rng_t *rng, size_t n,
                       tacit_latent_take take, void *user) {
  tacit_latent_t *l = c->latent;
  const tacit_population_group_t *group = &c->run->groups[g];
  bool ok = true;
  for (size_t done = 0; done < n && ok; done += LANES) {
    draw_base(c, rng, l->trial_base);
    ok = tacit_population_make(l->workspace, c->walk->theta, l->trial_base, l->trial_x);
    tacit_population_marks(l->workspace, l->trial_x, l->trial_marks);
    for (size_t lane = 0; lane < (n - done < LANES ? n - done : LANES) && ok; lane++) {
      ok = find_entries(group, l->trial_marks, lane, l->trial_entries);
      if (ok) {
        take(user, l->trial_entries, group->n_entries);
      }
    }
  }
  return ok;
}

/* What a release's likelihood gains by a record's entry in place of another. */
static double log_gain(const tacit_population_chain_t *c, const tacit_entry_t *before,
                       const tacit_entry_t *after) {
  const tacit_latent_t *l = c->latent;
  size_t a = before->value, b = after->value;
  const tacit_released_t *r = tacit_released_at(c->run, a);
  if (a == b && !(fabs(after->weight - before->weight) > 0)) {
    return 0;
  }
  if (r->distribution.is_joint) {
    const tacit_change_t change = {
        .a = a - r->first, .b = b - r->first, .more_a = -before->weight, .more_b = after->weight};
    return tacit_released_log_joint(c, r, c->sums, change) - l->log_lik[r->first];
  }
  if (a == b) {
    return tacit_released_log_lik(c->run, a, c->sums[a] + (after->weight - before->weight)) - l->log_lik[a];
  }
  return tacit_released_log_lik(c->run, a, c->sums[a] - before->weight) - l->log_lik[a] +
         tacit_released_log_lik(c->run, b, c->sums[b] + after->weight) - l->log_lik[b];
}

static void replace(tacit_population_chain_t *c, size_t n_entries, const tacit_entry_t *before,
                    const tacit_entry_t *after) {
  double *log_lik = c->latent->log_lik;
  for (size_t e = 0; e < n_entries; e++) {
    size_t a = before[e].value, b = after[e].value;
    const tacit_released_t *r = tacit_released_at(c->run, a);
    c->sums[a] -= before[e].weight;
    c->sums[b] += after[e].weight;
    if (r->distribution.is_joint) {
      log_lik[r->first] = tacit_released_log_joint(c, r, c->sums, nothing);
    } else {
      log_lik[a] = tacit_released_log_lik(c->run, a, c->sums[a]);
      log_lik[b] = tacit_released_log_lik(c->run, b, c->sums[b]);
    }
  }
}

static void sweep_block(tacit_population_chain_t *c, size_t b) {
  tacit_latent_t *l = c->latent;
  const tacit_population_group_t *group = group_of(c, b);
  double *x = l->x + b * l->block;
  draw_base(c, c->rng, l->trial_base);
  l->is_beyond =
      !tacit_population_make(l->workspace, c->walk->theta, l->trial_base, l->trial_x) || l->is_beyond;
  tacit_population_marks(l->workspace, x, l->marks);
  tacit_population_marks(l->workspace, l->trial_x, l->trial_marks);
  size_t lanes = l->blocks[b].lanes;
  for (size_t lane = 0; lane < lanes && !l->is_beyond; lane++) {
    if (!find_entries(group, l->marks, lane, l->entries) ||
        !find_entries(group, l->trial_marks, lane, l->trial_entries)) {
      l->is_misplaced = true;
      return;
    }
    double log_ratio = 0;
    for (size_t e = 0; e < group->n_entries; e++) {
      log_ratio += log_gain(c, &l->entries[e], &l->trial_entries[e]);
    }
    c->outcome->n_proposed++;
    c->outcome->min_log_ratio = fmin(c->outcome->min_log_ratio, log_ratio);
    if (!tacit_accepts(log_ratio, tacit_rng_uniform(c->rng))) {
      continue;
    }
    c->outcome->n_accepted++;
    replace(c, group->n_entries, l->entries, l->trial_entries);
    for (size_t at = lane; at < l->block; at += LANES) {
      x[at] = l->trial_x[at];
    }
  }
  for (size_t at = 0; at < l->block;
       at++) { /* lanes that are no records follow the first, so that they are nowhere else */
    x[at] = at % LANES < lanes ? x[at] : x[at / LANES * LANES];
  }
}

/* Sums afresh, since differences round; false: some record has no place. */
static bool refresh(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  memset(c->sums, 0, c->run->n_sums * sizeof *c->sums);
  for (size_t b = 0; b < l->n_blocks; b++) {
    if (!add_block(c, b, l->x + b * l->block, 1, c->sums)) {
      return false;
    }
  }
  (void)set_log_lik(c, c->sums, l->log_lik);
  return true;
}

/* ---- theta with base numbers fixed ---- */

/*
 * What the likelihood cannot be above: weights of whole numbers, whose largest is 1, add up to less than 3
 * scale + 1, and integrals of weights to that.
 */
static double most_log_lik(const tacit_population_run_t *run) {
  double most = 0;
  for (size_t v = 0; v < run->n_sums; v++) {
    most += log1p(3 * tacit_released_at(run, v)->distribution.as.scale);
  }
  return most;
}

/* Log density at start + t direction, where the records that are used stand for all. */
static double carried_density(void *user, double t) {
  tacit_population_chain_t *c = user;
  tacit_latent_t *l = c->latent;
  double *theta = c->walk->trial;
  for (size_t j = 0; j < c->walk->dim; j++) {
    theta[j] = l->start[j] + t * l->direction[j];
  }
  double log_prior = tacit_population_log_prior(l->workspace, theta, NULL);
  if (!isfinite(log_prior) ||
      log_prior + most_log_lik(c->run) <
          l->floor) { /* records of such parameters may be large, and slow to come by */
    return -INFINITY;
  }
  memset(l->sums, 0, c->run->n_sums * sizeof *l->sums);
  for (size_t b = 0; b < l->n_blocks; b++) {
    double factor = l->is_pilot ? l->blocks[b].factor : 1;
    if (factor > 0 && (!tacit_population_make(l->workspace, theta, l->base + b * l->block, l->trial_x) ||
                       !add_block(c, b, l->trial_x, factor, l->sums))) {
      return -INFINITY;
    }
  }
  return log_prior + set_log_lik(c, l->sums, NULL);
}

/* One slice along a direction that is drawn by `spread`, lower, or the identity. One in four is wide, to
 * cross plateaus. */
static void slice(tacit_population_chain_t *c, const double *spread) {
  tacit_latent_t *l = c->latent;
  size_t dim = c->walk->dim;
  memset(l->direction, 0, dim * sizeof *l->direction);
  memcpy(l->start, c->walk->theta, dim * sizeof *l->start);
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
    c->walk->theta[j] = l->start[j] + t * l->direction[j];
  }
}

/* Base numbers of the records at theta; records of base numbers at theta. */
static bool to_base(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  bool ok = true;
  for (size_t b = 0; b < l->n_blocks; b++) {
    tacit_rng_uniforms(c->rng, l->block, l->uniforms);
    ok = tacit_population_unmake(l->workspace, c->walk->theta, l->x + b * l->block, l->uniforms,
                                 l->base + b * l->block) &&
         ok;
  }
  return ok;
}

static bool of_base(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  bool ok = true;
  for (size_t b = 0; b < l->n_blocks; b++) {
    ok = tacit_population_make(l->workspace, c->walk->theta, l->base + b * l->block, l->x + b * l->block) &&
         ok;
  }
  return ok;
}

/* ---- theta with records fixed ---- */

double tacit_latent_density(void *user, const double *theta, double *grad) {
  tacit_population_chain_t *c = user;
  tacit_latent_t *l = c->latent;
  double log_lik[LANES], value = tacit_population_log_prior(l->workspace, theta, grad);
  for (size_t b = 0; b < l->n_blocks && isfinite(value); b++) {
    tacit_population_log_lik(l->workspace, theta, l->x + b * l->block, log_lik, l->grad);
    for (size_t lane = 0; lane < l->blocks[b].lanes; lane++) {
      value += log_lik[lane];
    }
    for (size_t j = 0; j < c->walk->dim; j++) {
      for (size_t lane = 0; lane < l->blocks[b].lanes; lane++) {
        grad[j] += l->grad[j * LANES + lane];
      }
    }
  }
  bool ok = isfinite(value);
  for (size_t j = 0; j < c->walk->dim; j++) {
    ok = ok && isfinite(grad[j]);
  }
  return ok ? value : -INFINITY;
}

/* ---- a chain ---- */

/* theta near what agrees with what was published, by slices over some of the records. */
static bool find_start(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  size_t dim = c->walk->dim;
  double best = -INFINITY, *found = c->walk->mean;
  l->floor = -INFINITY;
  l->is_pilot = true;
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
  memcpy(c->walk->theta, found, dim * sizeof *found);
  memset(found, 0, dim * sizeof *found);
  for (size_t i = 0; i < 40 * dim && best > -INFINITY; i++) {
    slice(c, NULL);
  }
  l->is_pilot = false;
  return best > -INFINITY;
}

static tacit_status_t refuse_latent(tacit_population_chain_t *c) {
  return tacit_error_set(&c->outcome->err, TACIT_ERR_ARGUMENT, "model", "%s",
                         c->latent->is_misplaced
                             ? "a statistic of a record is no finite number, or beyond what its ints are "
                               "declared to be: clamp it, fmin(fmax(x, 0), 10)"
                         : c->latent->is_not_one ? "the probabilities of a whole number of the record do not "
                                                   "add up to 1 over the values that it is declared to have"
                         : c->latent->is_beyond  ? "a record's number came out beyond its declared bounds: "
                                                   "bounds inside its range need a truncation, T[a, b]"
                                                 : "no parameters were found that agree with what was "
                                                   "published: is a cell filled that the model cannot reach?");
}

tacit_status_t tacit_latent_begin(tacit_population_chain_t *c) {
  tacit_latent_t *l = c->latent;
  for (size_t b = 0; b < l->n_blocks; b++) {
    draw_base(c, c->rng, l->base + b * l->block);
  }
  if (!find_start(c) || !of_base(c) || !refresh(c)) {
    return refuse_latent(c);
  }
  tacit_trajectory_start_at(c->walk);
  return TACIT_OK;
}

tacit_status_t tacit_latent_step(tacit_population_chain_t *c, double *accept) {
  tacit_latent_t *l = c->latent;
  size_t n_slices = c->walk->dim < MOST_SLICES ? c->walk->dim : MOST_SLICES;
  bool ok = refresh(c);
  for (size_t b = 0; b < l->n_blocks && ok; b++) {
    sweep_block(c, b);
  }
  ok = ok && !l->is_beyond && !l->is_misplaced;
  if (ok && c->run->chains.settings->interweave) {
    ok = to_base(c);
    l->is_not_one = !ok;
    for (size_t i = 0; i < n_slices && ok; i++) {
      slice(c, c->walk->spread);
    }
    ok = ok && of_base(c);
  }
  if (!ok) {
    return refuse_latent(c);
  }
  tacit_trajectory_refresh(c->walk);
  *accept = tacit_trajectory_step(c->walk, c->rng);
  return TACIT_OK;
}
