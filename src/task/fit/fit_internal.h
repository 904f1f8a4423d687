/* The parts of a fit: what was asked for, what was prepared from it, the run. Nothing here is called from
 * other modules. */
#ifndef TACIT_FIT_INTERNAL_H
#define TACIT_FIT_INTERNAL_H

#include "base/directory.h"
#include "curator/curator.h"
#include "formula/model.h"
#include "noise_aware/noise_aware.h"
#include "program/program.h"
#include "program/written.h"
#include "report/report.h"
#include "request/request.h"
#include "tacit/diagnose.h"
#include "tacit/fit.h"
#include "tacit/ledger.h"
#include "tacit/random.h"
#include "tacit/sample.h"

enum { TACIT_FIT_START_STEPS = 16 }; /* released gradients that init: private climbs by */

/*
 * Where a plan is poor: few effective draws, which tacit diagnose calls a problem afterwards; intervals of
 * the noise-aware method at which the prior speaks louder than the data.
 */
enum { TACIT_FIT_ESS_HARDLY = 20, TACIT_FIT_INFLATION_MUCH = 3 };

enum { TACIT_FIT_OBSTACLE_SIZE = 512, TACIT_FIT_PRINT = 32 };

/* Of a person's identifier: who has the same in two parts of the data is one person. */
typedef struct tacit_unit_print {
  int64_t words[2];
} tacit_unit_print_t;

/* ---- the fit ---- */

/* ---- effects.c, effects_formula.c: (1 | g) and (1 + x | g) by method noise-aware ---- */

enum { TACIT_FIT_MAX_GROUPS = 8 };

/* A column whose slope has effects: mapped to [-1, 1] in the regression, as it is in the program. */
typedef struct tacit_fit_slope {
  char *column;
  double centre, half;
  size_t at, fixed; /* its feature in the regression, and among the fixed ones */
} tacit_fit_slope_t;

/* A parameter of the formula's program: one of the regression's, an sd's log, or the effect of a level. */
typedef struct tacit_fit_place {
  enum { TACIT_FIT_PLACE_OF_REGRESSION, TACIT_FIT_PLACE_OF_SD, TACIT_FIT_PLACE_OF_LEVEL } of;
  size_t at;
} tacit_fit_place_t;

typedef struct tacit_fit_effects {
  tacit_text_t fixed, regression; /* the formula without groups; that of the regression, with `+ g` */
  tacit_level_effects_t factors[TACIT_FIT_MAX_GROUPS];
  size_t slope_of[TACIT_FIT_MAX_GROUPS]; /* of a factor: 1 more than that of its slope; 0: the intercept's */
  tacit_fit_slope_t slopes[TACIT_FIT_MAX_GROUPS];
  size_t n_slopes;
  size_t n_fixed, n_features, n_levels; /* features but those of levels; all; levels of all factors */
  size_t *fixed_at;                     /* (n_fixed): where these are in the regression, rising */
  tacit_design_t *fixed_design;         /* of the formula without groups, where kernels take it; else: */
  tacit_written_t fixed_names, names;   /* of that, and of the regression, which is a program */
  tacit_program_t *flat_program;        /* that program with flat priors where effects have their own */
  tacit_model_t flat;
  tacit_noise_aware_effects_t aware;
  tacit_program_t *program;  /* the formula's, whose parameters are reported */
  tacit_model_t model;       /* of that */
  tacit_fit_place_t *places; /* (dim): what each unconstrained parameter of that is */
  double *point;             /* its unconstrained parameters */
} tacit_fit_effects_t;

typedef enum tacit_fit_stage {
  TACIT_FIT_STAGE_SETTINGS = 0,
  TACIT_FIT_STAGE_PREPARED, /* settings are settled */
  TACIT_FIT_STAGE_READ,     /* records are behind the curator, the plan is made */
  TACIT_FIT_STAGE_RESERVED,
  TACIT_FIT_STAGE_RUN,
  TACIT_FIT_STAGE_FAILED
} tacit_fit_stage_t;

