/* A statistic from settings to the file: charge, release, settle. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/collect.h"
#include "data/records.h"
#include "publish/publish_internal.h"
#include "report/doubt.h"

const tacit_setting_t *tacit_publish_settings(size_t *n) { return tacit_settings_of(TACIT_TASK_RELEASE, n); }

tacit_status_t tacit_publish_new(tacit_publish_t **publish, const char *formula, tacit_error_t *err) {
  tacit_publish_t *new = *publish = tacit_alloc_zero(1, sizeof *new);
  if (new == NULL) {
    return tacit_error_memory(err);
  }
  new->given = tacit_settings_for(TACIT_TASK_RELEASE);
  new->request = (tacit_request_t){.task = "release", .what = "release", .units = "rows", .or_else = ""};
  new->limits = tacit_curator_settings_default();
  new->formula = formula != NULL ? tacit_strdup(formula) : NULL;
  bool is_program = formula != NULL && tacit_file_has_ending(formula, ".stan");
  new->kind = is_program ? &tacit_publish_of_program : &tacit_publish_of_statistic;
  if (formula != NULL && new->formula == NULL) {
    tacit_publish_free(new);
    *publish = NULL;
    return tacit_error_memory(err);
  }
  return TACIT_OK;
}

void tacit_publish_free(tacit_publish_t *publish) {
  if (publish == NULL) {
    return;
  }
  tacit_curator_free(publish->curator);
  tacit_noise_free(publish->noise);
  tacit_budget_free(publish->budget);
  tacit_schema_free(publish->schema);
  tacit_population_free(publish->population);
  tacit_settings_clear(&publish->given);
  tacit_text_clear(&publish->yaml);
  tacit_text_clear(&publish->spent);
  tacit_text_clear(&publish->unsettled);
  tacit_text_clear(&publish->warnings);
  tacit_free(publish->formula);
  tacit_request_clear(&publish->request);
  tacit_free(publish->values);
  tacit_free(publish->scales);
  tacit_free(publish);
}

static tacit_status_t check_stage(const tacit_publish_t *publish, tacit_publish_stage_t stage,
                                  const char *name, tacit_error_t *err) {
  return publish->stage == stage
             ? TACIT_OK
             : tacit_error_set(
                   err, TACIT_ERR_STATE, name,
                   "settings, records and the release come in this order, each once: begin another");
}

tacit_status_t tacit_publish_set(tacit_publish_t *publish, const char *name, const char *text,
                                 tacit_error_t *err) {
  tacit_status_t status = check_stage(publish, TACIT_PUBLISH_STAGE_SETTINGS, name, err);
  return status == TACIT_OK ? tacit_settings_set(&publish->given, name, text, err) : status;
}

tacit_status_t tacit_publish_set_schema(tacit_publish_t *publish, const char *text, size_t n,
                                        const char *name, tacit_error_t *err) {
  tacit_status_t status = check_stage(publish, TACIT_PUBLISH_STAGE_SETTINGS, "schema", err);
  if (status == TACIT_OK) {
    tacit_schema_free(publish->schema);
    publish->schema = NULL;
    status = tacit_schema_parse(&publish->schema, text, n, name, err);
  }
  return status;
}

/* ---- settings ---- */

static tacit_status_t check_needed(const tacit_publish_t *publish, tacit_error_t *err) {
  if (tacit_publish_value(publish, "epsilon") == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "epsilon",
                           "option --epsilon is needed; see tacit release --help");
  }
  if (publish->kind == &tacit_publish_of_statistic && tacit_publish_value(publish, "statistic") == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "statistic",
                           "option --statistic is needed: clamped-mean, counts, moments, score or margins");
  }
  return tacit_settings_check_out(&publish->given, false, err);
}

static tacit_status_t read_query(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_settings_count(&publish->given, "n-public", &publish->n_public);
  bool is_public = publish->n_public > 0 || publish->relation == TACIT_RELATION_ADD_REMOVE;
  return tacit_request_read_query(&publish->request, &publish->given, is_public, err);
}

static tacit_status_t read_settings(tacit_publish_t *publish, tacit_error_t *err) {
  const tacit_settings_t *given = &publish->given;
  tacit_status_t status = check_needed(publish, err);
  TACIT_THEN(status, publish->kind->read(publish, err));
  if (status != TACIT_OK) {
    return status;
  }
  publish->statistic.noise = (tacit_statistic_noise_t)tacit_settings_choice(given, "mechanism");
  publish->mechanism = tacit_publish_value(publish, "mechanism");
  tacit_settings_number(given, "epsilon", &publish->epsilon);
  tacit_settings_number(given, "delta", &publish->delta);
  tacit_settings_count(given, "seed", &publish->seed);
  tacit_settings_count(given, "threads", &publish->limits.n_threads);
  publish->is_seeded = tacit_publish_has(publish, "seed");
  if (tacit_publish_has_delta(publish) != tacit_publish_has(publish, "delta")) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "delta",
                           tacit_publish_has_delta(publish)
                               ? "%s noise needs a --delta far below 1 / number of rows"
                               : "%s noise has epsilon alone: leave out --delta",
                           publish->mechanism);
  }
  return tacit_request_check_ledger(&publish->request, given, publish->is_seeded ? "a seeded" : NULL, err);
}

