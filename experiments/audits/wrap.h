/*
 * Functions that the linker calls the audit for, as __wrap_NAME, where others call NAME; the library's own is
 * __real_NAME. All are calls between source files of the library; the list is in experiments/meson.build.
 */
#ifndef AUDIT_WRAP_H
#define AUDIT_WRAP_H

#include "curator/rows.h"
#include "door/door_internal.h"

/* Declare both. */
#define WRAPPED(result, name, ...)                                                                           \
  result __real_##name(__VA_ARGS__);                                                                         \
  result __wrap_##name(__VA_ARGS__)

/* releases (adversary.c) */
WRAPPED(tacit_status_t, tacit_curator_release_gradient, tacit_curator_t *, size_t, const double *, double,
        double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_sampled_gradient, tacit_curator_t *, size_t, const double *,
        double, double, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_log_ratio, tacit_curator_t *, size_t, const double *,
        const double *, double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_sampled_log_ratio, tacit_curator_t *, size_t, const double *,
        const double *, double, double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_accept, tacit_curator_t *, const tacit_accept_rule_t *,
        const tacit_accept_pairs_t *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_minibatch_accept, tacit_curator_t *,
        const tacit_minibatch_rule_t *, const tacit_accept_pairs_t *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_langevin_accept, tacit_curator_t *, const tacit_accept_rule_t *,
        const tacit_langevin_pairs_t *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_second_moments, tacit_curator_t *,
        const tacit_row_weighting_t *, double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_score, tacit_curator_t *, const tacit_score_point_t *, double,
        double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_information, tacit_curator_t *, const tacit_score_point_t *,
        double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_score_squares, tacit_curator_t *, const tacit_score_point_t *,
        double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_fit_check, tacit_curator_t *, const tacit_fit_point_t *, double,
        double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_count, tacit_curator_t *, double, double *, double *,
        tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_unit_rows, tacit_curator_t *, size_t, const size_t *, double,
        double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_joint_moments, tacit_curator_t *, const tacit_row_weighting_t *,
        const tacit_row_residual_t *, double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_cells, tacit_curator_t *, const tacit_row_cells_t *, double,
        double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_residual_shapes, tacit_curator_t *, const tacit_fit_point_t *,
        const double *, double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_centred_score, tacit_curator_t *, const tacit_centred_point_t *,
        double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_centred_slope, tacit_curator_t *, const tacit_centred_point_t *,
        double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_bands, tacit_curator_t *, const tacit_banded_t *,
        const tacit_bands_t *, double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_lengths, tacit_curator_t *, const tacit_banded_t *, size_t,
        const double *, double, double *, double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_norms, tacit_curator_t *, const double *, double, double *,
        double *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_curator_release_curvature, tacit_curator_t *, const double *, double, double *,
        double *, tacit_error_t *);
/* what the releases before it lead to */
WRAPPED(tacit_status_t, tacit_curator_set_clip_bounds, tacit_curator_t *, double, double, tacit_error_t *);

/* where errors are planted, and charges let pass (faults.c) */
WRAPPED(tacit_status_t, tacit_budget_charge, tacit_budget_t *, const tacit_event_t *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_noise_rounded_gaussian, tacit_noise_t *, double, size_t, int64_t *,
        tacit_error_t *);
WRAPPED(double, tacit_rows_whiten, size_t, const double *, const double *, double *);
WRAPPED(bool, tacit_door_shape_add, const tacit_door_shape_t *, size_t, const int64_t *, tacit_wide_t *);
WRAPPED(tacit_status_t, tacit_noise_rounded_laplace, tacit_noise_t *, double, size_t, int64_t *,
        tacit_error_t *);
WRAPPED(tacit_status_t, tacit_noise_discrete_laplace, tacit_noise_t *, double, size_t, int64_t *,
        tacit_error_t *);
WRAPPED(tacit_status_t, tacit_noise_discrete_gaussian, tacit_noise_t *, double, size_t, int64_t *,
        tacit_error_t *);
WRAPPED(tacit_status_t, tacit_noise_logistic_bit, tacit_noise_t *, int64_t, bool *, tacit_error_t *);
WRAPPED(tacit_status_t, tacit_noise_subset, tacit_noise_t *, uint64_t, size_t, uint64_t *, tacit_error_t *);
WRAPPED(const size_t *, tacit_records_unit_offsets, const tacit_records_t *, size_t *);
WRAPPED(size_t *, tacit_records_edit_units, tacit_records_t *);
WRAPPED(double, tacit_door_factor, const tacit_door_t *);
WRAPPED(tacit_lattice_t, tacit_lattice_for, const tacit_vectors_t *, double);
WRAPPED(void, tacit_scalars_sum, tacit_door_t *, const tacit_scalars_t *);

#endif
