/* Accounting, draws, rows of an analyst, ledgers. */
#include "tacit_r.h"

#include <string.h>
#include <tacit/account.h>
#include <tacit/ledger.h>
#include <tacit/model.h>
#include <tacit/report.h>

SEXP r_wrong_argument(const char *field, const char *message) {
  tacit_error_t err = {.status = TACIT_ERR_ARGUMENT};
  snprintf(err.field, sizeof err.field, "%s", field);
  snprintf(err.message, sizeof err.message, "%s", message);
  return r_failure(&err, NULL);
}

/* ---- account ---- */

SEXP r_account(SEXP events, SEXP counts, SEXP relation, SEXP epsilon, SEXP delta, SEXP method) {
  static const char *const names[] = {"epsilon", "epsilon_lower", "delta", "delta_lower", "method", NULL};
  tacit_account_options_t options = {0};
  tacit_error_t err;
  tacit_guarantee_t guarantee;
  R_xlen_t n = XLENGTH(events), n_parsed = 0;
  const tacit_accountant_t *accountant = tacit_accountant_find(r_text(method));
  if (!tacit_relation_parse(r_text(relation), &options.relation)) {
    return r_wrong_argument("relation", "relation must be substitute or add-remove");
  }
  if (accountant == NULL) {
    return r_wrong_argument("method",
                            "unknown accountant: expected auto, gaussian, pld, rdp, zcdp or moments");
  }
  tacit_event_t *list = (tacit_event_t *)(void *)R_alloc((size_t)n + 1, sizeof *list);
  tacit_status_t status = TACIT_OK;
  for (; n_parsed < n && status == TACIT_OK; n_parsed += status == TACIT_OK) {
    status = tacit_event_parse(&list[n_parsed], Rf_translateCharUTF8(STRING_ELT(events, n_parsed)), &err);
    list[n_parsed].count = status == TACIT_OK ? r_count(REAL(counts)[n_parsed]) : 0;
  }
  if (status == TACIT_OK) {
    status = delta != R_NilValue ? tacit_account_epsilon(accountant, list, (size_t)n, &options,
                                                         Rf_asReal(delta), &guarantee, &err)
                                 : tacit_account_delta(accountant, list, (size_t)n, &options,
                                                       Rf_asReal(epsilon), &guarantee, &err);
  }
  for (R_xlen_t i = 0; i < n_parsed; i++) {
    tacit_event_clear(&list[i]);
  }
  if (status != TACIT_OK) {
    return r_failure(&err, NULL);
  }
  const double numbers[] = {guarantee.epsilon, guarantee.epsilon_lower, guarantee.delta,
                            guarantee.delta_lower};
  SEXP out = PROTECT(r_list(names));
  for (R_xlen_t i = 0; i < 4; i++) {
    SET_VECTOR_ELT(out, i, Rf_ScalarReal(numbers[i]));
  }
  SET_VECTOR_ELT(out, 4, Rf_mkString(guarantee.method));
  UNPROTECT(1);
  return out;
}

/* ---- draws ---- */

/* R's order: draw first, then chain, then parameter. */
static SEXP values_of(const tacit_draws_t *draws) {
  size_t n = tacit_draws_n_kept(draws);
  SEXP out = PROTECT(Rf_alloc3DArray(REALSXP, (int)n, (int)draws->n_chains, (int)draws->n_reported));
  for (size_t chain = 0; chain < draws->n_chains; chain++) {
    for (size_t i = 0; i < n; i++) {
      const double *row = tacit_draws_row(draws, chain, draws->n_warmup + i);
      for (size_t j = 0; j < draws->n_reported; j++) {
        REAL(out)[i + n * (chain + draws->n_chains * j)] = row[j];
      }
    }
  }
  UNPROTECT(1);
  return out;
}

/* What was found of one severity. */
static SEXP said_of(const tacit_findings_t *found, tacit_severity_t severity) {
  const char *texts[TACIT_MAX_FINDINGS];
  size_t n = 0;
  for (size_t i = 0; i < found->n; i++) {
    if (found->items[i].severity == severity) {
      texts[n++] = found->items[i].what;
    }
  }
  return r_spelled(texts, n);
}

/* Of each quantity the sd of its prior and the prior's share in its precision; NULL: not known. */
static SEXP priors_of(const tacit_draws_t *draws, const tacit_evidence_t *evidence) {
  if (evidence == NULL || evidence->n_terms < draws->n_reported) {
    return R_NilValue;
  }
  size_t n = draws->n_reported;
  SEXP out = Rf_allocMatrix(REALSXP, (int)n, 2);
  memcpy(REAL(out), evidence->prior_sd, n * sizeof(double));
  memcpy(REAL(out) + n, evidence->prior_share, n * sizeof(double));
  return out;
}

