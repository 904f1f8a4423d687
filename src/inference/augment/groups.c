/*
 * What was published, and of which records. Groups of records are what releases have all or none of; a
 * release's sums are over all its groups. Counts that were published as they are fix how many records a block
 * of cells has: of answers, a cell stands there once for each answer that its records may have given.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"

static tacit_status_t refuse_groups(tacit_error_t *err, const char *field, const char *what) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "%s", what);
}

static bool has(uint64_t groups, size_t g) { return (groups >> g & 1) != 0; }

/* ---- releases ---- */

const tacit_population_statistic_t *tacit_run_statistics(const tacit_population_run_t *run) {
  size_t n;
  return run->table != NULL ? run->table->statistics : tacit_population_statistics(run->population, &n);
}

static tacit_measured_t measure(const tacit_population_run_t *run, const tacit_published_statistic_t *p) {
  const tacit_population_statistic_t *s = tacit_run_statistics(run);
  if (p->statistic == TACIT_PUBLISHED_SIZE) {
    return (tacit_measured_t){.name = "n", .is_integer = true};
  }
  s += p->statistic;
  return (tacit_measured_t){
      .name = s->name, .is_integer = s->is_integer, .is_count = s->is_count, .statistic = s};
}

static tacit_status_t take(tacit_population_run_t *run, const tacit_published_statistic_t *p,
                           tacit_error_t *err) {
  tacit_measured_t of = measure(run, p);
  tacit_released_t *made = &run->released[run->n_released++];
  size_t n = of.statistic != NULL ? of.statistic->n_values : 1;
  *made = (tacit_released_t){.statistic = of.statistic, .groups = p->groups, .first = (uint32_t)run->n_sums};
  if (p->groups == 0 || (run->n_groups < TACIT_MAX_GROUPS && p->groups >> run->n_groups != 0)) {
    return refuse_groups(err, of.name, "a release is of no group of records, or of one that there is not");
  }
  if (p->noisy.n_values != n) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, of.name, "%s: %zu values were given, and it has %zu",
                           of.name, p->noisy.n_values, n);
  }
  tacit_status_t status = tacit_noise_distribution_init(&made->distribution, &p->noisy, &of, err);
  run->n_sums += made->distribution.n_sums;
  return status;
}

static double total_of(const tacit_noisy_t *p) {
  double sum = 0;
  for (size_t i = 0; i < p->n_values; i++) {
    sum += p->values[i];
  }
  return sum;
}

/* Counts that add up to the number of records, which has to be known. */
static tacit_status_t check_total(const tacit_population_run_t *run, const tacit_released_t *r,
                                  tacit_error_t *err) {
  double n = 0, total = total_of(&r->distribution.as);
  for (size_t g = 0; g < run->n_groups; g++) {
    if (has(r->groups, g) && run->groups[g].as->n_records == 0) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n",
                             "%s: counts that add up to the number of records tell it: give it",
                             r->statistic->name);
    }
    n += has(r->groups, g) ? (double)run->groups[g].as->n_records : 0;
  }
  return fabs(total - n) <= (r->distribution.is_exact ? 0.5 : 1e-6 * fmax(n, 1))
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, r->statistic->name,
                               "%s: the counts add up to %.10g, and there are %.0f records",
                               r->statistic->name, total, n);
}

static tacit_status_t take_exact(tacit_population_run_t *run, const tacit_released_t *r, tacit_error_t *err) {
  size_t g = 0;
  for (; !has(r->groups, g); g++) {
  }
  if (r->groups >> g != 1) {
    return refuse_groups(err, r->statistic->name,
                         "counts without noise, and of answers, are of one group of records");
  }
  if (run->groups[g].exact != NULL) {
    return refuse_groups(
        err, r->statistic->name,
        "two tables of the same records without noise, or of answers: publish them as one, count(a, b)");
  }
  run->groups[g].exact = r;
  return TACIT_OK;
}

