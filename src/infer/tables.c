/* A population known by noisy margins: no model of the records but that of largest entropy, and a prior of its effects. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/infer_internal.h"

static const double PRIOR_SD = 2.5; /* log odds */

tacit_status_t tacit_infer_read_table_prior(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t n) {
  static const char *const keys[] = {"records", "effects", NULL};
  infer->records = "table";
  infer->prior_sd = PRIOR_SD;
  if (text == NULL) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_yaml_open(file, text, n, keys);
  const yaml_node_t *records = status == TACIT_OK ? tacit_yaml_find(file, "records") : NULL;
  double location = 0;
  if (status == TACIT_OK && (records == NULL || strcmp(tacit_yaml_scalar(records), "table") != 0)) {
    return records == NULL
               ? tacit_yaml_missing(file, "records", "records: table")
               : tacit_yaml_fault(file, records, "margins go with a model of `records: table`, or none, not '%s'", tacit_yaml_scalar(records));
  }
  if (status == TACIT_OK && tacit_yaml_find(file, "effects") != NULL) {
    status = tacit_infer_law2(file, "effects", "normal", "normal(0, scale)", &location, &infer->prior_sd);
  }
  if (status == TACIT_OK && (fabs(location) > 0 || !(infer->prior_sd > 0 && infer->prior_sd <= 1e3))) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "effects"), "effects: expected normal(0, scale), a scale above 0 and at most 1000");
  }
  return status;
}

static tacit_status_t label_effects(tacit_infer_t *infer, tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  size_t k = tacit_tables_n_effects(m->tables), levels[TACIT_TABLES_MAX_COLUMNS];
  bool is_n_unknown = !(m->n > 0);
  tacit_status_t status = tacit_infer_allocate_labels(infer, k + is_n_unknown, err);
  for (size_t i = 0; i < k && status == TACIT_OK; i++) {
    tacit_text_t label = {0};
    char name[32];
    uint32_t columns = tacit_tables_effect(m->tables, i, levels);
    for (size_t j = 0; j < m->n_columns; j++) {
      if ((columns >> j & 1) != 0) {
        tacit_text_printf(&label, "%s%s=%s", label.length > 0 ? ":" : "", m->names[j], m->levels[j][levels[j]]);
      }
    }
    snprintf(name, sizeof name, "effect.%zu", i + 1);
    status = label.failed ? tacit_error_memory(err) : tacit_infer_set_label(infer, i, label.data, name, err);
    tacit_text_clear(&label);
  }
  return status == TACIT_OK && is_n_unknown ? tacit_infer_set_label(infer, k, "n", "n", err) : status;
}

static void find_scales(const tacit_margins_file_t *m, double *least, double *most) {
  *least = INFINITY;
  *most = 0;
  for (size_t i = 0; i < tacit_tables_n_cells(m->tables); i++) {
    *least = fmin(*least, m->scales[i]);
    *most = fmax(*most, m->scales[i]);
  }
}

static void describe(tacit_infer_t *infer) {
  const tacit_margins_file_t *m = infer->margins;
  char records[64] = "a private number of records";
  size_t n_cells = tacit_tables_n_cells(m->tables);
  double least, most;
  find_scales(m, &least, &most);
  if (m->n > 0) {
    snprintf(records, sizeof records, "%.0f records", m->n);
  }
  snprintf(infer->statistic, sizeof infer->statistic, "%zu margins of %s in %zu columns, %zu cells", m->n_margins, records, m->n_columns, n_cells);
  int length = snprintf(infer->noise, sizeof infer->noise, "%s, scale %.6g", m->is_discrete ? "discrete-gaussian" : "gaussian", least);
  if (most > least) {
    snprintf(infer->noise + length, sizeof infer->noise - (size_t)length, " to %.6g", most);
  }
}

tacit_status_t tacit_infer_read_margins(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t length, size_t n) {
  tacit_augment_method_t asked = infer->settings.method;
  infer->margins = tacit_alloc_zero(1, sizeof *infer->margins);
  if (infer->margins == NULL) {
    return tacit_error_memory(file->err);
  }
  tacit_margins_file_t *m = infer->margins;
  tacit_status_t status = tacit_margins_read(m, file, text, length);
  if (status == TACIT_OK && n > 0 && m->n > 0 && fabs(m->n - (double)n) > 0) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "n"), "n is %.0f here and %zu on the command line", m->n, n);
  }
  m->n = n > 0 ? (double)n : m->n;
  infer->model.n_records = (size_t)m->n;
  if (status == TACIT_OK && asked != TACIT_AUGMENT_AUTO && asked != TACIT_AUGMENT_MARGINAL) {
    return tacit_error_set(file->err, TACIT_ERR_ARGUMENT, "method",
                           "margins are inferred from by --method marginal alone: no records are drawn along");
  }
  status = status == TACIT_OK ? tacit_infer_read_privacy(infer, file) : status;
  status = status == TACIT_OK ? label_effects(infer, file->err) : status;
  if (status == TACIT_OK) {
    describe(infer);
  }
  return status;
}

static void find_checks(tacit_infer_t *infer) {
  const tacit_margins_file_t *m = infer->margins;
  const tacit_tables_findings_t *f = &infer->findings;
  tacit_checks_t *checks = &infer->evidence.checks;
  double least, most;
  tacit_checks_add(checks, TACIT_CHECK_MARGINS_CONTRADICT, SIZE_MAX, f->contradiction);
  tacit_checks_add(checks, TACIT_CHECK_EFFECTS_SWAMPED, SIZE_MAX, (double)f->n_swamped);
  tacit_checks_add(checks, TACIT_CHECK_CELLS_SPARSE, SIZE_MAX, (double)f->n_sparse);
  if (m->is_discrete) {
    find_scales(m, &least, &most);
    tacit_checks_add(checks, TACIT_CHECK_NOISE_COARSE, SIZE_MAX, least);
  }
}

tacit_status_t tacit_infer_run_margins(tacit_infer_t *infer, tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  const tacit_noisy_margins_t release = {.values = m->values, .scales = m->scales, .n_records = m->n, .prior_sd = infer->prior_sd};
  tacit_status_t status = tacit_tables_infer(m->tables, &release, &infer->settings, &infer->draws, &infer->result, &infer->findings, err);
  if (status == TACIT_OK) {
    find_checks(infer);
  }
  return status;
}

void tacit_infer_say_margins(const tacit_infer_t *infer, tacit_text_t *to) {
  tacit_text_printf(to,
                    "the table of largest entropy with these margins, %zu effects, each normal(0, %.4g) beforehand; records integrated out "
                    "(approximate); trajectories accepted with probability %.2f\n",
                    tacit_tables_n_effects(infer->margins->tables), infer->prior_sd, infer->result.path_accept);
}

void tacit_infer_clear_margins(tacit_infer_t *infer) {
  if (infer->margins != NULL) {
    tacit_margins_clear(infer->margins);
    tacit_free(infer->margins);
  }
}