struct tacit_fit {
  tacit_settings_t given;
  char *formula;
  char *schema_text, *schema_name; /* without comments; its file, or what stands for it */
  size_t schema_length;
  tacit_fit_stage_t stage;
  tacit_fit_ranks_t ranks;
  struct tacit_fit_engine *engine; /* that holds the records in parts; owned. NULL: they are here */
  bool is_part;                    /* packs and sums for another fit, which alone plans and charges */
  unsigned char print_key[32], print[TACIT_FIT_PRINT]; /* of several ranks: of what they read; PRIVATE */
  char *own_path; /* of several ranks: where this one's part is; NULL: each reads all, and takes a share */
  tacit_unit_print_t *unit_prints; /* (n_unit_prints) of a part's persons, under the same key; PRIVATE */
  size_t n_unit_prints;
  /* settings as read */
  const tacit_method_t *method; /* NULL: methods are compared */
  tacit_family_t family;
  bool is_exposed, is_seeded;
  bool is_clip_grad_open, is_clip_ratio_open; /* to be chosen by a release */
  double epsilon, delta, known_sd, n_public;
  size_t seed;
  tacit_prior_entry_t *priors;
  size_t n_priors;
  tacit_sampler_settings_t settings;
  tacit_curator_settings_t limits;
  /* prepared */
  tacit_schema_t *schema;
  tacit_design_t *design;   /* of a formula; else NULL */
  tacit_program_t *program; /* of a program; else NULL */
  tacit_model_t model;
  tacit_fit_effects_t *effects; /* of a formula, whose regression has `+ g` in their place; NULL: none */
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  double *inv_metric, *init;
  tacit_tuned_t tuned;
  char why_not_aware[TACIT_FIT_OBSTACLE_SIZE]; /* where another method is taken by itself; "": nothing to say
                                                */
  double bend;                                 /* of programs: tacit_noise_aware_bend(); 0: not looked at */
  bool *is_two_valued;                         /* (n_features); of method noise-aware, as are: */
  tacit_feature_makeup_t *makeup;              /* (n_features) */
  tacit_noise_aware_settings_t aware;
  tacit_evidence_t evidence; /* n_terms 0: none */
  tacit_releases_t releases; /* as they are made; n 0: none */
  tacit_released_t *of;      /* (n_of) drawn from these instead of records; owned */
  size_t n_of;
  struct tacit_fit *checked; /* owned: the fit that records are put beside; NULL: this is no check */
  char *checked_path;
  bool has_own_prior;  /* given now, of releases that were kept */
  bool is_disjoint;    /* nobody is at two of several sites */
  double between;      /* scale of the half-normal of effects' sds between sites; 0: common effects */
  char *check_json;    /* shown in the report; NULL: none */
  char **sites_called; /* (n_of) folders' names */
  char **site_labels,
      **site_names; /* (n_site_labels) of what is reported of several; NULL: the model's own */
  size_t n_site_labels;
  tacit_report_release_t sites; /* of several: what their releases cost together */
  tacit_text_t sites_text;
  char *privacy_json, *privacy_text; /* of the fit that made those; NULL: there is none */
  tacit_plan_t plan;
  double n_planned;            /* public number of units that the plan is for */
  tacit_fit_verdict_t verdict; /* on the plan */
  tacit_text_t holder_notes;   /* PRIVATE: what reading did to the values of each column */
  tacit_table_notes_t notes;   /* PRIVATE */
  tacit_request_t request;     /* query, spend */
  char *data_id;               /* of the ledger; NULL: there is none */
  /* of the run */
  tacit_directory_t *folder; /* `out`, claimed; owned. NULL: none was, or all is written */
  bool has_kept_all;         /* all releases are on disk */
  char *reopened;            /* of which directory; NULL: of none, or of several */
  tacit_progress_fn watch;   /* the caller's */
  void *watch_user;
  bool is_stopping; /* the caller said so, but what is being paid for is had first */
  tacit_draws_t draws;
  tacit_sample_end_t end;
  tacit_published_t published;
  tacit_text_t texts[TACIT_FIT_N_TEXTS];
};

static inline bool tacit_fit_has(const tacit_fit_t *fit, const char *name) {
  return tacit_settings_has(&fit->given, name);
}

static inline const char *tacit_fit_value(const tacit_fit_t *fit, const char *name) {
  return tacit_settings_text(&fit->given, name);
}

/* All that is known of a run, PRIVATE counts included: for --curator-notes alone. */
tacit_diagnostics_t tacit_fit_diagnose(const tacit_fit_t *fit);

