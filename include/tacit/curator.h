/**
 * @file curator.h
 * The privacy boundary. A curator owns the records; releases are all that ever
 * leaves it. Each release, in this order: describes itself as an event, is
 * charged to the budget (a refusal is an ordinary status and computes nothing),
 * computes an exact integer sum of clipped contributions, adds exact noise.
 * Samplers (tacit/sample.h) ask it for releases; a program opens it and hands it on.
 */
#ifndef TACIT_CURATOR_H
#define TACIT_CURATOR_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tacit_records;
struct tacit_record_model;
struct tacit_budget;
struct tacit_noise;

typedef struct tacit_curator tacit_curator_t;

/** Of releases that say how well a fit fits. */
enum {
  TACIT_FIT_MAX_BINS = 32, /**< most bins of predictions, or of a quantity */
  TACIT_PIT_CELLS = 10     /**< cells of [0, 1] that probability integral transforms are counted in */
};

typedef struct tacit_curator_settings {
  /**
   * L2 bound on one unit's gradient contribution. 0: the model's own bound (an error if it has
   * none and the curator is private). A bound below the model's own clips.
   */
  double clip_bound_grad;
  /**
   * Bound on one unit's log-likelihood ratio per unit of ||theta_prop - theta||_2.
   * 0: the model's own ratio bound.
   */
  double clip_bound_ratio;
  double temperature_power;         /**< T in [0, 1]: l_i is replaced by T l_i; default 1 */
  size_t max_unit_rows;             /**< most records of one unit (schema max_rows); default 1 */
  size_t n_threads;                 /**< >= 1; results do not depend on it; default 1 */
  struct tacit_noise *subset_noise; /**< exposed curators: draws minibatches; borrowed, may be NULL */
  const tacit_ranks_t *ranks;       /**< NULL: one process holds all records; borrowed */
} tacit_curator_settings_t;

TACIT_API tacit_curator_settings_t tacit_curator_settings_default(void);

/**
 * Open a private curator. Takes the records (freed with the curator, and on failure); borrows
 * model, budget and noise, which must outlive it.
 * @return TACIT_ERR_SENSITIVITY if no bound on a unit's contribution is known: say clip_bound_grad.
 */
TACIT_API TACIT_MUST_USE tacit_status_t
tacit_curator_new(tacit_curator_t **curator, struct tacit_records *records,
                  const struct tacit_record_model *model, struct tacit_budget *budget,
                  struct tacit_noise *noise, const tacit_curator_settings_t *settings, tacit_error_t *err);

/**
 * Open an exposed curator: no noise, no charge, NOT PRIVATE. For baselines, tests, public data.
 * Clip bounds apply only where they are given (> 0).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_new_exposed(tacit_curator_t **curator,
                                                                  struct tacit_records *records,
                                                                  const struct tacit_record_model *model,
                                                                  const tacit_curator_settings_t *settings,
                                                                  tacit_error_t *err);

TACIT_API void tacit_curator_free(tacit_curator_t *curator);

/* ---- public facts ---- */

/** False for an exposed curator and for one whose noise is not secret. */
TACIT_API bool tacit_curator_is_private(const tacit_curator_t *curator);
#ifdef __cplusplus
}
#endif
#endif