/* ---- records ---- */

/* A tacit_packer_t's. */
static tacit_status_t pack(void *user, const tacit_table_t *table, tacit_records_t **records,
                           tacit_error_t *err) {
  const tacit_publish_t *publish = user;
  return publish->kind->pack(publish, table, records, err);
}

static tacit_status_t open_records(tacit_publish_t *publish, const tacit_data_source_t *source,
                                   tacit_error_t *err) {
  const tacit_packer_t packer = {.pack = pack,
                                 .user = publish,
                                 .is_whole = tacit_publish_has(publish, "scratch"),
                                 .n_threads = publish->limits.n_threads};
  tacit_table_notes_t notes;
  tacit_table_t *table;
  tacit_records_t *records;
  tacit_status_t status = tacit_records_collect(&records, &table, source, publish->schema, publish->names,
                                                publish->n_columns, &packer, &notes, err);
  TACIT_THEN(status, tacit_request_take_query(&publish->request, table,
                                              publish->relation == TACIT_RELATION_ADD_REMOVE,
                                              (double)publish->n_public, err));
  tacit_table_free(table);
  TACIT_THEN(status, publish->is_seeded
                         ? tacit_noise_new_seeded_not_private(&publish->noise, publish->seed, err)
                         : tacit_noise_new(&publish->noise, err));
  if (status != TACIT_OK) {
    tacit_records_free(records);
    return status;
  }
  tacit_statistic_model(&publish->model, &publish->statistic);
  status = tacit_curator_new(&publish->curator, records, &publish->model, publish->budget, publish->noise,
                             &publish->limits, err);
  bool is_n_public = publish->relation == TACIT_RELATION_SUBSTITUTE;
  if (status == TACIT_OK && is_n_public) {
    status = tacit_curator_n_units(publish->curator, &publish->n, err);
  }
  if (status == TACIT_OK && is_n_public && publish->n == 0) {
    status =
        tacit_error_set(err, TACIT_ERR_DATA, "data", "%s holds no records", tacit_data_source_name(source));
  }
  return status;
}

/* Settings to columns and budget, once. */
static tacit_status_t settle_settings(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_status_t (*const steps[])(tacit_publish_t *, tacit_error_t *) = {
      read_settings, tacit_publish_choose_columns, read_query, tacit_publish_open_budget};
  if (publish->stage == TACIT_PUBLISH_STAGE_COLUMNS) {
    return TACIT_OK;
  }
  tacit_status_t status = check_stage(publish, TACIT_PUBLISH_STAGE_SETTINGS, "data", err);
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TACIT_OK; i++) {
    publish->stage = TACIT_PUBLISH_STAGE_FAILED;
    status = steps[i](publish, err);
  }
  for (size_t j = 0; j < publish->n_columns && status == TACIT_OK; j++) {
    publish->names[j] = publish->columns[j]->name;
  }
  publish->stage = status == TACIT_OK ? TACIT_PUBLISH_STAGE_COLUMNS : publish->stage;
  return status;
}

tacit_status_t tacit_publish_columns(tacit_publish_t *publish, const tacit_schema_t **schema,
                                     const char *const **columns, size_t *n, tacit_error_t *err) {
  tacit_status_t status = settle_settings(publish, err);
  if (status == TACIT_OK) {
    *schema = publish->schema;
    *columns = publish->names;
    *n = publish->n_columns;
  }
  return status;
}

/* Noise beside what all records together could change, from which on it is said: by what is public of them
 * alone. */
static const double share_swamped = 0.1;

static void put_swamped(tacit_publish_t *publish) {
  size_t n_values = tacit_statistic_n_values(&publish->statistic), n_margins = publish->statistic.n_margins;
  bool has_cells =
      publish->statistic.kind == TACIT_STATISTIC_COUNTS || publish->statistic.kind == TACIT_STATISTIC_MARGINS;
  double sd = publish->noise_multiplier *
              (tacit_publish_has_delta(publish)
                   ? 1
                   : sqrt(2)); /* in what one record can change; of Laplace noise the sd is sqrt 2 scales */
  double n_cells = has_cells ? (double)n_values / (n_margins > 0 ? (double)n_margins : 1) : 1,
         share = sd * n_cells / (double)publish->n;
  if (share > share_swamped) {
    tacit_text_printf(&publish->warnings,
                      "warning: the noise is likely to swamp what is released: its sd is %.2g times what %s; "
                      "about %.2g times the epsilon or the records would do\n",
                      share, has_cells ? "an average cell holds" : "all records together can change",
                      tacit_number_round_up(share / share_swamped));
  }
}