/* ---- kind.c ---- */

/* What reports call the family, what noise-aware releases, and what curves are of. */
typedef struct tacit_fit_words {
  const char *family, *released, *expected;
} tacit_fit_words_t;

/* What a fit does by the kernels of a formula's family, or by a program. */
typedef struct tacit_fit_kind {
  /* Columns of the data that the model uses, shape (*n). */
  const char *const *(*columns)(const tacit_fit_t *fit, size_t *n);
  tacit_status_t (*pack)(const tacit_fit_t *fit, tacit_records_t **records, const tacit_table_t *table,
                         size_t part, size_t n_parts, tacit_error_t *err);
  tacit_fit_words_t (*words)(const tacit_fit_t *fit);
  size_t (*n_beside)(const tacit_fit_t *fit); /* what is reported beside coefficients, each site's own */
  /* Everything that can fail comes before the reservation, which this makes; fills but the key of the fit. */
  tacit_status_t (*check)(tacit_fit_t *fit, const char *by, tacit_fit_check_t *check, tacit_error_t *err);
} tacit_fit_kind_t;

/* Of an open model. */
const tacit_fit_kind_t *tacit_fit_kind(const tacit_fit_t *fit);

/* ---- ranks.c ---- */

bool tacit_fit_is_first_rank(const tacit_fit_t *fit);
/* Before ranks communicate: TACIT_ERR_STATE if another has failed. */
TACIT_MUST_USE tacit_status_t tacit_fit_ranks_agree(const tacit_fit_t *fit, tacit_error_t *err);
/* Of all that what is summed depends on, and of the version; has_seed: of what draws depend on, too. */
void tacit_fit_print_settings(const tacit_fit_t *fit, bool has_seed, unsigned char print[TACIT_FIT_PRINT]);
/* The key of the prints that ranks compare. */
TACIT_MUST_USE tacit_status_t tacit_fit_ranks_make_key(tacit_fit_t *fit, tacit_error_t *err);
/*
 * Several ranks each read all records and take a share of them: print what was read, keyed, each unit in its
 * place. PRIVATE, and nothing but equal to the others' or not: never written.
 */
void tacit_fit_ranks_print(tacit_fit_t *fit, const tacit_table_t *table);
/* TACIT_ERR_DATA, TACIT_ERR_ARGUMENT: the ranks did not read the same records, or were given other settings;
 * then shares would count units twice. */
TACIT_MUST_USE tacit_status_t tacit_fit_ranks_compare(const tacit_fit_t *fit, tacit_error_t *err);
/* own_part.c: where data name the process ("part-%r.csv"), ->own_path <- this one's; TACIT_ERR_ARGUMENT where
 * there is but one process. */
TACIT_MUST_USE tacit_status_t tacit_fit_own_part(tacit_fit_t *fit, tacit_data_source_t *source,
                                                 tacit_error_t *err);
/* Of a rank's own part: prints of its persons. */
TACIT_MUST_USE tacit_status_t tacit_fit_print_units(tacit_fit_t *fit, const tacit_table_t *table,
                                                    tacit_error_t *err);
/* TACIT_ERR_DATA where a person is in two ranks' parts, or two ranks read the same records. */
TACIT_MUST_USE tacit_status_t tacit_fit_parts_disjoint(tacit_fit_t *fit, tacit_error_t *err);
/* A key from the system, the same on all ranks. */
TACIT_MUST_USE tacit_status_t tacit_fit_make_key(const tacit_fit_t *fit, unsigned char key[32],
                                                 tacit_error_t *err);

/* ---- options.c, tuning.c: settings read and checked against each other ---- */

