/* The officer's page: what a fit promises, in the terms of NIST SP 800-226, how to check it, and a place to sign. */
#include <math.h>
#include <string.h>

#include "report/statement_page.h"

enum { EPSILON_DIGITS = 5, CHANCE_DIGITS = 3 };

static const double prior = 0.01;

/* ---- chances ---- */

/*
 * A guess which of m = 1/prior equally likely contents a unit has, all others known, given the files; s is the chance that it is right, P(a | b)
 * that a is guessed where b is true. For each b, sum over a != b of P(a | a) <= e^eps (1 - P(b | b)) + (m - 1) delta; summed over b,
 * s <= (e^eps + (m - 1) delta) / (m - 1 + e^eps), which randomized response attains at delta = 0.
 */
static double guess_within(double epsilon, double delta) {
  double inverse = exp(-epsilon); /* so that a large epsilon is not infinite over infinite */
  return fmin(1, (prior + (1 - prior) * delta * inverse) / ((1 - prior) * inverse + prior));
}

/*
 * Under add-remove b is the data set without the unit, a neighbour of every content, and sum_a P(a | b) <= 1: s <= prior e^eps + delta. Or
 * two steps, from one content to another: 2 eps, (1 + e^eps) delta.
 */
static double best_guess(const tacit_testimony_t *said) {
  double epsilon = said->claim.epsilon, delta = said->claim.delta;
  if (said->relation == TACIT_RELATION_SUBSTITUTE) {
    return guess_within(epsilon, delta);
  }
  double two_steps = exp(epsilon) < INFINITY ? guess_within(2 * epsilon, (1 + exp(epsilon)) * delta) : 1;
  return fmin(prior * exp(epsilon) + delta, two_steps);
}

/* The power of a test of level `prior` between neighbours; both directions of the definition. */
static double best_test(const tacit_testimony_t *said) {
  double epsilon = said->claim.epsilon, delta = said->claim.delta;
  return fmin(1, fmin(prior * exp(epsilon) + delta, 1 - exp(-epsilon) * fmax(0, 1 - prior - delta)));
}

/* "2.69 in 100" */
static void chance(tacit_text_t *text, double probability) {
  tacit_text_number_up(text, fmin(100, 100 * probability), CHANCE_DIGITS);
  tacit_text_printf(text, " in 100%s", probability > 0.999 ? ": next to nothing is ruled out" : "");
}

/* ---- sections ---- */

static void line(tacit_text_t *text, const char *marked) {
  tacit_text_printf(text, "%s\n", marked);
}

static bool is_row(const tacit_testimony_t *said) {
  return strcmp(said->unit, "row") == 0;
}

static void quoted(tacit_text_t *text, const char *s) {
  tacit_text_append(text, "\"", 1);
  tacit_text_plain(text, s);
  tacit_text_append(text, "\"", 1);
}

static void subject(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_text_printf(text, "About the fit ");
  quoted(text, said->csv.formula != NULL ? said->csv.formula : "");
  if (said->csv.family != NULL && said->csv.family[0] != '\0') {
    tacit_text_printf(text, " (family ");
    tacit_text_plain(text, said->csv.family);
    tacit_text_printf(text, ")");
  }
  tacit_text_printf(text, " to the data set ");
  quoted(text, said->csv.data_name != NULL ? said->csv.data_name : "");
  tacit_text_printf(text, ", method ");
  tacit_text_plain(text, said->method);
  tacit_text_printf(text, ", and every file of its folder. Terms as in NIST SP 800-226.\n");
}

