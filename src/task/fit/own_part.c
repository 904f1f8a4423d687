/*
 * Several ranks, each of which reads a part of the data that is its own: "part-%r.csv". Nothing is copied to
 * all, and nobody has all; so ranks make sure, before anything is reserved, that no person is in two parts,
 * which would halve the guarantee: they compare keyed prints of identifiers, the key being shared for this
 * run and written nowhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/collect.h"
#include "data/records.h"
#include "fit/fit_internal.h"

enum { MAX_DIGITS = 9, AT_ONCE = 1 << 20, N_WORDS = 2 };

/* Where "%r", or "%5r" for five digits, begins; its length and digits. NULL: nowhere. */
static const char *find(const char *path, size_t *length, int *n_digits) {
  for (const char *at = path; (at = strchr(at, '%')) != NULL; at++) {
    bool has_digits = at[1] >= '1' && at[1] <= '0' + MAX_DIGITS;
    if (at[1 + has_digits] == 'r') {
      *n_digits = has_digits ? at[1] - '0' : 1;
      *length = 2 + has_digits;
      return at;
    }
  }
  return NULL;
}

tacit_status_t tacit_fit_own_part(tacit_fit_t *fit, tacit_data_source_t *source, tacit_error_t *err) {
  const tacit_ranks_t *ranks = fit->ranks.ranks;
  size_t length;
  int n_digits;
  const char *at =
      source->path != NULL && source->stream == NULL ? find(source->path, &length, &n_digits) : NULL;
  if (at == NULL) {
    return TACIT_OK;
  }
  if (ranks == NULL || ranks->n_ranks <= 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "data",
                           "%s: %%r stands for the number of a process, from 0, and there is but one: start "
                           "several by mpirun or srun, or name the file",
                           source->path);
  }
  tacit_text_t text = {0};
  tacit_text_printf(&text, "%.*s%0*zu%s", (int)(at - source->path), source->path, n_digits, ranks->rank,
                    at + length);
  tacit_status_t status = tacit_text_take(&text, TACIT_OK, &fit->own_path, err);
  source->path = fit->own_path;
  return status;
}

tacit_status_t tacit_fit_print_units(tacit_fit_t *fit, const tacit_table_t *table, tacit_error_t *err) {
  size_t n_units, n;
  if (fit->own_path == NULL || tacit_table_unit_offsets(table, &n_units) == NULL) {
    return TACIT_OK;
  }
  fit->unit_prints = tacit_alloc(n_units + 1, sizeof *fit->unit_prints);
  if (fit->unit_prints == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t u = 0; u < n_units; u++) {
    const char *id = tacit_table_unit_id(table, u, &n);
    if (id == NULL) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "data",
                             "%s was imported, and does not hold who persons are: of several processes that "
                             "each read their own part, each reads a file",
                             fit->own_path);
    }
    crypto_generichash((unsigned char *)&fit->unit_prints[u], sizeof fit->unit_prints[u],
                       (const unsigned char *)id, n, fit->print_key, sizeof fit->print_key);
  }
  fit->n_unit_prints = n_units;
  return TACIT_OK;
}

static int by_words(const void *a, const void *b) { return memcmp(a, b, sizeof(tacit_unit_print_t)); }

/* Prints of a round, by their first bits. */
static bool is_of_round(const tacit_unit_print_t *print, size_t round, size_t n_rounds) {
  return ((uint64_t)print->words[0] & (n_rounds - 1)) == round;
}

/* *is_shared: a print of this round is there twice, on any ranks. Each rank puts its own behind those of the
 * ranks before it. */
