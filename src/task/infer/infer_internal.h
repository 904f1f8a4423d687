/* The parts of an inference: what was asked for, what the two texts say, the run. */
#ifndef TACIT_INFER_INTERNAL_H
#define TACIT_INFER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "augment/augment.h"
#include "base/yaml_file.h"
#include "infer/margins.h"
#include "program/program.h"
#include "report/report.h"
#include "settings/settings.h"
#include "tacit/infer.h"

typedef enum tacit_infer_stage {
  TACIT_INFER_STAGE_SETTINGS = 0,
  TACIT_INFER_STAGE_READ,
  TACIT_INFER_STAGE_RUN,
  TACIT_INFER_STAGE_FAILED
} tacit_infer_stage_t;

/* YAML that somebody gave: as a file's name, or as text with what stands for its name. */
typedef struct tacit_infer_source {
  char *name, *text; /* text NULL: to be read from the file */
  size_t n;
} tacit_infer_source_t;

typedef struct tacit_infer_mechanism {
  const char *name;
  tacit_release_noise_t noise;
} tacit_infer_mechanism_t;

/* What a table's distribution borrows. */
typedef struct tacit_table_arrays {
  size_t n_cells, n_allowed, n_entries, n_kept, n_values,
      n_names; /* n_allowed: cells that a record can be in */
  size_t *begin, *extents, *move_begin;
  uint32_t *move_effect;
  double *move_sign;
  uint32_t *effect, *value, *kept,
      *number; /* kept: which of the tables' effects there are; number: the other way round */
  uint8_t *reported;
  tacit_population_statistic_t *statistics;
  char **names;
} tacit_table_arrays_t;

/* Which records a statistic is of. */
typedef struct tacit_infer_kind {
  bool takes_several; /* statistics */
  /* What the model's text says; text NULL where tables have none. */
  tacit_status_t (*read_model)(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t n);
  /* In view of the model; n is the number of records, 0 where the text must have it. */
  tacit_status_t (*read_statistic)(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t length,
                                   size_t n);
  /* Once all are read, what they say together; NULL: nothing. */
  tacit_status_t (*join)(tacit_infer_t *infer, tacit_error_t *err);
  tacit_status_t (*run)(tacit_infer_t *infer, tacit_error_t *err);
  /* How records were dealt with. */
  void (*say)(const tacit_infer_t *infer, tacit_text_t *to);
} tacit_infer_kind_t;

/* Latent ones of a few distributions (infer.c); those of a program, whose name ends with .stan
 * (population.c); those in the cells of noisy tables (tables.c). */
extern const tacit_infer_kind_t tacit_infer_of_latent, tacit_infer_of_program, tacit_infer_of_tables;

struct tacit_infer {
  tacit_settings_t given;
  tacit_infer_source_t source;      /* of the model */
  tacit_infer_source_t *statistics; /* (n_statistics), in the order in which they were given */
  size_t n_statistics;
  tacit_infer_stage_t stage;
  const tacit_infer_kind_t *kind;
  tacit_augment_settings_t settings;
  size_t n; /* records, as set; 0: as the statistic says */
  /* as read */
  tacit_latent_model_t model;
  tacit_release_t release;
  const char *records; /* "gaussian", "poisson", "categorical", "regression", "logistic" */
  char statistic[480]; /* in words, for reports */
  char noise[320];
  double epsilon, delta; /* what the release costs under substitution; NaN if not known */
  bool is_not_private;   /* the statistic says that its noise can be repeated */
  double true_delta;     /* classical calibration: the delta it really has at the stated epsilon; else NaN */
  double *values, *scales, *concentration;
  double *column_lower,
      *column_upper; /* regressions: bounds of the columns, the response last, that were mapped to [-1, 1] */
  size_t *n_levels;
  char **labels, **names; /* shape (n_reported) */
  size_t n_reported;
  /* records of a program (population.c), in place of model and release */
  tacit_population_t *population;
  tacit_published_statistic_t *published; /* (n_published): values and channels are owned */
  size_t n_published;
  tacit_group_t *groups; /* (n_groups): names and what is given are owned */
  size_t n_groups;
  double group_epsilon[TACIT_MAX_GROUPS],
      group_delta[TACIT_MAX_GROUPS]; /* of all releases of a group; NaN if one does not say */

  /* noisy margins (tables.c), in place of model and release; NULL: of something else */
  tacit_margins_file_t *margins; /* the first file, with the tables of all */
  tacit_table_distribution_t
      distribution; /* of no cells: there are too many, and the records are integrated out */
  tacit_table_arrays_t table;
  tacit_tables_findings_t findings;
  double prior_sd;
  /* of the run */
  tacit_draws_t draws;
  tacit_augment_result_t result;
  tacit_evidence_t evidence;
  tacit_text_t texts[TACIT_INFER_N_TEXTS];
};

