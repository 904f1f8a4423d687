/* A fit's folder read for the officer's page, and its number computed again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/statement_page.h"

enum { MAX_SCHEMA_BYTES = 1 << 20 };

/* Brackets of epsilon have this relative width: an upper end may lie so far above what another accountant
 * proved. */
static const double width = 1e-3;

static const char *words(const json_t *object, const char *key) {
  const char *s = json_string_value(json_object_get(object, key));
  return s != NULL ? s : "";
}

static tacit_status_t bad(const char *path, const char *field, const char *expected, tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_SYNTAX, field, "%s: \"%s\" must be %s", path, field, expected);
}

/* Events that name a file are of no fit, and the file would be opened. */
static tacit_status_t take_event(const json_t *item, const char *path, const char *key, size_t i,
                                 tacit_event_t *event, tacit_error_t *err) {
  const char *spec = words(item, "event");
  json_int_t count = json_integer_value(json_object_get(item, "count"));
  tacit_error_t why;
  if (spec[0] == '\0' || tacit_event_names_file(spec) || count < 1) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, key,
                           "%s: %s, item %zu: needs an \"event\" as tacit account --event takes it, without "
                           "a file, and a \"count\" from 1",
                           path, key, i + 1);
  }
  if (tacit_event_parse(event, spec, &why) != TACIT_OK) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, key, "%s: %s, item %zu: %s", path, key, i + 1, why.message);
  }
  event->count = (uint64_t)count;
  snprintf(event->label, sizeof event->label, "%s", words(item, "label"));
  return TACIT_OK;
}

static tacit_status_t take_events(tacit_testimony_t *said, const char *path, tacit_error_t *err) {
  said->is_scheduled = json_object_get(said->root, "schedule") != NULL;
  const char *key = said->is_scheduled ? "schedule" : "events";
  const json_t *list = json_object_get(said->root, key);
  if (!json_is_array(list)) {
    return bad(path, key, "a list", err);
  }
  said->events = tacit_alloc_zero(json_array_size(list) + 1, sizeof *said->events);
  if (said->events == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = TACIT_OK;
  for (; said->n_events < json_array_size(list) && status == TACIT_OK; said->n_events++) {
    status = take_event(json_array_get(list, said->n_events), path, key, said->n_events,
                        &said->events[said->n_events], err);
  }
  return status;
}

/* The page says what the command prints, so it must have been computed; and a file that claims less than its
 * events cost is no claim. */
static tacit_status_t compute_again(tacit_testimony_t *said, const char *path, tacit_error_t *err) {
  const tacit_account_options_t options = {.relation = said->relation, .is_in_order = said->is_scheduled};
  double claimed = said->claim.epsilon;
  if (said->n_events == 0) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_account_epsilon(NULL, said->events, said->n_events, &options,
                                                said->claim.delta, &said->again, err);
  if (status == TACIT_OK && !(said->again.epsilon <= claimed * (1 + width))) {
    status = tacit_error_set(err, TACIT_ERR_SYNTAX, "epsilon",
                             "%s: claims epsilon %.10g, but the releases it lists compose to %.10g at delta "
                             "%g: the file is not as it was written",
                             path, claimed, said->again.epsilon, said->claim.delta);
  }
  return status;
}

static tacit_status_t take_claim(tacit_testimony_t *said, const char *path, tacit_error_t *err) {
  const json_t *max_rows = json_object_get(said->root, "max_rows"),
               *ledger = json_object_get(said->root, "ledger");
  const json_t *charged = json_object_get(said->root, "epsilon_charged");
  if (said->unit[0] == '\0') {
    return bad(path, "unit", "\"row\" or the column that names units", err);
  }
  if (json_integer_value(max_rows) < 1) {
    return bad(path, "max_rows", "a whole number from 1", err);
  }
  if (!(said->claim.delta > 0 && said->claim.delta < 1)) {
    return bad(path, "delta", "above 0 and below 1", err);
  }
  said->max_rows = (uint64_t)json_integer_value(max_rows);
  said->n_units =
      json_number_value(json_object_get(said->root, "n_units")); /* 0: private, or of an earlier build */
  said->charged = json_is_number(charged) ? json_number_value(charged) : NAN;
  if (ledger != NULL) {
    said->ledger = words(ledger, "data_id");
    said->spend = (uint64_t)json_integer_value(json_object_get(ledger, "spend"));
  }
  tacit_status_t status = take_events(said, path, err);
  return status == TACIT_OK ? compute_again(said, path, err) : status;
}

static tacit_status_t read_privacy(tacit_testimony_t *said, const char *path, tacit_error_t *err) {
  tacit_status_t status = tacit_report_load_json(path, &said->root, err);
  TACIT_THEN(status, tacit_report_privacy_of(said->root, path, &said->claim, err));
  if (status != TACIT_OK) {
    return status;
  }
  said->unit = words(said->root, "unit");
  said->version = words(said->root, "version");
  said->commit = words(said->root, "commit");
  said->method = words(said->root, "method");
  said->end = words(said->root, "end");
  said->delta_meaning = words(said->root, "delta_meaning");
  said->accountant = words(said->root, "accountant");
  said->statistic = words(said->root, "statistic");
  said->noise = words(said->root, "noise");
  said->composition = words(said->root, "composition");
  if (said->claim.is_private && !tacit_relation_parse(words(said->root, "relation"), &said->relation)) {
    return bad(path, "relation", "\"substitute\" or \"add-remove\"", err);
  }
  return said->claim.is_private && !said->claim.is_post_processing ? take_claim(said, path, err) : TACIT_OK;
}

static tacit_status_t path_of(tacit_text_t *path, const char *folder, const char *name, tacit_error_t *err) {
  path->length = 0;
  tacit_text_printf(path, "%s/%s", folder, name);
  return path->failed ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_testimony_read(tacit_testimony_t *said, const char *folder, tacit_error_t *err) {
  *said = (tacit_testimony_t){.charged = NAN};
  tacit_text_t path = {0}, draws = {0};
  size_t n;
  tacit_status_t status = tacit_report_check_folder(folder, err);
  TACIT_THEN(status, path_of(&path, folder, "privacy.json", err));
  TACIT_THEN(status, read_privacy(said, path.data, err));
  TACIT_THEN(status, path_of(&draws, folder, "draws-1.csv", err));
  if (status == TACIT_OK) {
    status = tacit_stan_csv_open(&said->csv, draws.data, err);
    said->csv.path = NULL; /* borrowed of `draws` */
  }
  TACIT_THEN(status, path_of(&path, folder, "schema.yaml", err));
  if (status == TACIT_OK && tacit_report_exists(path.data)) {
    status = tacit_file_read(path.data, MAX_SCHEMA_BYTES, &said->schema, &n, err);
  }
  tacit_text_clear(&path);
  tacit_text_clear(&draws);
  return status;
}

void tacit_testimony_clear(tacit_testimony_t *said) {
  tacit_stan_csv_clear(&said->csv);
  json_decref(said->root);
  tacit_free(said->schema);
  tacit_free(said->events);
  *said = (tacit_testimony_t){.charged = NAN};
}

const char *tacit_testimony_assumption(const tacit_testimony_t *said, size_t i) {
  return json_string_value(json_array_get(json_object_get(said->root, "assumptions"), i));
}