static tacit_status_t list(tacit_population_run_t *run, tacit_error_t *err) {
  run->released_of = tacit_alloc_zero(run->n_sums + 1, sizeof *run->released_of);
  run->values = tacit_alloc_zero(run->n_sums + 1, sizeof *run->values);
  if (run->released_of == NULL || run->values == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < run->n_released; i++) {
    const tacit_released_t *r = &run->released[i];
    bool has_values = r->distribution.as.noise != TACIT_RELEASE_EXPONENTIAL;
    for (size_t k = 0; k < r->distribution.n_sums; k++) {
      run->released_of[r->first + k] = (uint32_t)i;
      run->values[r->first + k] = has_values ? r->distribution.as.values[k] : 0;
    }
  }
  return TACIT_OK;
}

/* ---- groups ---- */

static tacit_status_t see(tacit_population_run_t *run, size_t g, tacit_error_t *err) {
  tacit_population_group_t *group = &run->groups[g];
  bool of_n = false;
  group->seen = tacit_alloc_zero(run->n_released, sizeof *group->seen);
  if (group->seen == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < run->n_released; i++) {
    const tacit_released_t *r = &run->released[i];
    if (has(r->groups, g)) {
      group->seen[group->n_seen++] = (tacit_seen_t){.statistic = r->statistic, .first = r->first};
      of_n = of_n || r->statistic == NULL ||
             run->table != NULL; /* all cells of a table are counted, so that n has an end */
    }
  }
  group->n_entries = tacit_seen_n_entries(group->seen, group->n_seen);
  run->n_unknown += group->as->n_records == 0;
  if (group->n_seen == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "statistic", "nothing was published of the records '%s'",
                           group->as->name);
  }
  return group->as->n_records <= 2147483647 && (group->as->n_records > 0 || of_n)
             ? TACIT_OK
             : refuse_groups(
                   err, "n",
                   "the number of records is from 1 to 2^31 - 1, or unknown with a release of its own");
}

tacit_status_t tacit_groups_collect(tacit_population_run_t *run, size_t n_groups, const tacit_group_t *groups,
                                    size_t n_published, const tacit_published_statistic_t *published,
                                    tacit_error_t *err) {
  if (n_groups < 1 || n_groups > TACIT_MAX_GROUPS || n_published < 1) {
    return refuse_groups(err, "statistic",
                         n_published < 1 ? "nothing was published of the program's statistics"
                                         : "there are 1 to 64 groups of records");
  }
  run->released = tacit_alloc_zero(n_published, sizeof *run->released);
  run->groups = tacit_alloc_zero(n_groups, sizeof *run->groups);
  if (run->released == NULL || run->groups == NULL) {
    return tacit_error_memory(err);
  }
  run->n_groups = n_groups;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n_published && status == TACIT_OK; i++) {
    status = take(run, &published[i], err);
  }
  TACIT_THEN(status, list(run, err));
  for (size_t g = 0; g < n_groups && status == TACIT_OK; g++) {
    run->groups[g].as = &groups[g];
    status = see(run, g, err);
  }
  for (size_t i = 0; i < n_published && status == TACIT_OK; i++) {
    const tacit_released_t *r = &run->released[i];
    status = r->distribution.is_exact || r->distribution.as.adds_up ? check_total(run, r, err) : TACIT_OK;
    status = status == TACIT_OK && r->distribution.is_exact ? take_exact(run, r, err) : status;
  }
  return status;
}

void tacit_groups_clear(tacit_population_run_t *run) {
  for (size_t g = 0; g < run->n_groups; g++) {
    tacit_population_group_t *group = &run->groups[g];
    void *const owned[] = {group->seen, group->base, group->log_channel, group->entries, group->block_start};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
      tacit_free(owned[i]);
    }
    tacit_cells_clear(&group->apart);
  }
  for (size_t i = 0; i < run->n_released; i++) {
    tacit_noise_distribution_clear(&run->released[i].distribution);
  }
  tacit_free(run->groups);
  tacit_free(run->value_begin);
  tacit_free(run->value_cells);
  tacit_free(run->released);
  tacit_free(run->released_of);
  tacit_free(run->values);
}

/* ---- cells ---- */

static bool is_of_answers(const tacit_population_group_t *group) {
  return group->exact != NULL && group->exact->distribution.as.noise == TACIT_RELEASE_RESPONSES;
}

