/*
 * The folder of a run from before its first charge on: with room for what is to come, and with what was
 * released as soon as it is, so that nothing that was paid for is lost with the process. docs/releases.md, "A
 * fit that did not end".
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "report/report.h"
#include "report/report_internal.h"

/* Bytes of a number in a file with its comma, at most; of pages, statements, releases and the like. */
static const size_t number_size = 26, page_size = (size_t)1 << 20;

/* More than the report will need: every iteration of every chain, as text, and pages. */
static size_t room_of(const tacit_fit_t *fit) {
  size_t width = tacit_fit_reported(fit)->n_reported + 10,
         n_rows = fit->settings.n_warmup + fit->settings.n_draws, d = fit->model.parameters.dim;
  size_t released = fit->method->is_one_off ? TACIT_NOISE_AWARE_N_EVENTS * (2 * d * d + 4 * d + 64) : 0;
  return page_size + number_size * (fit->settings.n_chains * n_rows * width + released + 64 * width);
}

tacit_status_t tacit_fit_claim_folder(tacit_fit_t *fit, tacit_error_t *err) {
  if (fit->is_exposed || !tacit_fit_has(fit, "out") || !tacit_fit_is_first_rank(fit)) {
    return TACIT_OK;
  }
  fit->folder = tacit_alloc_zero(1, sizeof *fit->folder);
  return fit->folder == NULL
             ? tacit_error_memory(err)
             : tacit_directory_claim(fit->folder, tacit_fit_value(fit, "out"), room_of(fit), err);
}

void tacit_fit_leave_folder(tacit_fit_t *fit) {
  if (fit->folder != NULL) {
    tacit_directory_clear(fit->folder);
    tacit_free(fit->folder);
    fit->folder = NULL;
  }
}

bool tacit_fit_has_all_releases(const tacit_fit_t *fit) {
  tacit_event_t planned[TACIT_NOISE_AWARE_N_EVENTS];
  size_t n_planned, n_events, to_make = 0, made = 0;
  if (!fit->method->is_one_off || fit->budget == NULL) {
    return false;
  }
  n_planned = tacit_noise_aware_events(&fit->aware, planned);
  const tacit_event_t *events = tacit_budget_events(fit->budget, &n_events);
  for (size_t i = 0; i < n_planned; i++) {
    to_make += (size_t)planned[i].count;
  }
  for (size_t i = 0; i < n_events; i++) {
    made += (size_t)events[i].count;
  }
  return made >= to_make && fit->releases.n >= made;
}

/* privacy.json and privacy.txt as the whole run's: nothing is charged after its last release. */
static tacit_status_t put_statements(const tacit_fit_t *fit, tacit_error_t *err) {
  tacit_fit_report_t described;
  tacit_text_t json = {0};
  char *text = NULL;
  tacit_fit_describe(fit, &described);
  described.report.end = "complete";
  tacit_report_privacy_json(&described.report, &json);
  tacit_status_t status = tacit_directory_replace(fit->folder, "privacy.json", &json, err);
  tacit_text_clear(&json);
  TACIT_THEN(status, tacit_report_statement(&described.report, &text, err));
  if (status == TACIT_OK) {
    const tacit_text_t statement = {.data = text, .length = strlen(text)};
    status = tacit_directory_replace(fit->folder, "privacy.txt", &statement, err);
  }
  tacit_free(text);
  return status;
}

static tacit_status_t put_releases(const tacit_fit_t *fit, tacit_error_t *err) {
  tacit_released_t kept = {0};
  tacit_text_t json = {0};
  tacit_status_t status = tacit_fit_keep(fit, &kept, err);
  if (status == TACIT_OK) {
    tacit_released_json(&kept, &json);
    status = tacit_directory_replace(fit->folder, "releases.json", &json, err);
  }
  tacit_text_clear(&json);
  tacit_released_clear(&kept);
  return status;
}

/* What fails here is tried again with the report: the run goes on, for the release is paid for. */
void tacit_fit_keep_releases(tacit_fit_t *fit) {
  tacit_error_t err;
  bool is_whole = tacit_fit_has_all_releases(fit);
  if (fit->folder == NULL || (!is_whole && tacit_fit_secret_of_time(fit) != NULL)) {
    return; /* how many there were when the process was killed would tell when */
  }
  if (put_releases(fit, &err) == TACIT_OK) {
    fit->folder->is_kept = true;
    fit->has_kept_all = is_whole;
    if (is_whole) { /* else, as where the process ends between the two, they are made again from what the
                       releases cost */
      (void)!put_statements(fit, &err);
    }
  }
}

tacit_status_t tacit_fit_reopen_folder(tacit_fit_t *fit, tacit_error_t *err) {
  fit->has_kept_all = true;
  fit->folder = tacit_alloc_zero(1, sizeof *fit->folder);
  return fit->folder == NULL ? tacit_error_memory(err)
                             : tacit_directory_take_over(fit->folder, fit->reopened, err);
}
