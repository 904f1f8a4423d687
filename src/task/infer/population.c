/* Records of a program: the program with its block 'statistic', and the file that says what was published of
 * it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "infer/infer_internal.h"

void tacit_infer_clear_population(tacit_infer_t *infer) {
  for (size_t i = 0; i < infer->n_published; i++) {
    tacit_infer_noisy_clear(&infer->published[i].noisy);
  }
  for (size_t g = 0; g < infer->n_groups; g++) {
    tacit_free((void *)(uintptr_t)infer->groups[g].name);
    tacit_free((void *)(uintptr_t)infer->groups[g].given);
  }
  tacit_free(infer->published);
  tacit_free(infer->groups);
  tacit_population_free(infer->population);
}

/* ---- the program ---- */

static tacit_status_t read_program(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t n) {
  tacit_program_constants_t constants = {0};
  tacit_error_t why = {0};
  tacit_status_t status = TACIT_OK;
  const char *number;
  for (size_t i = 0;
       status == TACIT_OK && (number = tacit_settings_next(&infer->given, "set", &i)) != NULL;) {
    status = tacit_program_constants_set(&constants, number, file->err);
  }
  if (status == TACIT_OK) {
    status = tacit_population_parse(&infer->population, text, n, constants.items, constants.n, &why);
    if (status != TACIT_OK) {
      (void)tacit_error_set(file->err, status, "model", "%s: %s", file->name, why.message);
    }
  }
  infer->records = "program";
  tacit_program_constants_clear(&constants);
  return status;
}

/* ---- what was published ---- */

static tacit_status_t read_all(tacit_infer_t *infer, tacit_yaml_t *file, uint64_t groups) {
  size_t n;
  const tacit_population_statistic_t *s = tacit_population_statistics(infer->population, &n);
  const yaml_node_t *all = tacit_yaml_find(file, "statistics");
  if (all == NULL) {
    return tacit_yaml_missing(file, "statistics",
                              "statistics: {table: {mechanism: laplace, scale: 2, value: [3, 17, 4]}}");
  }
  const char **names = tacit_alloc_zero(n + 1, sizeof *names);
  if (names == NULL) {
    return tacit_error_memory(file->err);
  }
  for (size_t i = 0; i < n; i++) {
    names[i] = s[i].name;
  }
  tacit_status_t status =
      all->type == YAML_MAPPING_NODE
          ? tacit_yaml_check_keys(file, all, names)
          : tacit_yaml_fault(file, all, "statistics: expected the program's statistics by name");
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    const yaml_node_t *node = tacit_yaml_find_in(file, all, s[i].name);
    tacit_noisy_t noisy = {0};
    status = node != NULL ? tacit_infer_read_noisy(file, node, s[i].name, s[i].n_values, &noisy) : TACIT_OK;
    status = status == TACIT_OK && node != NULL
                 ? tacit_infer_add_published(infer, i, groups, &noisy, file->err)
                 : status;
    if (status != TACIT_OK) {
      tacit_infer_noisy_clear(&noisy);
    }
  }
  tacit_free(names);
  return status;
}

/* A group's cost is at most that of its releases added up. */
static void add_cost(tacit_infer_t *infer, uint64_t groups) {
  for (size_t g = 0; g < infer->n_groups; g++) {
    if ((groups >> g & 1) != 0) {
      infer->group_epsilon[g] += infer->epsilon;
      infer->group_delta[g] += infer->delta;
    }
  }
  infer->epsilon = infer->delta = NAN;
}

static tacit_status_t read_published(tacit_infer_t *infer, tacit_yaml_t *file, const char *text,
                                     size_t length, size_t n) {
  static const char *const keys[] = {"statistics", "records", "given", "n", "privacy", NULL};
  uint64_t groups = 0;
  bool was_not_private = infer->is_not_private;
  tacit_status_t status = tacit_yaml_open(file, text, length, keys);
  TACIT_THEN(status, tacit_infer_read_groups(infer, file, &groups));
  TACIT_THEN(status, read_all(infer, file, groups));
  TACIT_THEN(status, tacit_infer_read_sizes(infer, file, groups, n));
  TACIT_THEN(status, tacit_infer_read_privacy(infer, file));
  infer->is_not_private = infer->is_not_private || was_not_private;
  add_cost(infer, groups);
  return status;
}

/* ---- what they say together ---- */

/* Parameters and reported quantities, then the unknown numbers of records. */
static tacit_status_t take_labels(tacit_infer_t *infer, tacit_error_t *err) {
  size_t n = tacit_population_n_reported(infer->population), n_unknown = 0, at = n;
  for (size_t g = 0; g < infer->n_groups; g++) {
    n_unknown += infer->groups[g].n_records == 0;
  }
  tacit_status_t status = tacit_infer_allocate_labels(infer, n + n_unknown, err);
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = tacit_infer_set_label(infer, i, tacit_population_label(infer->population, i),
                                   tacit_population_name(infer->population, i), err);
  }
  for (size_t g = 0; g < infer->n_groups && status == TACIT_OK; g++) {
    char label[160] = "n", name[32] = "n";
    if (infer->n_groups > 1) {
      snprintf(label, sizeof label, "n[%.150s]", infer->groups[g].name);
      snprintf(name, sizeof name, "n.%zu", g + 1);
    }
    status =
        infer->groups[g].n_records == 0 ? tacit_infer_set_label(infer, at++, label, name, err) : TACIT_OK;
  }
  return status;
}

/* A short text that may be cut. */
static void put(char *text, size_t size, const char *format, ...) TACIT_PRINTF(3, 4);
static void put(char *text, size_t size, const char *format, ...) {
  size_t length = strlen(text);
  va_list args;
  va_start(args, format);
  if (length + 1 < size) {
    (void)vsnprintf(text + length, size - length, format, args);
  }
  va_end(args);
}