/* The entry of cell `c` of those apart that counts published as they are look at. */
static size_t exact_entry(const tacit_population_group_t *group, size_t c) {
  const tacit_entry_t *entries = group->apart.entries + c * group->n_entries;
  size_t e = 0;
  while (entries[e].value < group->exact->first ||
         entries[e].value >= group->exact->first + group->exact->distribution.n_sums) {
    e++;
  }
  return e;
}

static void put(tacit_population_group_t *group, size_t at, size_t c, size_t block, double share) {
  size_t n = group->n_entries;
  group->base[at] = (uint32_t)c;
  group->log_channel[at] = log(share);
  memcpy(group->entries + at * n, group->apart.entries + c * n, n * sizeof *group->entries);
  if (group->exact != NULL) {
    group->entries[at * n + exact_entry(group, c)].value = group->exact->first + (uint32_t)block;
  }
}

/* Cells apart go to the blocks that they may be in: they are counted, or put where `next` says. */
static void distribute(tacit_population_group_t *group, size_t *next, bool is_counted) {
  for (size_t c = 0; c < group->apart.n_cells; c++) {
    size_t cell =
        group->exact != NULL
            ? group->apart.entries[c * group->n_entries + exact_entry(group, c)].value - group->exact->first
            : 0;
    for (size_t b = is_of_answers(group) ? 0 : cell; b < (is_of_answers(group) ? group->n_blocks : cell + 1);
         b++) {
      double share =
          is_of_answers(group) ? group->exact->distribution.as.channel[cell * group->n_blocks + b] : 1;
      if (share > 0 && !is_counted) {
        put(group, next[b], c, b, share);
      }
      next[b] += share > 0;
    }
  }
}

/* Where blocks begin, from how many cells they have. */
static void find_starts(tacit_population_group_t *group) {
  size_t at = 0;
  for (size_t b = 0; b <= group->n_blocks; b++) {
    size_t n = group->block_start[b];
    group->block_start[b] = at;
    at += n;
  }
  group->n_cells = at;
}

static tacit_status_t cut_group(tacit_population_run_t *run, tacit_population_group_t *group,
                                tacit_error_t *err) {
  tacit_status_t status =
      run->table != NULL ? tacit_cells_of_table(&group->apart, run->table, group->seen, group->n_seen, err)
                         : tacit_cells_init(&group->apart, run->population, group->seen, group->n_seen,
                                            group->as->given, err);
  if (status != TACIT_OK) {
    return status;
  }
  group->n_blocks = group->exact != NULL ? group->exact->distribution.n_sums : 1;
  group->block_start = tacit_alloc_zero(group->n_blocks + 1, sizeof *group->block_start);
  size_t *next = tacit_alloc_zero(group->n_blocks + 1, sizeof *next);
  if (group->block_start == NULL || next == NULL) {
    tacit_free(next);
    return tacit_error_memory(err);
  }
  distribute(group, group->block_start, true);
  find_starts(group);
  memcpy(next, group->block_start, group->n_blocks * sizeof *next);
  group->base = tacit_alloc_zero(group->n_cells, sizeof *group->base);
  group->log_channel = tacit_alloc_zero(group->n_cells, sizeof *group->log_channel);
  group->entries = tacit_alloc_zero(group->n_cells * group->n_entries, sizeof *group->entries);
  bool ok = group->base != NULL && group->log_channel != NULL && group->entries != NULL &&
            group->n_cells <= TACIT_POPULATION_MAX_CELLS;
  if (ok) {
    distribute(group, next, false);
  }
  tacit_free(next);
  return ok ? TACIT_OK
         : group->n_cells > TACIT_POPULATION_MAX_CELLS
             ? refuse_groups(err, "statistic", "the cells times the answers of a record are more than 65536")
             : tacit_error_memory(err);
}

tacit_status_t tacit_groups_cut(tacit_population_run_t *run, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t g = 0; g < run->n_groups && status == TACIT_OK; g++) {
    status = cut_group(run, &run->groups[g], err);
  }
  return status;
}