static tacit_status_t compare_round(const tacit_fit_t *fit, size_t round, size_t n_rounds, bool *is_shared,
                                    tacit_error_t *err) {
  const tacit_ranks_t *ranks = fit->ranks.ranks;
  size_t n_own = 0, before = 0, n = 0;
  int64_t *counts = tacit_alloc_zero(ranks->n_ranks, sizeof *counts);
  tacit_status_t status = counts == NULL ? tacit_error_memory(err) : tacit_fit_ranks_agree(fit, err);
  for (size_t u = 0; u < fit->n_unit_prints; u++) {
    n_own += is_of_round(&fit->unit_prints[u], round, n_rounds);
  }
  if (status == TACIT_OK) {
    counts[ranks->rank] = (int64_t)n_own;
    ranks->sum(ranks->user, ranks->n_ranks, counts);
  }
  for (size_t r = 0; status == TACIT_OK && r < ranks->n_ranks; r++) {
    before += r < ranks->rank ? (size_t)counts[r] : 0;
    n += (size_t)counts[r];
  }
  tacit_unit_print_t *all = status == TACIT_OK ? tacit_alloc_zero(n + 1, sizeof *all) : NULL;
  TACIT_THEN(status, all == NULL ? tacit_error_memory(err) : tacit_fit_ranks_agree(fit, err));
  for (size_t u = 0; status == TACIT_OK && u < fit->n_unit_prints; u++) {
    if (is_of_round(&fit->unit_prints[u], round, n_rounds)) {
      all[before++] = fit->unit_prints[u];
    }
  }
  if (status == TACIT_OK) {
    ranks->sum(ranks->user, N_WORDS * n, all[0].words);
    qsort(all, n, sizeof *all, by_words);
  }
  for (size_t i = 1; status == TACIT_OK && i < n; i++) {
    *is_shared = *is_shared || by_words(&all[i - 1], &all[i]) == 0;
  }
  tacit_free(all);
  tacit_free(counts);
  return status;
}

static tacit_status_t compare_persons(const tacit_fit_t *fit, tacit_error_t *err) {
  int64_t n = (int64_t)fit->n_unit_prints;
  bool is_shared = false;
  tacit_status_t status = tacit_fit_ranks_agree(fit, err);
  if (status != TACIT_OK) {
    return status;
  }
  fit->ranks.ranks->sum(fit->ranks.ranks->user, 1, &n);
  size_t n_rounds = 1;
  while (n / (int64_t)n_rounds > AT_ONCE) {
    n_rounds *= 2;
  }
  for (size_t round = 0; status == TACIT_OK && round < n_rounds; round++) {
    status = compare_round(fit, round, n_rounds, &is_shared, err);
  }
  return status != TACIT_OK || !is_shared
             ? status
             : tacit_error_set(
                   err, TACIT_ERR_DATA, "data",
                   "somebody has rows in the parts of two processes, and would count twice: bring all rows "
                   "of a person together in one part; nothing was released or charged");
}

/* Where rows are the unit: did two ranks read the same ones? */
static tacit_status_t compare_rows(const tacit_fit_t *fit, tacit_error_t *err) {
  enum { PRINT_WORDS = TACIT_FIT_PRINT / sizeof(int64_t) };
  const tacit_ranks_t *ranks = fit->ranks.ranks;
  bool is_twice = false;
  int64_t *words = tacit_alloc_zero(ranks->n_ranks * PRINT_WORDS, sizeof *words);
  tacit_status_t status = words == NULL ? tacit_error_memory(err) : tacit_fit_ranks_agree(fit, err);
  if (status == TACIT_OK) {
    memcpy(words + ranks->rank * PRINT_WORDS, fit->print, TACIT_FIT_PRINT);
    ranks->sum(ranks->user, ranks->n_ranks * PRINT_WORDS, words);
  }
  for (size_t i = 1; status == TACIT_OK && i < ranks->n_ranks; i++) {
    for (size_t j = 0; j < i; j++) {
      is_twice = is_twice || memcmp(words + i * PRINT_WORDS, words + j * PRINT_WORDS, TACIT_FIT_PRINT) == 0;
    }
  }
  tacit_free(words);
  return status != TACIT_OK || !is_twice
             ? status
             : tacit_error_set(err, TACIT_ERR_DATA, "data",
                               "two processes read the same records, which would count twice: each must have "
                               "a part of its own; nothing was released or charged");
}

tacit_status_t tacit_fit_parts_disjoint(tacit_fit_t *fit, tacit_error_t *err) {
  if (fit->own_path == NULL) {
    return TACIT_OK;
  }
  tacit_status_t status =
      tacit_schema_unit(fit->schema) != NULL ? compare_persons(fit, err) : compare_rows(fit, err);
  tacit_free(fit->unit_prints);
  fit->unit_prints = NULL;
  fit->n_unit_prints = 0;
  return status;
}
