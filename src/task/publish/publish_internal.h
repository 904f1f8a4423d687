/* The parts of a released statistic: what is asked for, the noise that the budget buys, the ledger, the file.
 */
#ifndef TACIT_PUBLISH_INTERNAL_H
#define TACIT_PUBLISH_INTERNAL_H

#include "base/text.h"
#include "curator/curator.h"
#include "formula/model.h"
#include "program/program.h"
#include "request/request.h"
#include "tacit/account.h"
#include "tacit/ledger.h"
#include "tacit/publish.h"
#include "tacit/random.h"

enum { TACIT_PUBLISH_MAX_COLUMNS = 30, TACIT_PUBLISH_MAX_MARGINS = 500 };

typedef enum tacit_publish_stage {
  TACIT_PUBLISH_STAGE_SETTINGS = 0,
  TACIT_PUBLISH_STAGE_COLUMNS,
  TACIT_PUBLISH_STAGE_READ,
  TACIT_PUBLISH_STAGE_RUN,
  TACIT_PUBLISH_STAGE_FAILED
} tacit_publish_stage_t;

/* What is released: a statistic by its name (columns.c), or a line of a program, FILE.stan (program.c). */
typedef struct tacit_publish_kind {
  /* Settings that are of this kind alone. */
  tacit_status_t (*read)(tacit_publish_t *publish, tacit_error_t *err);
  /* Columns, bounds, levels, in view of the schema. */
  tacit_status_t (*choose)(tacit_publish_t *publish, tacit_error_t *err);
  tacit_status_t (*pack)(const tacit_publish_t *publish, const tacit_table_t *table,
                         tacit_records_t **records, tacit_error_t *err);
} tacit_publish_kind_t;

extern const tacit_publish_kind_t tacit_publish_of_statistic, tacit_publish_of_program;

struct tacit_publish {
  tacit_settings_t given;
  char *formula; /* or NULL */
  const tacit_publish_kind_t *kind;
  tacit_publish_stage_t stage;
  const char *mechanism; /* as written: "discrete-laplace" */
  double epsilon, delta; /* delta 0: pure */
  bool is_seeded;
  size_t seed, n, n_public; /* n_public 0: not said */
  tacit_request_t request;  /* query, spend */
  tacit_curator_settings_t limits;
  tacit_schema_t *schema;
  tacit_population_t *population;           /* of a program; else NULL */
  const tacit_population_statistic_t *line; /* the one that is released */
  size_t n_columns;
  const tacit_column_schema_t *columns[TACIT_PUBLISH_MAX_COLUMNS]; /* moments, score: the response last */
  const char *names[TACIT_PUBLISH_MAX_COLUMNS];                    /* of those columns */
  double lower[TACIT_PUBLISH_MAX_COLUMNS],
      upper[TACIT_PUBLISH_MAX_COLUMNS]; /* of what is counted or summed */
  size_t n_levels[TACIT_PUBLISH_MAX_COLUMNS];
  uint32_t margins[TACIT_PUBLISH_MAX_MARGINS];
  tacit_relation_t relation; /* the schema's; all but margins: substitute */
  tacit_statistic_t statistic;
  double noise_multiplier;
  tacit_record_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  double *values, *scales;
  tacit_text_t yaml, spent, unsettled, warnings;
};

static inline bool tacit_publish_has(const tacit_publish_t *publish, const char *name) {
  return tacit_settings_has(&publish->given, name);
}

static inline const char *tacit_publish_value(const tacit_publish_t *publish, const char *name) {
  return tacit_settings_text(&publish->given, name);
}

/* "clamped-mean", or the name of a program's line. */
static inline const char *tacit_publish_what(const tacit_publish_t *publish) {
  return publish->line != NULL ? publish->line->name : tacit_publish_value(publish, "statistic");
}

static inline const char *tacit_publish_relation(const tacit_publish_t *publish) {
  return publish->relation == TACIT_RELATION_SUBSTITUTE ? "substitute" : "add-remove";
}

/* Statistic, columns and bounds, from settings and schema. */
TACIT_MUST_USE tacit_status_t tacit_publish_choose_columns(tacit_publish_t *publish, tacit_error_t *err);
/* Has the noise asked for a delta? */
bool tacit_publish_has_delta(const tacit_publish_t *publish);
/* The least noise that the budget allows, and the budget. */
TACIT_MUST_USE tacit_status_t tacit_publish_open_budget(tacit_publish_t *publish, tacit_error_t *err);
/* The price in the ledger, where one is given; afterwards lowered to what was charged: all of it, or nothing.
 */
TACIT_MUST_USE tacit_status_t tacit_publish_reserve(tacit_publish_t *publish, tacit_error_t *err);
void tacit_publish_settle(tacit_publish_t *publish);
/* publish->yaml <- what was released. */
TACIT_MUST_USE tacit_status_t tacit_publish_render(tacit_publish_t *publish, tacit_error_t *err);

#endif