static inline bool tacit_infer_has(const tacit_infer_t *infer, const char *name) {
  return tacit_settings_has(&infer->given, name);
}

static inline const char *tacit_infer_value(const tacit_infer_t *infer, const char *name) {
  return tacit_settings_text(&infer->given, name);
}

/* ---- model.c ---- */

TACIT_MUST_USE tacit_status_t tacit_infer_read_model(tacit_infer_t *infer, tacit_yaml_t *file,
                                                     const char *text, size_t n);
/* Room for labels and names of n reported quantities; copies of those of quantity j. */
TACIT_MUST_USE tacit_status_t tacit_infer_allocate_labels(tacit_infer_t *infer, size_t n, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_infer_set_label(tacit_infer_t *infer, size_t j, const char *label,
                                                    const char *name, tacit_error_t *err);

/* ---- population.c ---- */

void tacit_infer_clear_population(tacit_infer_t *infer);

/* ---- groups.c: which records a file is of, how many, and what is given of them ---- */

TACIT_MUST_USE tacit_status_t tacit_infer_read_groups(tacit_infer_t *infer, tacit_yaml_t *file,
                                                      uint64_t *groups);
TACIT_MUST_USE tacit_status_t tacit_infer_read_sizes(tacit_infer_t *infer, tacit_yaml_t *file,
                                                     uint64_t groups, size_t n);
/* A number that is taken for the size of all groups whose size nothing says. */
TACIT_MUST_USE tacit_status_t tacit_infer_complete_sizes(tacit_infer_t *infer, tacit_error_t *err);

/* ---- published.c: a release in a file, {mechanism, scale, value, ...} ---- */

/* `to` is filled, its arrays to be freed by the caller also after failure; n_values: those of the statistic.
 */
TACIT_MUST_USE tacit_status_t tacit_infer_read_noisy(tacit_yaml_t *file, const yaml_node_t *node,
                                                     const char *name, size_t n_values, tacit_noisy_t *to);
/* One of several tables in a list, whose keys were checked: its mechanism and scale, or those of the file. */
TACIT_MUST_USE tacit_status_t tacit_infer_read_noisy_table(tacit_yaml_t *file, const yaml_node_t *node,
                                                           size_t n_values, tacit_noisy_t *to);
void tacit_infer_noisy_clear(tacit_noisy_t *noisy);
/* "laplace" */
const char *tacit_infer_noise_string(tacit_release_noise_t noise);
/* One more in the list of what was published; its arrays are taken. */
TACIT_MUST_USE tacit_status_t tacit_infer_add_published(tacit_infer_t *infer, size_t statistic,
                                                        uint64_t groups, const tacit_noisy_t *noisy,
                                                        tacit_error_t *err);

/* "name(x, y)", as `form` has it. */
TACIT_MUST_USE tacit_status_t tacit_infer_law2(tacit_yaml_t *file, const char *key, const char *name,
                                               const char *form, double *first, double *second);

/* ---- tables.c ---- */

void tacit_infer_clear_margins(tacit_infer_t *infer);

/* ---- statistic.c: in view of the model; n is the number of records, 0 where the text must have it ---- */

TACIT_MUST_USE tacit_status_t tacit_infer_read_statistic(tacit_infer_t *infer, tacit_yaml_t *file,
                                                         const char *text, size_t length, size_t n);

/* `privacy: {epsilon, delta, is_private}`, where it is there. */
TACIT_MUST_USE tacit_status_t tacit_infer_read_privacy(tacit_infer_t *infer, tacit_yaml_t *file);

/* ---- noise.c ---- */

TACIT_MUST_USE tacit_status_t tacit_infer_read_mechanism(tacit_infer_t *infer, tacit_yaml_t *file,
                                                         const tacit_infer_mechanism_t **mechanism);
/* Scales of all values in the units of the text, from `scale` or from a calibration; per_value: 1 over the
 * records of a mean. */
TACIT_MUST_USE tacit_status_t tacit_infer_read_scales(tacit_infer_t *infer, tacit_yaml_t *file,
                                                      const tacit_infer_mechanism_t *mechanism,
                                                      double per_value);

/* ---- statement.c ---- */

enum { TACIT_INFER_MAX_SETTINGS = 16 };

/* A report with all that it borrows but what the inference holds. */
typedef struct tacit_infer_report {
  tacit_report_t report;
  tacit_report_setting_t settings[TACIT_INFER_MAX_SETTINGS];
  char texts[TACIT_INFER_MAX_SETTINGS][64];
  tacit_report_release_t release;
} tacit_infer_report_t;

void tacit_infer_describe(const tacit_infer_t *infer, tacit_infer_report_t *described);
const char *tacit_infer_method_string(tacit_augment_method_t method);
void tacit_infer_say_latent(const tacit_infer_t *infer, tacit_text_t *to);
/* The texts of the run. */
void tacit_infer_say(tacit_infer_t *infer);

#endif