static const char *kind_of(const tacit_population_statistic_t *s) {
  return s->is_quantile ? "quantile" : s->is_count ? "count" : "sum";
}

static void describe(tacit_infer_t *infer) {
  size_t n, n_known = 0, n_unknown = 0;
  const tacit_population_statistic_t *all = tacit_population_statistics(infer->population, &n);
  for (size_t i = 0; i < infer->n_published; i++) {
    const tacit_published_statistic_t *p = &infer->published[i];
    const tacit_noisy_t *noisy = &p->noisy;
    if (p->statistic == TACIT_PUBLISHED_SIZE) {
      continue;
    }
    const tacit_population_statistic_t *s = &all[p->statistic];
    bool is_moved = isfinite(noisy->lower) || isfinite(noisy->upper);
    put(infer->statistic, sizeof infer->statistic, "%s%s (%zu %s%s)", infer->statistic[0] != '\0' ? ", " : "",
        s->name, noisy->n_values, kind_of(s), noisy->n_values > 1 ? "s" : "");
    put(infer->noise, sizeof infer->noise, "%s%s", infer->noise[0] != '\0' ? "; " : "",
        tacit_infer_noise_string(noisy->noise));
    if (noisy->scale > 0) {
      put(infer->noise, sizeof infer->noise, ", scale %.6g%s%s%s%s", noisy->scale,
          noisy->rounded > 0 ? ", rounded" : "", is_moved ? ", clamped" : "",
          noisy->suppressed > 0 ? ", small values withheld" : "",
          noisy->adds_up ? ", adjusted to add up" : "");
    }
  }
  for (size_t g = 0; g < infer->n_groups; g++) {
    n_known += infer->groups[g].n_records;
    n_unknown += infer->groups[g].n_records == 0;
  }
  infer->model.n_records = n_unknown == 0 ? n_known : 0;
  if (n_unknown == 0) {
    put(infer->statistic, sizeof infer->statistic, " of %zu records", n_known);
  } else {
    put(infer->statistic, sizeof infer->statistic, " of a number of records released with noise");
  }
  if (infer->n_groups > 1) {
    put(infer->statistic, sizeof infer->statistic, " in %zu groups", infer->n_groups);
  }
}

static tacit_status_t join_published(tacit_infer_t *infer, tacit_error_t *err) {
  tacit_status_t status = tacit_infer_complete_sizes(infer, err);
  TACIT_THEN(status, take_labels(infer, err));
  if (status != TACIT_OK) {
    return status;
  }
  describe(infer);
  infer->epsilon = infer->delta =
      0; /* of a record: what the dearest group cost; NaN where a release does not say */
  for (size_t g = 0; g < infer->n_groups; g++) {
    bool is_known =
        isfinite(infer->epsilon) && isfinite(infer->group_epsilon[g]) && isfinite(infer->group_delta[g]);
    infer->epsilon = is_known ? fmax(infer->epsilon, infer->group_epsilon[g]) : NAN;
    infer->delta = is_known ? fmax(infer->delta, infer->group_delta[g]) : NAN;
  }
  return TACIT_OK;
}

/* "table", and where there are several files, of which records: "table[north]". */
static void find_checks(tacit_infer_t *infer, const double *misfit) {
  const tacit_population_statistic_t *all = tacit_population_statistics(infer->population, &(size_t){0});
  for (size_t i = 0; i < infer->n_published; i++) {
    const tacit_published_statistic_t *p = &infer->published[i];
    const char *name = p->statistic == TACIT_PUBLISHED_SIZE ? "n" : all[p->statistic].name;
    char subject[160] = "";
    size_t g = 0;
    for (; (p->groups >> g & 1) == 0; g++) {
    }
    put(subject, sizeof subject, "%.60s", name);
    if (infer->n_groups > 1) {
      put(subject, sizeof subject, "[%.60s%s]", infer->groups[g].name, p->groups >> g > 1 ? ", .." : "");
    }
    tacit_checks_add_of(&infer->evidence.checks, TACIT_CHECK_STATISTIC_CONTRADICTS, subject, misfit[i]);
    tacit_checks_add_of(&infer->evidence.checks, TACIT_CHECK_STATISTIC_MISFITS, subject, misfit[i]);
  }
}

static tacit_status_t run(tacit_infer_t *infer, tacit_error_t *err) {
  double *misfit = infer->settings.misfit = tacit_alloc_zero(infer->n_published + 1, sizeof *misfit);
  if (misfit == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status =
      tacit_augment_population(infer->population, infer->n_groups, infer->groups, infer->n_published,
                               infer->published, &infer->settings, &infer->draws, &infer->result, err);
  if (status == TACIT_OK) {
    find_checks(infer, misfit);
    tacit_checks_add(&infer->evidence.checks, TACIT_CHECK_TRAJECTORIES_LOST, SIZE_MAX,
                     infer->result.path_lost);
  }
  infer->settings.misfit = NULL;
  tacit_free(misfit);
  return status;
}

static void say(const tacit_infer_t *infer, tacit_text_t *to) {
  const tacit_augment_result_t *result = &infer->result;
  if (result->method == TACIT_AUGMENT_GIBBS) {
    tacit_text_printf(to, "records drawn along with the parameters, exactly");
  } else {
    tacit_text_printf(to, "the counts of %zu cells stand for the records, exactly", result->n_cells);
  }
  tacit_text_printf(to, "; trajectories accepted with probability %.2f\n", result->path_accept);
}

const tacit_infer_kind_t tacit_infer_of_program = {.takes_several = true,
                                                   .read_model = read_program,
                                                   .read_statistic = read_published,
                                                   .join = join_published,
                                                   .run = run,
                                                   .say = say};
