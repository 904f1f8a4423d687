/* What the ranks of a fit do together. */
#include <string.h>

#include <sodium.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/records.h"
#include "fit/fit_internal.h"

void tacit_fit_set_ranks(tacit_fit_t *fit, const tacit_fit_ranks_t *ranks) { fit->ranks = *ranks; }

bool tacit_fit_is_first_rank(const tacit_fit_t *fit) {
  return fit->ranks.ranks == NULL || fit->ranks.ranks->rank == 0;
}

tacit_status_t tacit_fit_ranks_agree(const tacit_fit_t *fit, tacit_error_t *err) {
  if (fit->ranks.ranks == NULL || fit->ranks.is_well == NULL || fit->ranks.is_well(fit->ranks.user)) {
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_STATE, "ranks", "another of the processes has failed");
}

/* ---- what they read ---- */

enum { ROWS_AT_ONCE = 1 << 16, PRINT_WORDS = TACIT_FIT_PRINT / sizeof(int64_t) };

static bool is_alone(const tacit_fit_t *fit) {
  return fit->ranks.ranks == NULL || fit->ranks.ranks->n_ranks <= 1;
}

static void put(crypto_generichash_state *state, const void *bytes, size_t n) {
  crypto_generichash_update(state, (const unsigned char *)&n,
                            sizeof n); /* so that no two lists of values give the same bytes */
  crypto_generichash_update(state, bytes, n);
}