tacit_status_t tacit_publish_read_source(tacit_publish_t *publish, const tacit_data_source_t *source,
                                         tacit_error_t *err) {
  tacit_status_t status = settle_settings(publish, err);
  tacit_data_source_t settled = tacit_request_source(&publish->request, source, &publish->given);
  TACIT_THEN(status, tacit_request_check_source(&publish->request, &settled, err));
  if (status != TACIT_OK) {
    tacit_request_leave_source(source);
    return status;
  }
  publish->stage = TACIT_PUBLISH_STAGE_FAILED;
  status = open_records(publish, &settled, err);
  if (status == TACIT_OK) {
    tacit_budget_put_doubts(&publish->warnings, publish->epsilon, publish->delta,
                            publish->relation == TACIT_RELATION_SUBSTITUTE ? (double)publish->n : 0);
    if (publish->relation == TACIT_RELATION_SUBSTITUTE) {
      put_swamped(publish);
    }
    publish->stage = TACIT_PUBLISH_STAGE_READ;
  }
  return status;
}

tacit_status_t tacit_publish_read(tacit_publish_t *publish, const char *path, tacit_error_t *err) {
  return tacit_publish_read_source(publish, &(tacit_data_source_t){.path = path}, err);
}

/* ---- the release ---- */

static void say_spent(tacit_publish_t *publish) {
  char numbers[2][TACIT_NUMBER_SIZE];
  tacit_text_t *to = &publish->spent;
  size_t n_values = tacit_statistic_n_values(&publish->statistic);
  tacit_text_printf(to, "released: %s of ", tacit_publish_what(publish));
  if (publish->relation == TACIT_RELATION_SUBSTITUTE) {
    tacit_text_printf(to, "%zu records", publish->n);
  } else {
    tacit_text_printf(to, "a private number of records");
  }
  tacit_text_printf(to, ", %zu value%s, %s noise\n", n_values, n_values == 1 ? "" : "s", publish->mechanism);
  if (publish->is_seeded) {
    tacit_text_printf(to, "NOT PRIVATE: its noise can be repeated by whoever knows the seed\n");
  } else {
    tacit_text_printf(to, "cost: epsilon %s at delta %s (relation %s, unit row)\n",
                      tacit_number_format(publish->epsilon, numbers[0]),
                      tacit_number_format(publish->delta, numbers[1]), tacit_publish_relation(publish));
    if (publish->request.spend.id == 0) {
      tacit_text_printf(to, TACIT_BUDGET_FORGOTTEN);
    }
  }
}

static tacit_status_t allocate(tacit_publish_t *publish, tacit_error_t *err) {
  size_t n_values = tacit_statistic_n_values(&publish->statistic);
  publish->values = tacit_alloc_zero(n_values, sizeof *publish->values);
  publish->scales = tacit_alloc_zero(n_values, sizeof *publish->scales);
  return publish->values != NULL && publish->scales != NULL ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_publish_run(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_status_t status = check_stage(publish, TACIT_PUBLISH_STAGE_READ, "statistic", err);
  TACIT_THEN(status, allocate(publish, err));
  if (status == TACIT_OK) {
    publish->stage = TACIT_PUBLISH_STAGE_FAILED;
    status = tacit_publish_reserve(publish, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_curator_release_statistic(publish->curator, &publish->statistic, publish->noise_multiplier,
                                           publish->values, publish->scales, err);
  tacit_publish_settle(publish);
  TACIT_THEN(status, tacit_publish_render(publish, err));
  if (status == TACIT_OK) {
    say_spent(publish);
    publish->stage = TACIT_PUBLISH_STAGE_RUN;
  }
  return status;
}

static bool is_run(const tacit_publish_t *publish) { return publish->stage == TACIT_PUBLISH_STAGE_RUN; }

const char *tacit_publish_yaml(const tacit_publish_t *publish) {
  return is_run(publish) ? publish->yaml.data : NULL;
}

const double *tacit_publish_values(const tacit_publish_t *publish, size_t *n) {
  *n = is_run(publish) ? tacit_statistic_n_values(&publish->statistic) : 0;
  return is_run(publish) ? publish->values : NULL;
}

const double *tacit_publish_scales(const tacit_publish_t *publish, size_t *n) {
  *n = is_run(publish) ? tacit_statistic_n_values(&publish->statistic) : 0;
  return is_run(publish) ? publish->scales : NULL;
}

const char *tacit_publish_spent(const tacit_publish_t *publish) {
  return publish->spent.data != NULL ? publish->spent.data : "";
}

const char *tacit_publish_warnings(const tacit_publish_t *publish) {
  return publish->warnings.data != NULL ? publish->warnings.data : "";
}

const char *tacit_publish_unsettled(const tacit_publish_t *publish) {
  return publish->unsettled.data != NULL ? publish->unsettled.data : "";
}

tacit_status_t tacit_publish_write(const tacit_publish_t *publish, const char *path, tacit_error_t *err) {
  path = path != NULL ? path : tacit_publish_value(publish, "out");
  tacit_status_t status = check_stage(publish, TACIT_PUBLISH_STAGE_RUN, "out", err);
  if (status == TACIT_OK && path == NULL) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "out", "say where the statistic goes");
  }
  return status == TACIT_OK ? tacit_file_create(path, publish->yaml.data, publish->yaml.length, err) : status;
}
