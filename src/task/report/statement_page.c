/* The officer's page: what a fit promises, in the terms of NIST SP 800-226, how to check it, and a place to
 * sign. */
#include <math.h>
#include <string.h>

#include "report/statement_page.h"

static void subject(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_text_printf(text, "About the fit ");
  tacit_statement_quoted(text, said->csv.formula != NULL ? said->csv.formula : "");
  if (said->csv.family != NULL && said->csv.family[0] != '\0') {
    tacit_text_printf(text, " (family ");
    tacit_text_plain(text, said->csv.family);
    tacit_text_printf(text, ")");
  }
  tacit_text_printf(text, " to the data set ");
  tacit_statement_quoted(text, said->csv.data_name != NULL ? said->csv.data_name : "");
  tacit_text_printf(text, ", method ");
  tacit_text_plain(text, said->method);
  tacit_text_printf(text, ", and every file of its folder. Terms as in NIST SP 800-226.\n");
}

static void mechanism(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_statement_line(text, "# Mechanism and composition");
  tacit_text_printf(
      text,
      "What a unit adds is bounded; sums over records are exact integers, noise is drawn from a "
      "cryptographic generator and rounded exactly. %s:\n",
      said->is_scheduled
          ? "The schedule fixed before the first release, all of which is counted whether or not it was used"
          : "The releases, each charged to the privacy budget before it was computed");
  for (size_t i = 0; i < said->n_events; i++) {
    tacit_statement_event(&said->events[i], text);
  }
  if (said->n_events == 0) {
    tacit_statement_line(text, "- none");
  }
  tacit_text_printf(text, "The rest is post-processing. ");
  if (said->is_scheduled) {
    tacit_text_printf(text, "The schedule was composed by the accountant ");
    tacit_statement_quoted(text, said->accountant);
  } else {
    tacit_text_printf(text, "A privacy filter refuses what would pass the budget: epsilon is the budget, "
                            "though later releases depend on earlier ones");
  }
  tacit_text_printf(text, ". End of the run: ");
  tacit_text_plain(text, said->end);
  tacit_text_printf(text, ".\n");
}

static void trust(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_statement_line(text, "# Trust model");
  tacit_statement_line(text,
                       "Central model with a trusted curator: the program on the holder's machine sees the "
                       "records. Whoever receives these files is taken as the adversary, with any knowledge "
                       "besides and any computing power that does not break the generator. Schema, model and "
                       "settings are public: given by people, not read off the data.");
  const char *assumption;
  for (size_t i = 0; (assumption = tacit_testimony_assumption(said, i)) != NULL; i++) {
    tacit_text_append(text, "- ", 2);
    tacit_text_plain(text, assumption);
    tacit_text_append(text, "\n", 1);
  }
}

static void outside(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_statement_line(text, "# What is outside");
  tacit_statement_line(
      text,
      "- Side channels: running time, memory use, what the program shows the holder of the data alone.");
  tacit_statement_line(text, "- The curator's machine, its operating system, its source of random numbers, "
                             "and who has access to them and to the records.");
  tacit_statement_line(
      text,
      said->ledger != NULL
          ? "- Releases from the same records that the ledger does not hold: the costs of all of them add up."
          : "- Every other release from the same records: this fit is in no ledger, so nothing adds up "
            "repeated fits, and each adds its epsilon.");
}

static void schema(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_statement_line(text, "# Data set and schema");
  if (said->schema == NULL) {
    tacit_statement_line(text, "The folder holds no schema.");
    return;
  }
  tacit_statement_line(text, "Public, as used (schema.yaml):");
  tacit_text_t copy = {0};
  for (const char *s = said->schema; *s != '\0'; s += *s == '\n') {
    size_t n = strcspn(s, "\n");
    copy.length = 0;
    tacit_text_append(&copy, s, n);
    tacit_text_printf(text, "    ");
    if (!copy.failed) {
      tacit_text_plain(text, copy.data);
    }
    tacit_text_append(text, "\n", 1);
    s += n;
  }
  text->failed = text->failed || copy.failed;
  tacit_text_clear(&copy);
}

static void ledger(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_statement_line(text, "# The ledger");
  if (said->ledger == NULL) {
    tacit_statement_line(text, "This fit was entered in no ledger.");
    return;
  }
  tacit_text_printf(text, "Spend %llu in the ledger of the data set ", (unsigned long long)said->spend);
  tacit_statement_quoted(text, said->ledger);
  tacit_statement_line(text, ", which adds up all runs entered there. `tacit ledger show LEDGER` lists them, "
                             "`tacit ledger verify LEDGER` checks that none was changed.");
}

