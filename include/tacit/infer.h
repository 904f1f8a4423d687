/**
 * @file infer.h
 * Parameters from a statistic that was released with noise, from settings to report: everything that `tacit
 * infer` decides.
 *
 *     tacit_infer_new(&infer, "model.yaml", &err);
 *     tacit_infer_set(infer, "statistic", "moments.yaml", &err);   by the names of tacit infer --help
 *     tacit_infer_read(infer, &err);                               both files; checks that they suit each
 * other tacit_infer_run(infer, NULL, NULL, &err); tacit_infer_write(infer, "results", &err);
 *     tacit_infer_free(infer);
 *
 * Steps come in this order. Everything here is computed from the released statistic and public settings: it
 * reads no record, and costs no privacy. Errors name the setting or the file at fault in tacit_error_t.field.
 * What the two files hold: tacit infer --help.
 */
#ifndef TACIT_INFER_H
#define TACIT_INFER_H

#include "tacit/base.h"
#include "tacit/draws.h"
#include "tacit/setting.h"

#ifdef __cplusplus
extern "C" {
#endif

/** All settings, shape (*n), in the order of tacit infer --help. */
TACIT_API const tacit_setting_t *tacit_infer_settings(size_t *n);

typedef struct tacit_infer tacit_infer_t;
struct tacit_evidence;

/**
 * Begin, with the file of a model of the records; NULL where tacit_infer_set_model() gives it. *infer is NULL
 * on failure, which tacit_infer_free() allows.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_new(tacit_infer_t **infer, const char *model,
                                                        tacit_error_t *err);
TACIT_API void tacit_infer_free(tacit_infer_t *infer);
/** As tacit_fit_set(). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_set(tacit_infer_t *infer, const char *name,
                                                        const char *text, tacit_error_t *err);
/** The model as n bytes of YAML; `name` stands for its file in messages. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_set_model(tacit_infer_t *infer, const char *text,
                                                              size_t n, const char *name, tacit_error_t *err);
/** The same for the statistic, instead of the setting `statistic`; of a program each call adds one. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_set_statistic(tacit_infer_t *infer, const char *text,
                                                                  size_t n, const char *name,
                                                                  tacit_error_t *err);

/**
 * Read model and statistic, and check that they suit each other and the settings.
 * @return TACIT_ERR_SYNTAX for what is wrong with the YAML, with its place; TACIT_ERR_ARGUMENT for settings,
 * priors or bounds that cannot be; TACIT_ERR_EXISTS if there is something at the setting `out`.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_read(tacit_infer_t *infer, tacit_error_t *err);

/**
 * Draw.
 *
 * `progress` (may be NULL) is called from the thread of this call, whatever the setting `threads`: after
 * iterations of a chain, others being at most 50 away; its acceptance rate is NaN. If it returns false the
 * run stops, and draws that every chain has are kept.
 *
 * @return TACIT_OK with draws to be had; TACIT_ERR_INTERRUPTED if there is not one.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_run(tacit_infer_t *infer, tacit_progress_fn progress,
                                                        void *user, tacit_error_t *err);

/* ---- results: NULL or "" before tacit_infer_run() has returned TACIT_OK; borrowed ---- */

TACIT_API const tacit_draws_t *tacit_infer_draws(const tacit_infer_t *infer);
/** "complete" or "interrupted". */
TACIT_API const char *tacit_infer_end(const tacit_infer_t *infer);
/** What the inference tells of itself besides its draws (tacit/diagnose.h); NULL: nothing. */
TACIT_API const struct tacit_evidence *tacit_infer_evidence(const tacit_infer_t *infer);
/** In words: the statistic ("mean of 500 records clamped to [-1, 1]") and the distribution of the records
 * ("gaussian"). */
TACIT_API const char *tacit_infer_statistic(const tacit_infer_t *infer);
TACIT_API const char *tacit_infer_records(const tacit_infer_t *infer);
/** As the user writes them and as Stan CSV names them; shape (draws->n_reported). */
TACIT_API const char *const *tacit_infer_labels(const tacit_infer_t *infer);
TACIT_API const char *const *tacit_infer_names(const tacit_infer_t *infer);
/** As tacit_fit_statement(), tacit_fit_privacy_json(): owned, tacit_free(). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_statement(const tacit_infer_t *infer, char **text,
                                                              tacit_error_t *err);
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_privacy_json(const tacit_infer_t *infer, char **text,
                                                                 tacit_error_t *err);
/** Write the report into a new directory; NULL: that of the setting `out`. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_infer_write(const tacit_infer_t *infer, const char *path,
                                                          tacit_error_t *err);

/** What there is to say, in lines for a person. */
typedef enum tacit_infer_text {
  TACIT_INFER_TEXT_WARNING =
      0, /**< of the release, once it is read: that it is not private, or protected less than it claimed */
  TACIT_INFER_TEXT_METHOD, /**< how the draws were made, and whether they are exact */
  TACIT_INFER_TEXT_COST,   /**< what the release was, and cost */
  TACIT_INFER_N_TEXTS
} tacit_infer_text_t;

/** "" where there is nothing to say; borrowed. */
TACIT_API const char *tacit_infer_text(const tacit_infer_t *infer, tacit_infer_text_t which);

#ifdef __cplusplus
}
#endif
#endif
