/* What stands behind a fit: kernels of a formula's family, or a program. */
#include "data/records.h"
#include "fit/fit_internal.h"

/* ---- a formula ---- */

static const char *const *columns_of_formula(const tacit_fit_t *fit, size_t *n) {
  return tacit_design_columns(fit->design, n);
}

static tacit_status_t pack_formula(const tacit_fit_t *fit, tacit_records_t **records,
                                   const tacit_table_t *table, size_t part, size_t n_parts,
                                   tacit_error_t *err) {
  return tacit_design_pack_part(records, fit->design, table, part, n_parts, fit->limits.n_threads,
                                tacit_fit_value(fit, "scratch"), err);
}

static tacit_fit_words_t words_of_formula(const tacit_fit_t *fit) {
  tacit_family_t family = fit->family;
  return (tacit_fit_words_t){tacit_family_string(family),
                             family == TACIT_FAMILY_GAUSSIAN ? "joint moments" : "weighted scores",
                             family == TACIT_FAMILY_BERNOULLI ? "Probability"
                             : family == TACIT_FAMILY_POISSON ? "Expected count"
                                                              : "Expected response"};
}

static size_t n_beside_formula(const tacit_fit_t *fit) {
  return fit->model.parameters.n_reported - tacit_design_n_features(fit->design);
}

static const tacit_fit_kind_t of_formula = {.columns = columns_of_formula,
                                            .pack = pack_formula,
                                            .words = words_of_formula,
                                            .n_beside = n_beside_formula,
                                            .check = tacit_fit_check_of_formula};

/* ---- a program ---- */

static const char *const *columns_of_program(const tacit_fit_t *fit, size_t *n) {
  return tacit_program_columns(fit->program, n);
}

static tacit_status_t pack_program(const tacit_fit_t *fit, tacit_records_t **records,
                                   const tacit_table_t *table, size_t part, size_t n_parts,
                                   tacit_error_t *err) {
  return tacit_program_pack_part(records, fit->program, table, part, n_parts, fit->limits.n_threads,
                                 tacit_fit_value(fit, "scratch"), err);
}

static tacit_fit_words_t words_of_program(const tacit_fit_t *fit) {
  (void)fit;
  return (tacit_fit_words_t){"program", "centred scores", "Expected response"};
}

static size_t n_beside_program(const tacit_fit_t *fit) {
  (void)fit;
  return 0;
}

static const tacit_fit_kind_t of_program = {.columns = columns_of_program,
                                            .pack = pack_program,
                                            .words = words_of_program,
                                            .n_beside = n_beside_program,
                                            .check = tacit_fit_check_of_program};

const tacit_fit_kind_t *tacit_fit_kind(const tacit_fit_t *fit) {
  return fit->program != NULL ? &of_program : &of_formula;
}