static void claim(const tacit_testimony_t *said, tacit_text_t *text) {
  line(text, "# The claim");
  tacit_text_printf(text, "- Unit of privacy: ");
  if (is_row(said)) {
    tacit_text_printf(text, "one row. It is a person's protection where the person has one row; of a person with k rows each row is protected, the "
                            "person by k times epsilon and a larger delta.\n");
  } else {
    tacit_text_printf(text, "all rows that share a value of the column ");
    quoted(text, said->unit);
    tacit_text_printf(text, ", of which there are at most %llu.\n", (unsigned long long)said->max_rows);
  }
  line(text, said->relation == TACIT_RELATION_ADD_REMOVE
                 ? "- Neighbouring data sets (relation add-remove): one has a unit more than the other. How many units there are is private."
                 : "- Neighbouring data sets (relation substitute): one unit is replaced by another. How many units there are is public.");
  tacit_text_printf(text, "- Privacy parameters: epsilon = ");
  tacit_text_number_up(text, said->claim.epsilon, EPSILON_DIGITS);
  tacit_text_printf(text, ", delta = ");
  tacit_text_number_up(text, said->claim.delta, EPSILON_DIGITS);
  tacit_text_printf(text, ", fixed before the first release: Pr[result from A in S] <= exp(epsilon) Pr[result from B in S] + delta for neighbours A, B "
                          "and every set S of results.\n");
  if (isfinite(said->charged)) {
    tacit_text_printf(text, "- Charged of that budget (epsilon_charged): ");
    tacit_text_number_up(text, said->charged, EPSILON_DIGITS);
    tacit_text_printf(text, ". For keeping accounts; it is no guarantee.\n");
  }
  if (said->delta_meaning[0] != '\0') {
    tacit_text_printf(text, "- What delta means here, in the words of the schema: ");
    tacit_text_plain(text, said->delta_meaning);
    tacit_text_append(text, "\n", 1);
  }
}

/* For whom, against whom, and in which unit: the numbers are true of nothing else. */
static void chances(const tacit_testimony_t *said, tacit_text_t *text) {
  const char *unit = is_row(said) ? "row" : "unit";
  bool may_be_absent = said->relation == TACIT_RELATION_ADD_REMOVE;
  line(text, "# What that means in chances");
  tacit_text_printf(text, "- A guess: somebody knows all other units and 100 contents that one %s may have, each as likely as the others. Without the "
                          "files a guess is right with a chance of 1 in 100; with them, whatever is done with them, of at most ", unit);
  chance(text, best_guess(said));
  tacit_text_printf(text, ".\n- A test: somebody asks whether %s, and is wrong in 1 of 100 cases where that is not so. From the files alone he "
                          "finds it, where it is so, with a chance of at most ",
                    may_be_absent ? is_row(said) ? "a given row is in the data at all" : "a given unit is in the data at all"
                                  : is_row(said) ? "a given row, and not a given other in its place, is in the data"
                                                 : "a given unit, and not a given other in its place, is in the data");
  chance(text, best_test(said));
  line(text, ".\n- Both hold for each single unit and count delta. What the files say about people in general, and so about anybody, in the data or "
             "not, is what the analysis is for: it is not prevented.");
}

static void mechanism(const tacit_testimony_t *said, tacit_text_t *text) {
  line(text, "# Mechanism and composition");
  tacit_text_printf(text, "What a unit adds is bounded; sums over records are exact integers, noise is drawn from a cryptographic generator and rounded "
                          "exactly. %s:\n",
                    said->is_scheduled ? "The schedule fixed before the first release, all of which is counted whether or not it was used"
                                       : "The releases, each charged to the privacy budget before it was computed");
  for (size_t i = 0; i < said->n_events; i++) {
    tacit_statement_event(&said->events[i], text);
  }
  if (said->n_events == 0) {
    line(text, "- none");
  }
  tacit_text_printf(text, "The rest is post-processing. ");
  if (said->is_scheduled) {
    tacit_text_printf(text, "The schedule was composed by the accountant ");
    quoted(text, said->accountant);
  } else {
    tacit_text_printf(text, "A privacy filter refuses what would pass the budget: epsilon is the budget, though later releases depend on earlier ones");
  }
  tacit_text_printf(text, ". End of the run: ");
  tacit_text_plain(text, said->end);
  tacit_text_printf(text, ".\n");
}

static void trust(const tacit_testimony_t *said, tacit_text_t *text) {
  line(text, "# Trust model");
  line(text, "Central model with a trusted curator: the program on the holder's machine sees the records. Whoever receives these files is taken as "
             "the adversary, with any knowledge besides and any computing power that does not break the generator. Schema, model and settings "
             "are public: given by people, not read off the data.");
  const char *assumption;
  for (size_t i = 0; (assumption = tacit_testimony_assumption(said, i)) != NULL; i++) {
    tacit_text_append(text, "- ", 2);
    tacit_text_plain(text, assumption);
    tacit_text_append(text, "\n", 1);
  }
}