SEXP r_draws(const tacit_draws_t *draws, const char *const *labels, const char *const *names,
             const tacit_published_t *published, const tacit_evidence_t *evidence) {
  static const char *const parts[] = {"values",   "labels",       "names", "summaries", "problems",
                                      "warnings", "no_intervals", "prior", NULL};
  tacit_error_t err;
  tacit_findings_t found = {0};
  SEXP out = PROTECT(r_list(parts));
  SET_VECTOR_ELT(out, 0, values_of(draws));
  SET_VECTOR_ELT(out, 1, r_texts(labels, draws->n_reported));
  SET_VECTOR_ELT(out, 2, r_texts(names, draws->n_reported));
  SEXP table = Rf_allocMatrix(REALSXP, (int)draws->n_reported, 9);
  SET_VECTOR_ELT(out, 3, table);
  for (size_t j = 0; j < draws->n_reported; j++) {
    tacit_summary_t s = {0};
    bool is_known = tacit_draws_summarise_with(draws, j, evidence, &s, &err) == TACIT_OK;
    const double numbers[] = {s.mean, s.sd, s.mcse_mean, s.q5, s.q50, s.q95, s.rhat, s.ess_bulk, s.ess_tail};
    for (size_t k = 0; k < 9; k++) {
      REAL(table)[j + draws->n_reported * k] = is_known ? numbers[k] : NA_REAL;
    }
  }
  if (tacit_diagnose_fit(draws, labels, published, evidence != NULL ? &evidence->checks : NULL, &found,
                         &err) == TACIT_OK) {
    SET_VECTOR_ELT(out, 4, said_of(&found, TACIT_SEVERITY_PROBLEM));
    SET_VECTOR_ELT(out, 5, said_of(&found, TACIT_SEVERITY_WARNING));
  }
  SET_VECTOR_ELT(out, 6,
                 Rf_ScalarLogical(evidence != NULL && tacit_checks_forbid_intervals(&evidence->checks)));
  SET_VECTOR_ELT(out, 7, priors_of(draws, evidence));
  UNPROTECT(1);
  return out;
}

SEXP r_read(SEXP path) {
  tacit_report_read_t read;
  tacit_error_t err;
  tacit_status_t status = tacit_report_read(&read, r_text(path), &err);
  SEXP out =
      PROTECT(status == TACIT_OK ? r_draws(&read.draws, (const char *const *)read.labels,
                                           (const char *const *)read.names, &read.published, &read.evidence)
                                 : r_failure(&err, NULL));
  tacit_report_read_clear(&read);
  UNPROTECT(1);
  return out;
}

/* ---- ledgers ---- */

SEXP r_ledger_create(SEXP path, SEXP data_id, SEXP epsilon, SEXP delta, SEXP relation, SEXP unit,
                     SEXP max_rows) {
  tacit_ledger_terms_t terms = {.data_id = r_text(data_id),
                                .epsilon = Rf_asReal(epsilon),
                                .delta = Rf_asReal(delta),
                                .unit = unit != R_NilValue ? r_text(unit) : NULL,
                                .max_rows = r_count(Rf_asReal(max_rows))};
  tacit_error_t err;
  if (!tacit_relation_parse(r_text(relation), &terms.relation)) {
    return r_wrong_argument("relation", "relation must be substitute or add-remove");
  }
  return tacit_ledger_create(r_text(path), &terms, &err) == TACIT_OK ? R_NilValue : r_failure(&err, NULL);
}

static SEXP state_of(const tacit_ledger_state_t *state) {
  static const char *const names[] = {"data_id", "relation", "head", "epsilon", "delta",   "spent",
                                      "left",    "time",     "who",  "purpose", "settled", NULL};
  const char *texts[] = {state->data_id, tacit_relation_string(tacit_budget_relation(state->budget)),
                         state->head};
  const double numbers[] = {tacit_budget_epsilon(state->budget), tacit_budget_delta(state->budget),
                            tacit_budget_spent(state->budget).epsilon, tacit_ledger_epsilon_left(state)};
  R_xlen_t n = (R_xlen_t)state->n_spends;
  SEXP out = PROTECT(r_list(names));
  for (R_xlen_t i = 0; i < 3; i++) {
    SET_VECTOR_ELT(out, i, r_texts(&texts[i], 1));
  }
  for (R_xlen_t i = 0; i < 4; i++) {
    SET_VECTOR_ELT(out, i + 3, Rf_ScalarReal(numbers[i]));
  }
  for (R_xlen_t i = 7; i < 11; i++) {
    SET_VECTOR_ELT(out, i, Rf_allocVector(i < 10 ? STRSXP : LGLSXP, n));
  }
  for (R_xlen_t i = 0; i < n; i++) {
    const tacit_spend_t *spend = &state->spends[i];
    SET_STRING_ELT(VECTOR_ELT(out, 7), i, Rf_mkCharCE(spend->time, CE_UTF8));
    SET_STRING_ELT(VECTOR_ELT(out, 8), i, Rf_mkCharCE(spend->who, CE_UTF8));
    SET_STRING_ELT(VECTOR_ELT(out, 9), i, Rf_mkCharCE(spend->purpose, CE_UTF8));
    LOGICAL(VECTOR_ELT(out, 10))[i] = spend->is_settled;
  }
  UNPROTECT(1);
  return out;
}

SEXP r_ledger(SEXP path, SEXP is_thorough) {
  tacit_ledger_t *ledger = NULL;
  tacit_ledger_state_t state = {0};
  tacit_error_t err;
  tacit_status_t status = tacit_ledger_open(&ledger, r_text(path), &err);
  if (status == TACIT_OK) {
    status = Rf_asLogical(is_thorough) == TRUE ? tacit_ledger_verify(ledger, &state, &err)
                                               : tacit_ledger_read(ledger, &state, &err);
  }
  tacit_ledger_close(ledger);
  SEXP out = PROTECT(status == TACIT_OK ? state_of(&state) : r_failure(&err, NULL));
  tacit_ledger_state_clear(&state);
  UNPROTECT(1);
  return out;
}
