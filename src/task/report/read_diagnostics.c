/* diagnostics.json of a report. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/diagnose.h"
#include "report/read_internal.h"
#include "report/report_internal.h"

static double number_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

/* SIZE_MAX where it is none, or the whole fit. */
static size_t term_of(const tacit_report_read_t *read, const json_t *object) {
  const char *label = json_string_value(json_object_get(object, "term"));
  for (size_t j = 0; label != NULL && j < read->draws.n_reported; j++) {
    if (strcmp(label, read->labels[j]) == 0) {
      return j;
    }
  }
  return SIZE_MAX;
}

/* No number stands for one beyond all numbers, which JSON has none for: what was found then is what the
 * verdict says. */
static double statistic_of(const json_t *check, tacit_check_id_t id) {
  double statistic = number_of(check, "statistic");
  const char *verdict = json_string_value(json_object_get(check, "verdict"));
  bool is_flagged = verdict != NULL && strcmp(verdict, "fine") != 0;
  return !isnan(statistic) ? statistic : is_flagged == tacit_check_info(id)->is_below ? -INFINITY : INFINITY;
}

/* Checks of a later version that this one does not know are passed over. */
static void read_evidence(const json_t *root, tacit_report_read_t *read) {
  const json_t *checks = json_object_get(root, "checks"), *prior = json_object_get(root, "prior");
  tacit_evidence_t *evidence = &read->evidence;
  tacit_check_id_t id;
  for (size_t i = 0; i < json_array_size(checks); i++) {
    const json_t *check = json_array_get(checks, i);
    const char *name = json_string_value(json_object_get(check, "id"));
    if (name != NULL && tacit_check_find(name, &id) != NULL) {
      size_t term = term_of(read, check);
      const char *label = json_string_value(json_object_get(check, "term"));
      if (term == SIZE_MAX && label != NULL) {
        tacit_checks_add_of(&evidence->checks, id, label, statistic_of(check, id));
      } else {
        tacit_checks_add(&evidence->checks, id, term, statistic_of(check, id));
      }
    }
  }
  for (size_t i = 0; i < json_array_size(prior); i++) {
    size_t j = term_of(read, json_array_get(prior, i));
    if (j == evidence->n_terms && j < TACIT_MAX_EVIDENCE) { /* written in order */
      evidence->prior_sd[j] = number_of(json_array_get(prior, i), "sd");
      evidence->prior_share[j] = number_of(json_array_get(prior, i), "share");
      evidence->n_terms++;
    }
  }
}

tacit_status_t tacit_report_read_diagnostics(const char *folder, tacit_text_t *name,
                                             tacit_report_read_t *read, tacit_error_t *err) {
  json_t *root;
  name->length = 0;
  tacit_text_printf(name, "%s/diagnostics.json", folder);
  if (name->failed) {
    return tacit_error_memory(err);
  }
  if (!tacit_report_exists(name->data)) { /* most inferences from a release have none */
    return read->method == NULL || strcmp(read->method, "noise-aware") != 0
               ? TACIT_OK
               : tacit_error_set(
                     err, TACIT_ERR_MISSING, "path",
                     "%s is missing, which says what of the fit cannot be believed: copy the whole "
                     "folder",
                     name->data);
  }
  tacit_status_t status = tacit_report_load_json(name->data, &root, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t i = 0; i < TACIT_N_PUBLISHABLE; i++) {
    read->published.values[i] = number_of(root, tacit_diagnostic_info(i)->name);
  }
  read_evidence(root, read);
  json_decref(root);
  return TACIT_OK;
}