static void outside(const tacit_testimony_t *said, tacit_text_t *text) {
  line(text, "# What is outside");
  line(text, "- Side channels: running time, memory use, what the program shows the holder of the data alone.");
  line(text, "- The curator's machine, its operating system, its source of random numbers, and who has access to them and to the records.");
  line(text, said->ledger != NULL
                 ? "- Releases from the same records that the ledger does not hold: the costs of all of them add up."
                 : "- Every other release from the same records: this fit is in no ledger, so nothing adds up repeated fits, and each adds its epsilon.");
}

static void schema(const tacit_testimony_t *said, tacit_text_t *text) {
  line(text, "# Data set and schema");
  if (said->schema == NULL) {
    line(text, "The folder holds no schema.");
    return;
  }
  line(text, "Public, as used (schema.yaml):");
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
  line(text, "# The ledger");
  if (said->ledger == NULL) {
    line(text, "This fit was entered in no ledger.");
    return;
  }
  tacit_text_printf(text, "Spend %llu in the ledger of the data set ", (unsigned long long)said->spend);
  quoted(text, said->ledger);
  line(text, ", which adds up all runs entered there. `tacit ledger show LEDGER` lists them, `tacit ledger verify LEDGER` checks that none was changed.");
}

static void check(const tacit_testimony_t *said, tacit_text_t *text) {
  char spec[TACIT_EVENT_TEXT_SIZE];
  line(text, "# How to check it");
  if (said->n_events > 0) {
    line(text, "This composes what is listed above again, and reads no record:");
    tacit_text_printf(text, "    tacit account --relation %s%s --delta ", tacit_relation_string(said->relation), said->is_scheduled ? " --in-order" : "");
    tacit_text_shortest(text, said->claim.delta);
    for (size_t i = 0; i < said->n_events; i++) {
      tacit_text_printf(text, " \\\n      --event %s --count %llu", tacit_event_format(&said->events[i], spec), (unsigned long long)said->events[i].count);
    }
    tacit_text_printf(text, "\nIt prints epsilon ");
    tacit_text_number(text, said->again.epsilon, 10);
    tacit_text_printf(text, " (computed for this page, too), and must not pass the epsilon claimed by more than the width of its bracket, 0.1 %%.%s\n",
                      said->is_scheduled ? "" : " Where it is less, the rest of the budget was not used; the claim stays the budget.");
  }
  line(text, "privacy.json, privacy.txt and run.yaml in the folder say the same, and with which settings. That these files are what the program "
             "wrote is for the holder of the folder to vouch for.");
}

static void software(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_text_printf(text, "Fitted with tacit ");
  tacit_text_plain(text, said->version[0] != '\0' ? said->version : "(version not said)");
  tacit_text_printf(text, "; this page was written by tacit %s from the folder's files alone.\n", tacit_version());
}

static void not_private(const tacit_testimony_t *said, tacit_text_t *text) {
  const char *reason = tacit_testimony_assumption(said, 0);
  line(text, "# NOT PRIVATE");
  subject(said, text);
  line(text, "# The claim");
  tacit_text_printf(text, "None. No guarantee of differential privacy holds for any file of the folder");
  if (reason != NULL) {
    tacit_text_printf(text, " (");
    tacit_text_plain(text, reason);
    tacit_text_printf(text, ")");
  }
  line(text, ". It may reveal the records: keep it as you keep the records, or use it for public data only.");
}

static void released_before(const tacit_testimony_t *said, tacit_text_t *text) {
  line(text, "# No privacy cost beyond a release made before");
  subject(said, text);
  line(text, "# The claim");
  tacit_text_printf(text, "Post-processing: everything was computed from one released statistic and public settings; no record was read. Whatever "
                          "guarantee that release has, these files have too. This program did not make the release and does not vouch for it.\n"
                          "- Statistic: ");
  tacit_text_plain(text, said->statistic);
  tacit_text_printf(text, ".\n- Noise: ");
  tacit_text_plain(text, said->noise);
  if (isfinite(said->claim.epsilon) && isfinite(said->claim.delta)) {
    tacit_text_printf(text, ".\n- If it was made as described, it cost epsilon = ");
    tacit_text_number_up(text, said->claim.epsilon, EPSILON_DIGITS);
    tacit_text_printf(text, " at delta = ");
    tacit_text_number_up(text, said->claim.delta, EPSILON_DIGITS);
    line(text, " (one record replaced; the number of records is public).");
  } else {
    line(text, ".\n- What it cost its description does not say; whoever released it can.");
  }
}