static void put_text(crypto_generichash_state *state, const char *text) {
  put(state, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

/* Where things are on this rank's machine, and how it works, is its own matter; what is in the files is
 * compared. */
static bool is_own(const char *name) {
  static const char *const own[] = {"data",    "catalog",   "encoding", "delimiter",  "schema",
                                    "program", "constants", "out",      "ledger",     "data-id",
                                    "purpose", "threads",   "scratch",  "metric-file"};
  bool found = false;
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
    found = found || strcmp(name, own[i]) == 0;
  }
  return found;
}

void tacit_fit_print_settings(const tacit_fit_t *fit, bool has_seed, unsigned char print[TACIT_FIT_PRINT]) {
  size_t d = fit->model.parameters.dim, n_metric = fit->inv_metric == NULL             ? 0
                                                   : fit->settings.inv_metric_is_dense ? d * d
                                                                                       : d;
  crypto_generichash_state state;
  crypto_generichash_init(&state, fit->print_key, sizeof fit->print_key, TACIT_FIT_PRINT);
  put_text(&state, TACIT_VERSION);
  bool is_file = tacit_file_has_ending(fit->formula, ".stan"); /* may lie anywhere; its text is compared */
  put_text(&state, is_file ? "" : fit->formula);
  put_text(&state, fit->schema_text);
  put_text(&state, tacit_fit_text(fit, TACIT_FIT_TEXT_PROGRAM));
  put(&state, fit->inv_metric, n_metric * sizeof *fit->inv_metric);
  put(&state, fit->init, fit->init != NULL ? fit->settings.n_chains * d * sizeof *fit->init : 0);
  for (size_t i = 0; i < fit->given.n_given; i++) {
    const char *name = fit->given.given[i].setting->name;
    if (!is_own(name) && (has_seed || strcmp(name, "seed") != 0)) {
      put_text(&state, name);
      put_text(&state, fit->given.given[i].text);
    }
  }
  crypto_generichash_final(&state, print, TACIT_FIT_PRINT);
}

void tacit_fit_ranks_print(tacit_fit_t *fit, const tacit_table_t *table) {
  size_t n_columns, n_units, n = tacit_table_n_rows(table);
  const char *const *columns = tacit_fit_used(fit, &n_columns);
  const size_t *offsets = tacit_table_unit_offsets(table, &n_units);
  crypto_generichash_state state;
  if (is_alone(fit)) {
    return;
  }
  crypto_generichash_init(&state, fit->print_key, sizeof fit->print_key, TACIT_FIT_PRINT);
  put(&state, &n, sizeof n);
  put(&state, offsets, offsets != NULL ? (n_units + 1) * sizeof *offsets : 0);
  for (size_t from = 0; from < n; from += ROWS_AT_ONCE) {
    size_t to = n - from < ROWS_AT_ONCE ? n : from + ROWS_AT_ONCE;
    tacit_table_need(table, from, to);
    for (size_t j = 0; j < n_columns; j++) {
      put(&state, tacit_table_column(table, columns[j]) + from, (to - from) * sizeof(double));
    }
    tacit_table_drop(table, from, to);
  }
  crypto_generichash_final(&state, fit->print, TACIT_FIT_PRINT);
}

/* The first rank whose print is not the first one's; n_ranks: none. Each puts its own into its place of a
 * vector that is summed. */
static tacit_status_t find_other(const tacit_fit_t *fit, const unsigned char print[TACIT_FIT_PRINT],
                                 size_t *other, tacit_error_t *err) {
  const tacit_ranks_t *ranks = fit->ranks.ranks;
  int64_t *words = tacit_alloc_zero(ranks->n_ranks * PRINT_WORDS, sizeof *words);
  tacit_status_t status = words == NULL ? tacit_error_memory(err) : tacit_fit_ranks_agree(fit, err);
  *other = 0;
  if (status != TACIT_OK) {
    tacit_free(words);
    return status;
  }
  memcpy(words + ranks->rank * PRINT_WORDS, print, TACIT_FIT_PRINT);
  ranks->sum(ranks->user, ranks->n_ranks * PRINT_WORDS, words);
  while (*other < ranks->n_ranks && memcmp(words, words + *other * PRINT_WORDS, TACIT_FIT_PRINT) == 0) {
    ++*other;
  }
  tacit_free(words);
  return TACIT_OK;
}

tacit_status_t tacit_fit_ranks_compare(const tacit_fit_t *fit, tacit_error_t *err) {
  unsigned char settings[TACIT_FIT_PRINT];
  size_t other;
  if (is_alone(fit)) {
    return TACIT_OK;
  }
  tacit_fit_print_settings(fit, true, settings);
  tacit_status_t status = find_other(fit, settings, &other, err);
  if (status == TACIT_OK && other < fit->ranks.ranks->n_ranks) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "ranks",
        "process %zu was not given what the first one was: settings, schema, program and version of tacit "
        "must be the same on all processes; nothing was released or charged",
        other + 1);
  }
  if (status != TACIT_OK || fit->own_path != NULL) {
    return status; /* parts are to differ: own_part.c */
  }
  status = find_other(fit, fit->print, &other, err);
  if (status == TACIT_OK && other < fit->ranks.ranks->n_ranks) {
    return tacit_error_set(err, TACIT_ERR_DATA, "data",
                           "process %zu did not read the records that the first one read: every process must "
                           "read the same records in the same order, as each takes a share of them; copy one "
                           "file, or one directory of tacit import, to all; nothing was released or charged",
                           other + 1);
  }
  return status;
}

tacit_status_t tacit_fit_ranks_make_key(tacit_fit_t *fit, tacit_error_t *err) {
  return is_alone(fit) ? TACIT_OK : tacit_fit_make_key(fit, fit->print_key, err);
}

tacit_status_t tacit_fit_make_key(const tacit_fit_t *fit, unsigned char key[32], tacit_error_t *err) {
  const tacit_ranks_t *ranks = fit->ranks.ranks;
  int64_t words[4] = {0};
  tacit_status_t status = tacit_rng_key_from_system(key, err);
  if (status != TACIT_OK || ranks == NULL) {
    return status;
  }
  status = tacit_fit_ranks_agree(fit, err);
  if (status == TACIT_OK) { /* the sum of the first rank's key and zeros */
    if (ranks->rank == 0) {
      memcpy(words, key, sizeof words);
    }
    ranks->sum(ranks->user, sizeof words / sizeof words[0], words);
    memcpy(key, words, sizeof words);
    tacit_rng_key_wipe((unsigned char *)words);
  }
  return status;
}
