#ifndef TACIT_ACCOUNT_COMPOSITION_H
#define TACIT_ACCOUNT_COMPOSITION_H

#include "account/pld.h"

/*
 * Certified brackets of what events cost by their dominating pairs, the worse of the two directions.
 * TACIT_ERR_ARGUMENT for events without a known pair, bits among them. options as in tacit_accountant_t, not
 * NULL; log_delta is log(delta) as rounded.
 */
TACIT_MUST_USE tacit_status_t tacit_composition_epsilon(const tacit_event_t *events, size_t n_events,
                                                        const tacit_account_options_t *options,
                                                        double log_delta, tacit_bracket_t *epsilon,
                                                        tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_composition_log_delta(const tacit_event_t *events, size_t n_events,
                                                          const tacit_account_options_t *options,
                                                          double epsilon, tacit_bracket_t *log_delta,
                                                          tacit_error_t *err);
/* The least epsilon that holds at delta 0; INFINITY where none does. */
TACIT_MUST_USE tacit_status_t tacit_composition_pure(const tacit_event_t *events, size_t n_events,
                                                     tacit_relation_t relation, double *epsilon,
                                                     tacit_error_t *err);

#endif