static void all_lines(const tacit_testimony_t *said, tacit_text_t *text) {
  if (!said->claim.is_private) {
    not_private(said, text);
  } else if (said->claim.is_post_processing) {
    released_before(said, text);
  } else {
    tacit_text_printf(text, "# Differential privacy: epsilon = ");
    tacit_text_number_up(text, said->claim.epsilon, EPSILON_DIGITS);
    tacit_text_printf(text, ", delta = ");
    tacit_text_number_up(text, said->claim.delta, EPSILON_DIGITS);
    tacit_text_append(text, "\n", 1);
    subject(said, text);
    claim(said, text);
    chances(said, text);
    mechanism(said, text);
    trust(said, text);
    outside(said, text);
    ledger(said, text);
    check(said, text);
  }
  if (!said->claim.is_post_processing) {
    schema(said, text);
  }
  line(text, "# Software");
  software(said, text);
  line(text, "# Read and checked");
  static const char *const blanks[] = {"Name      ", "Office    ", "Date      ", "Signature "};
  for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++) {
    tacit_text_printf(text, "    %s______________________\n", blanks[i]);
  }
}

/* ---- the page ---- */

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#4a535e;--rule:#c9d0d8;--pre:#f3f5f7;--good:#1a7f4b;--bad:#b3161b}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e8ebee;--paper:#14171a;--soft:#aab3bd;--rule:#3a424b;--pre:#1f2429;--good:#4cc38a;--bad:#ff8a84}}\n"
    "body{font:15px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:46rem;margin:1.5rem auto;padding:0 1rem;overflow-wrap:anywhere}\n"
    "main h2{font-size:1rem;margin:1rem 0 .2rem;padding-top:.5rem;border-top:1px solid var(--rule)}\n"
    "main h2:first-child{font-size:1.3rem;line-height:1.25;margin:0;padding:.3rem 0 .3rem .8rem;border-top:0;border-left:6px solid var(--good)}\n"
    ".exposed h2:first-child{border-color:var(--bad);color:var(--bad)}\n"
    "h1{font-size:.95rem;font-weight:600;color:var(--soft);margin:0 0 .8rem}\n"
    "p{margin:.3rem 0}ul{margin:.2rem 0;padding-left:1.2rem}\n"
    "pre{font:.8rem/1.4 ui-monospace,Menlo,Consolas,monospace;background:var(--pre);padding:.5rem .7rem;margin:.3rem 0;white-space:pre-wrap}\n"
    "main pre:last-child{background:none;padding:0;line-height:2.2}\n"
    "@page{size:A4;margin:12mm 14mm}\n"
    "@media print{:root{--ink:#000;--paper:#fff;--soft:#333;--rule:#999;--pre:#fff;--good:#1a7f4b;--bad:#b3161b}"
    "body{font-size:8.5pt;line-height:1.24;margin:0;padding:0;max-width:none}h1{display:none}main{columns:2;column-gap:7mm}"
    "main h2{font-size:9.5pt;margin:.35rem 0 .1rem;padding-top:.25rem;break-after:avoid}"
    "main h2:first-child{font-size:13pt;column-span:all}main h2:first-child+p{column-span:all}"
    "p{margin:.15rem 0}pre{font-size:6.5pt;line-height:1.2;padding:0;break-inside:avoid}main pre:last-child{font-size:8.5pt;line-height:2.2}}\n";

static void page(const tacit_testimony_t *said, const char *lines, tacit_text_t *text) {
  tacit_text_printf(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>%sPrivacy statement: ",
                    said->claim.is_private ? "" : "NOT PRIVATE: ");
  tacit_text_html(text, said->csv.data_name != NULL ? said->csv.data_name : "");
  tacit_text_printf(text, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>Privacy statement</h1>\n<main%s>\n", style,
                    said->claim.is_private ? "" : " class=\"exposed\"");
  tacit_statement_html(lines, "h2", text);
  tacit_text_printf(text, "</main>\n</body>\n</html>\n");
}

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
      page(&said, lines.data, &text);
    } else {
      tacit_statement_text(lines.data, &text);
    }
  }
  if (status == TACIT_OK && (lines.failed || text.failed)) {
    status = tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    *out = text.data;
  } else {
    tacit_text_clear(&text);
  }
  tacit_text_clear(&lines);
  tacit_testimony_clear(&said);
  return status;
}