TACIT_MUST_USE tacit_status_t tacit_fit_read_settings(tacit_fit_t *fit, tacit_error_t *err);
/* The same where methods are to be compared. */
TACIT_MUST_USE tacit_status_t tacit_fit_read_common_settings(tacit_fit_t *fit, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_fit_read_tuning(tacit_fit_t *fit, tacit_error_t *err);
/* Is anything tuned by releases? */
bool tacit_fit_is_tuned(const tacit_fit_t *fit);
/* Bounds to plan with where releases are to choose them: what public guesses of the posterior make likely. */
void tacit_fit_prepare_tuning(tacit_fit_t *fit);

/* ---- fit.c ---- */

/* Parse a schema, and keep its text for the report. */
TACIT_MUST_USE tacit_status_t tacit_fit_keep_schema(tacit_fit_t *fit, const char *text, size_t n,
                                                    const char *name, tacit_error_t *err);

/* ---- prepare.c ---- */

/* Schema, formula, model, budget: everything that needs no record. Settings were read. */
TACIT_MUST_USE tacit_status_t tacit_fit_prepare(tacit_fit_t *fit, tacit_error_t *err);

/* ---- program.c: a program in place of the formula ---- */

/* Is it a program, or a formula of a family that has no kernels of its own? */
bool tacit_fit_is_program(const tacit_fit_t *fit);
/* Not of a file, and not one that releases were kept with. */
bool tacit_fit_is_formula(const tacit_fit_t *fit);
/* Priors as they were given. */
tacit_written_priors_t tacit_fit_written_priors(const tacit_fit_t *fit);
/* The program of a formula with priors in the place of those given, compiled; all is the caller's, after
 * failure too. */
TACIT_MUST_USE tacit_status_t tacit_fit_open_written(const tacit_fit_t *fit, const char *formula,
                                                     const tacit_written_priors_t *priors,
                                                     tacit_written_t *written, tacit_program_t **program,
                                                     tacit_model_t *model, tacit_error_t *err);
/* Settings that go with one alone. */
TACIT_MUST_USE tacit_status_t tacit_fit_check_program(const tacit_fit_t *fit, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_fit_open_program(tacit_fit_t *fit, tacit_error_t *err);
/* The fit's program, compiled, says of records what a kept text says; TACIT_ERR_DATA if not. */
TACIT_MUST_USE tacit_status_t tacit_fit_compare_program(const tacit_fit_t *fit, const char *text,
                                                        tacit_error_t *err);

/* ---- effects.c ---- */

/* Is it worth a look at the formula's groups? */
bool tacit_fit_may_have_effects(const tacit_fit_t *fit);
/* ->fixed, ->regression, ->factors (but ->first) and ->slopes of a formula; false: it has no groups, or
 * others than these. */
bool tacit_fit_split_effects(tacit_fit_effects_t *effects, const char *formula, const tacit_schema_t *schema);
/* The slope of a column; NULL: it has no effects. */
tacit_fit_slope_t *tacit_fit_find_slope(tacit_fit_effects_t *effects, const char *column);
/* Is feature j of the regression one of levels, or a slope that they have effects on? */
bool tacit_fit_is_of_effects(const tacit_fit_effects_t *effects, size_t j);
/*
 * ->model, with ->design or ->program, of the formula with `+ g` in the place of (1 | g), and products of x
 * and g in that of (x | g), and ->effects: by open_regression(fit, formula, err), NULL: as a program.
 * *is_taken false: this way does not take the formula, and what was opened is to be freed.
 */
TACIT_MUST_USE tacit_status_t tacit_fit_open_effects(
    tacit_fit_t *fit, tacit_status_t (*open_regression)(tacit_fit_t *, const char *, tacit_error_t *),
    bool *is_taken, tacit_error_t *err);
void tacit_fit_free_effects(tacit_fit_t *fit);
/* Of term i beside the groups. */
const char *tacit_fit_fixed_label(const tacit_fit_effects_t *effects, size_t i);
/* Where something is reported by the formula's program; n_reported: nowhere. */
size_t tacit_fit_find_reported(const tacit_fit_effects_t *effects, const char *label);

/* ---- effects_evidence.c ---- */

/* ->evidence, which is of the regression's terms, becomes one of what is reported. */
TACIT_MUST_USE tacit_status_t tacit_fit_evidence_of_effects(tacit_fit_t *fit, tacit_error_t *err);
/* row, shape (parameters of the regression), of what is reported. */
void tacit_fit_regression_row(const tacit_fit_t *fit, const double *reported, double *row);
/* What draws are of: the parameters of the formula's program where it has effects. */
const tacit_parameters_t *tacit_fit_reported(const tacit_fit_t *fit);

/* ---- start.c: files with a metric and start values ---- */

TACIT_MUST_USE tacit_status_t tacit_fit_read_metric(tacit_fit_t *fit, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_fit_read_init(tacit_fit_t *fit, tacit_error_t *err);

/* ---- aware.c: the same steps of method noise-aware ---- */

/* The first setting given that only chains of releases have, or NULL. */
const char *tacit_fit_chain_setting(const tacit_fit_t *fit);
TACIT_MUST_USE tacit_status_t tacit_fit_aware_check(const tacit_fit_t *fit, tacit_error_t *err);
/* A default that does not suit the schema or the formula becomes dp-hmc. */
TACIT_MUST_USE tacit_status_t tacit_fit_aware_prepare(tacit_fit_t *fit, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_fit_aware_plan(tacit_fit_t *fit, double n_units, tacit_error_t *err);
/* Why family, schema and formula do not suit the method, into `text`; false if they do. */
bool tacit_fit_aware_obstacle(const tacit_fit_t *fit, char text[TACIT_FIT_OBSTACLE_SIZE]);
/* Settings of the method, budget excepted, where nothing stands against it. */
tacit_noise_aware_settings_t tacit_fit_aware_settings(const tacit_fit_t *fit);
/* How many coefficients, or parameters of a program, it is about. */
size_t tacit_fit_aware_dim(const tacit_fit_t *fit);
/* What all its releases may cost together. */
double tacit_fit_aware_rho(const tacit_fit_t *fit);
/* The releases that it makes. */
size_t tacit_fit_aware_n_releases(const tacit_fit_t *fit);
/* The method that is taken by itself where it applies? */
bool tacit_fit_aware_is_default(const tacit_fit_t *fit);

/* ---- run.c: the draws of method noise-aware; curator NULL: from the releases that there are ---- */

TACIT_MUST_USE tacit_status_t tacit_fit_sample_aware(tacit_fit_t *fit, tacit_curator_t *curator,
                                                     tacit_error_t *err);

/*
 * What is private and the run's work depends on, so that the time at which somebody stopped it tells it:
 * nothing is said or kept then of how far it had come. NULL: nothing.
 */
const char *tacit_fit_secret_of_time(const tacit_fit_t *fit);
/* What was charged, in words; silent: not how much of it. */
void tacit_fit_say_spent(tacit_fit_t *fit, bool is_silent);

/* ---- check.c ---- */

/* The one release of a check. */
tacit_event_t tacit_fit_check_event(const tacit_fit_t *fit);

/* As of tacit_fit_kind_t; check_program.c */
TACIT_MUST_USE tacit_status_t tacit_fit_check_of_formula(tacit_fit_t *fit, const char *by,
                                                         tacit_fit_check_t *check, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_fit_check_of_program(tacit_fit_t *fit, const char *by,
                                                         tacit_fit_check_t *check, tacit_error_t *err);
/* A count that was released with noise, drawn towards the one that is expected; at least 1. */
double tacit_fit_check_count(const tacit_fit_check_bin_t *bin, double expected);
/* Quantile of the normal at which a sum of n squares is this large. */
double tacit_fit_check_quantile(double square, double n);

/* ---- kept.c ---- */

/* May this setting be given? Of a fit drawn from releases, few may. */
bool tacit_fit_may_set(const tacit_fit_t *fit, const char *name);
/* A fit of what was kept in n directories or files; on failure *fit may be there, and is to be freed. */
TACIT_MUST_USE tacit_status_t tacit_fit_open_kept(tacit_fit_t **fit, const char *const *paths, size_t n,
                                                  tacit_error_t *err);
/* Settings, model and budget as they were kept; nothing is drawn. */
TACIT_MUST_USE tacit_status_t tacit_fit_prepare_kept(tacit_fit_t *fit, tacit_error_t *err);
/* Charge releases as their fit did: its budget must have had workspace. */
TACIT_MUST_USE tacit_status_t tacit_fit_charge_again(tacit_budget_t *budget, const tacit_releases_t *releases,
                                                     tacit_error_t *err);
/* sites.c: the sites go together; what they cost. Then: draws. */
TACIT_MUST_USE tacit_status_t tacit_fit_settle_sites(tacit_fit_t *fit, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_fit_sample_sites(tacit_fit_t *fit, tacit_error_t *err);
void tacit_fit_clear_sites(tacit_fit_t *fit);
/* Columns of each site of several: all that is reported where effects differ, else the residual sd, if there
 * is one; of programs none. */
size_t tacit_fit_n_own(const tacit_fit_t *fit);
/* What releases.json shall hold; clear after failure too. */
TACIT_MUST_USE tacit_status_t tacit_fit_keep(const tacit_fit_t *fit, tacit_released_t *kept,
                                             tacit_error_t *err);

/* ---- parts.c, part_text.c: records that an engine holds ---- */

/* Before a release: what its parts are to be asked. */
void tacit_fit_ask_parts(void *fit, const tacit_kept_release_t *request);
bool tacit_fit_engine_has_failed(const tacit_fit_t *fit);
/* TACIT_ERR_STATE where the engine failed in a pass; else the status given. */
TACIT_MUST_USE tacit_status_t tacit_fit_engine_failed(const tacit_fit_t *fit, tacit_status_t status,
                                                      tacit_error_t *err);
void tacit_fit_engine_free(struct tacit_fit_engine *engine);
/* A request as text, of a fit of this print; false: no memory. And from it again: release->values is NULL,
 * the parts' numbers are owned by `numbers`. */
bool tacit_fit_request_write(const tacit_kept_release_t *release, const unsigned char print[TACIT_FIT_PRINT],
                             tacit_text_t *text);
TACIT_MUST_USE tacit_status_t tacit_fit_request_read(const char *text,
                                                     const unsigned char print[TACIT_FIT_PRINT],
                                                     tacit_kept_release_t *release, double **numbers,
                                                     tacit_error_t *err);
/* records.c: the source's records and table, whose notes are filled; the fit has failed unless it goes on. */
TACIT_MUST_USE tacit_status_t tacit_fit_collect(tacit_fit_t *fit, const tacit_data_source_t *source,
                                                tacit_records_t **records, tacit_table_t **table,
                                                tacit_table_notes_t *notes, tacit_error_t *err);

/* ---- records.c, plan.c, forecast.c ---- */

/* Columns of the data that the model uses. */
const char *const *tacit_fit_used(const tacit_fit_t *fit, size_t *n_columns);
/* One of them whose missing values drop their records, or NULL. */
const char *tacit_fit_dropping(const tacit_fit_t *fit);
/* TACIT_ERR_ARGUMENT where a person may have several rows and the method goes by records. */
TACIT_MUST_USE tacit_status_t tacit_fit_check_unit(const tacit_fit_t *fit, const tacit_method_t *method,
                                                   tacit_error_t *err);
/* A curator of one blank record: its bounds are the model's and the settings', as of any other. */
TACIT_MUST_USE tacit_status_t tacit_fit_open_blank(tacit_fit_t *fit, tacit_error_t *err);
/* Another fit with the same settings; on failure free it too. */
TACIT_MUST_USE tacit_status_t tacit_fit_copy_settings(tacit_fit_t **copy, const tacit_fit_t *fit,
                                                      tacit_error_t *err);
/* Is it a number of units to plan for? */
TACIT_MUST_USE tacit_status_t tacit_fit_check_number(double n_units, tacit_error_t *err);
/* Plan for the curator; n_units: 0, or the number where the curator's is not meant. */
TACIT_MUST_USE tacit_status_t tacit_fit_make_plan(tacit_fit_t *fit, double n_units, tacit_error_t *err);
/* Append, after `before`, that widths grow with the response's upper bound, where they do. */
void tacit_fit_put_costly_bound(const tacit_noise_aware_settings_t *settings, const char *before,
                                tacit_text_t *to);
/* Append how wide posteriors of method noise-aware are where data are unkind, and what that assumes; nothing
 * where it hardly matters. */
void tacit_fit_put_poor(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings, double n_units,
                        tacit_text_t *to);
/* Label of a numeric feature whose scale this budget is forecast not to tell, by public facts alone; NULL:
 * none. */
const char *tacit_fit_scale_untold(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings,
                                   double n_units);
/* One sentence on it, or on a program whose fit is forecast to end with `bent`, with the budget that would
 * do; nothing where neither is. */
void tacit_fit_put_untold(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings,
                          double n_units, tacit_text_t *to);
/* tacit_noise_aware_bend(); 0 where it cannot be told. */
double tacit_fit_bend(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings, double n_units);
bool tacit_fit_is_bent(double bend);
/* A forecast of noise-aware that falls as the budget grows, and the least epsilon at which it is `bound` or
 * less; INFINITY where none is. */
typedef double (*tacit_fit_forecast_fn)(const tacit_noise_aware_settings_t *settings, size_t dim,
                                        double n_units);
double tacit_fit_epsilon_for(tacit_fit_forecast_fn forecast, tacit_noise_aware_settings_t settings,
                             size_t dim, double n_units, double delta, double bound);
/* The verdict on the plan, and what is said of it. */
TACIT_MUST_USE tacit_status_t tacit_fit_forecast(tacit_fit_t *fit, tacit_error_t *err);

/* ---- folder.c: what is paid for is kept at once ---- */

/* Claim `out`, with room for the report, where one is set and something will be charged. */
TACIT_MUST_USE tacit_status_t tacit_fit_claim_folder(tacit_fit_t *fit, tacit_error_t *err);
/* Keep what was released so far; of private counts, once all is. */
void tacit_fit_keep_releases(tacit_fit_t *fit);
/* Of noise-aware: was all made that is planned? Then the rest costs nothing. */
bool tacit_fit_has_all_releases(const tacit_fit_t *fit);
/* Take over the folder of a fit that did not end. */
TACIT_MUST_USE tacit_status_t tacit_fit_reopen_folder(tacit_fit_t *fit, tacit_error_t *err);
/* Nothing more is written: the folder is removed, but where releases were kept in it. */
void tacit_fit_leave_folder(tacit_fit_t *fit);

/* ---- ledger.c ---- */

/* Look at the ledger, if one is set. */
TACIT_MUST_USE tacit_status_t tacit_fit_open_ledger(tacit_fit_t *fit, tacit_error_t *err);
/* Lower the reservation to what was charged. */
void tacit_fit_settle(tacit_fit_t *fit);

/* ---- statement.c: what is said of a run ---- */

enum { TACIT_FIT_MAX_SETTINGS = 80, TACIT_FIT_MAX_ASSUMPTIONS = 10 };

/* A report with all that it borrows but what the fit holds. */
typedef struct tacit_fit_report {
  tacit_report_t report;
  tacit_report_setting_t settings[TACIT_FIT_MAX_SETTINGS];
  char texts[TACIT_FIT_MAX_SETTINGS][256];
  const char *assumptions[TACIT_FIT_MAX_ASSUMPTIONS];
} tacit_fit_report_t;

/* ---- curves.c ---- */

typedef struct tacit_fit_curves {
  tacit_curve_t *items; /* (n) */
  size_t n;
  double *values;
} tacit_fit_curves_t;

enum { TACIT_CURVE_POINTS = 41, TACIT_CURVE_DRAWS = 400, TACIT_CURVE_MOST = 12 };

/* Of each numeric column of the terms, up to a dozen; none of classes. Clear after failure, too. */
TACIT_MUST_USE tacit_status_t tacit_fit_curves(const tacit_fit_t *fit, tacit_fit_curves_t *curves,
                                               tacit_error_t *err);
void tacit_fit_curves_clear(tacit_fit_curves_t *curves);
/* curves_program.c. Of each numeric column that the program's only outcome depends on; none where its
 * expectation is not known. */
TACIT_MUST_USE tacit_status_t tacit_fit_curves_of_program(const tacit_fit_t *fit, tacit_fit_curves_t *curves,
                                                          tacit_error_t *err);
/* Where a column stays while another moves. */
double tacit_curve_resting(const tacit_column_schema_t *column);
/* Median and 90 % interval of n values, which are sorted. */
void tacit_curve_band(double *values, size_t n, double *low, double *middle, double *high);
/* Append bounds and levels of the columns that the model uses. */
TACIT_MUST_USE tacit_status_t tacit_fit_describe_columns(const tacit_fit_t *fit, tacit_text_t *to,
                                                         tacit_error_t *err);

void tacit_fit_describe(const tacit_fit_t *fit, tacit_fit_report_t *described);
void tacit_fit_list_settings(const tacit_fit_t *fit, tacit_fit_report_t *described);

#endif