static void check_statement_page(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_statement_line(text, "# How to check it");
  if (said->n_events > 0) {
    tacit_statement_line(text, "This composes what is listed above again, and reads no record:");
    tacit_statement_command(said, text);
  }
  tacit_statement_line(
      text, "privacy.json, privacy.txt and run.yaml in the folder say the same, and with which settings. "
            "That these files are what the program wrote is for the holder of the folder to vouch for.");
}

static void software(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_text_printf(text, "Fitted with tacit ");
  tacit_text_plain(text, said->version[0] != '\0' ? said->version : "(version not said)");
  if (said->commit[0] != '\0') {
    tacit_text_printf(text, " (commit ");
    tacit_text_plain(text, said->commit);
    tacit_text_printf(text, ")");
  }
  tacit_text_printf(text, "; this page was written by tacit %s (commit %s) from the folder's files alone.\n",
                    tacit_version(), tacit_commit());
}

static void not_private(const tacit_testimony_t *said, tacit_text_t *text) {
  const char *reason = tacit_testimony_assumption(said, 0);
  tacit_statement_line(text, "# NOT PRIVATE");
  subject(said, text);
  tacit_statement_line(text, "# The claim");
  tacit_text_printf(text, "None. No guarantee of differential privacy holds for any file of the folder");
  if (reason != NULL) {
    tacit_text_printf(text, " (");
    tacit_text_plain(text, reason);
    tacit_text_printf(text, ")");
  }
  tacit_statement_line(
      text, ". It may reveal the records: keep it as you keep the records, or use it for public data only.");
}

static void released_before(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_statement_line(text, "# No privacy cost beyond a release made before");
  subject(said, text);
  tacit_statement_line(text, "# The claim");
  tacit_text_printf(text, "Post-processing: everything was computed from one released statistic and public "
                          "settings; no record was read. Whatever guarantee that release has, these files "
                          "have too. This program did not make the release and does not vouch for it.\n"
                          "- Statistic: ");
  tacit_text_plain(text, said->statistic);
  tacit_text_printf(text, ".\n- Noise: ");
  tacit_text_plain(text, said->noise);
  if (isfinite(said->claim.epsilon) && isfinite(said->claim.delta)) {
    tacit_text_printf(text, ".\n- If it was made as described, it cost epsilon = ");
    tacit_text_number_up(text, said->claim.epsilon, TACIT_STATEMENT_EPSILON_DIGITS);
    tacit_text_printf(text, " at delta = ");
    tacit_text_number_up(text, said->claim.delta, TACIT_STATEMENT_EPSILON_DIGITS);
    tacit_statement_change(said->relation, said->unit[0] != '\0' ? said->unit : "row", text);
    tacit_statement_line(text, ".");
  } else {
    tacit_statement_line(text, ".\n- What it cost its description does not say; whoever released it can.");
  }
  if (said->composition[0] != '\0') {
    tacit_text_printf(text, "- ");
    tacit_text_plain(text, said->composition);
    tacit_text_append(text, "\n", 1);
  }
}

static void all_lines(const tacit_testimony_t *said, tacit_text_t *text) {
  if (!said->claim.is_private) {
    not_private(said, text);
  } else if (said->claim.is_post_processing) {
    released_before(said, text);
  } else {
    tacit_text_printf(text, "# Differential privacy: epsilon = ");
    tacit_text_number_up(text, said->claim.epsilon, TACIT_STATEMENT_EPSILON_DIGITS);
    tacit_text_printf(text, ", delta = ");
    tacit_text_number_up(text, said->claim.delta, TACIT_STATEMENT_EPSILON_DIGITS);
    tacit_text_append(text, "\n", 1);
    subject(said, text);
    tacit_statement_claim(said, text);
    tacit_statement_chances(said, text);
    mechanism(said, text);
    trust(said, text);
    outside(said, text);
    ledger(said, text);
    check_statement_page(said, text);
  }
  if (!said->claim.is_post_processing) {
    schema(said, text);
  }
  tacit_statement_line(text, "# Software");
  software(said, text);
  tacit_statement_signing(text);
}

/* ---- the page ---- */

tacit_status_t tacit_report_statement_page(const char *path, bool is_html, char **out, tacit_error_t *err) {
  tacit_testimony_t said;
  tacit_text_t lines = {0}, text = {0};
  *out = NULL;
  tacit_status_t status = tacit_testimony_read(&said, path, err);
  if (status == TACIT_OK) {
    all_lines(&said, &lines);
  }
  if (status == TACIT_OK && !lines.failed) {
    if (is_html) {
      tacit_statement_document(said.csv.data_name != NULL ? said.csv.data_name : "", said.claim.is_private,
                               lines.data, &text);
    } else {
      tacit_statement_text(lines.data, &text);
    }
  }
  status = tacit_statement_hand_over(status, &lines, &text, out, err);
  tacit_testimony_clear(&said);
  return status;
}
