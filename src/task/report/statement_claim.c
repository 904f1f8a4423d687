/* What pages of a fit and of a ledger have in common: the claim, what it means in chances, how it is computed
 * again, where to sign, the document. */
#include <math.h>
#include <string.h>

#include "report/statement_page.h"

enum { CHANCE_DIGITS = 3 };

static const double prior = 0.01;

/*
 * A guess which of m = 1/prior equally likely contents a unit has, all others known, given the files; s is
 * the chance that it is right, P(a | b) that a is guessed where b is true. For each b, sum over a != b of P(a
 * | a) <= e^eps (1 - P(b | b)) + (m - 1) delta; summed over b, s <= (e^eps + (m - 1) delta) / (m - 1 +
 * e^eps), which randomized response attains at delta = 0.
 */
static double guess_within(double epsilon, double delta) {
  double inverse = exp(-epsilon); /* so that a large epsilon is not infinite over infinite */
  return fmin(1, (prior + (1 - prior) * delta * inverse) / ((1 - prior) * inverse + prior));
}

/*
 * Under add-remove b is the data set without the unit, a neighbour of every content, and sum_a P(a | b) <= 1:
 * s <= prior e^eps + delta. Or two steps, from one content to another: 2 eps, (1 + e^eps) delta.
 */
double tacit_statement_guess(const tacit_testimony_t *said) {
  double epsilon = said->claim.epsilon, delta = said->claim.delta;
  if (said->relation == TACIT_RELATION_SUBSTITUTE) {
    return guess_within(epsilon, delta);
  }
  double two_steps = exp(epsilon) < INFINITY ? guess_within(2 * epsilon, (1 + exp(epsilon)) * delta) : 1;
  return fmin(prior * exp(epsilon) + delta, two_steps);
}

/* The power of a test of level `prior` between neighbours; both directions of the definition. */
double tacit_statement_test(const tacit_testimony_t *said) {
  double epsilon = said->claim.epsilon, delta = said->claim.delta;
  return fmin(1, fmin(prior * exp(epsilon) + delta, 1 - exp(-epsilon) * fmax(0, 1 - prior - delta)));
}

/* "2.69 in 100" */
static void chance(tacit_text_t *text, double probability) {
  tacit_text_number_up(text, fmin(100, 100 * probability), CHANCE_DIGITS);
  tacit_text_printf(text, " in 100%s", probability > 0.999 ? ": next to nothing is ruled out" : "");
}

/* ---- parts of sections ---- */

void tacit_statement_line(tacit_text_t *text, const char *marked) { tacit_text_printf(text, "%s\n", marked); }

void tacit_statement_quoted(tacit_text_t *text, const char *s) {
  tacit_text_append(text, "\"", 1);
  tacit_text_plain(text, s);
  tacit_text_append(text, "\"", 1);
}

static bool is_row(const tacit_testimony_t *said) { return strcmp(said->unit, "row") == 0; }

/* ---- sections ---- */

void tacit_statement_claim(const tacit_testimony_t *said, tacit_text_t *text) {
  tacit_statement_line(text, "# The claim");
  tacit_text_printf(text, "- Unit of privacy: ");
  if (is_row(said)) {
    tacit_text_printf(text,
                      "one row. It is a person's protection where the person has one row; of a person with k "
                      "rows each row is protected, the person by k times epsilon and a larger delta.\n");
  } else {
    tacit_text_printf(text, "all rows that share a value of the column ");
    tacit_statement_quoted(text, said->unit);
    tacit_text_printf(text, ", of which there are at most %llu.\n", (unsigned long long)said->max_rows);
  }
  tacit_text_printf(text, said->relation == TACIT_RELATION_ADD_REMOVE
                              ? "- Neighbouring data sets (relation add-remove): one has a unit more than "
                                "the other. How many units there are is private"
                              : "- Neighbouring data sets (relation substitute): one unit is replaced by "
                                "another. How many units there are is public");
  if (said->n_units > 0 && said->relation == TACIT_RELATION_SUBSTITUTE) {
    tacit_text_printf(text, ": %.0f", said->n_units);
  }
  tacit_text_printf(text, ".\n");
  tacit_text_printf(text, "- Privacy parameters: epsilon = ");
  tacit_text_number_up(text, said->claim.epsilon, TACIT_STATEMENT_EPSILON_DIGITS);
  tacit_text_printf(text, ", delta = ");
  tacit_text_number_up(text, said->claim.delta, TACIT_STATEMENT_EPSILON_DIGITS);
  tacit_text_printf(text, ", fixed before the first release: Pr[result from A in S] <= exp(epsilon) "
                          "Pr[result from B in S] + delta for neighbours A, B and every set S of results.\n");
  if (isfinite(said->charged)) {
    tacit_text_printf(text, "- Charged of that budget (epsilon_charged): ");
    tacit_text_number_up(text, said->charged, TACIT_STATEMENT_EPSILON_DIGITS);
    tacit_text_printf(text, ". For keeping accounts; it is no guarantee.\n");
  }
  if (said->delta_meaning[0] != '\0') {
    tacit_text_printf(text, "- What delta means here, in the words of the schema: ");
    tacit_text_plain(text, said->delta_meaning);
    tacit_text_append(text, "\n", 1);
  }
}

/* For whom, against whom, and in which unit: the numbers are true of nothing else. */
void tacit_statement_chances(const tacit_testimony_t *said, tacit_text_t *text) {
  const char *unit = is_row(said) ? "row" : "unit";
  bool may_be_absent = said->relation == TACIT_RELATION_ADD_REMOVE;
  tacit_statement_line(text, "# What that means in chances");
  tacit_text_printf(text,
                    "- A guess: somebody knows all other units and 100 contents that one %s may have, each "
                    "as likely as the others. Without the files a guess is right with a chance of 1 in 100; "
                    "with them, whatever is done with them, of at most ",
                    unit);
  chance(text, tacit_statement_guess(said));
  tacit_text_printf(text,
                    ".\n- A test: somebody asks whether %s, and is wrong in 1 of 100 cases where that is not "
                    "so. From the files alone he finds it, where it is so, with a chance of at most ",
                    may_be_absent  ? is_row(said) ? "a given row is in the data at all"
                                                  : "a given unit is in the data at all"
                    : is_row(said) ? "a given row, and not a given other in its place, is in the data"
                                   : "a given unit, and not a given other in its place, is in the data");
  chance(text, tacit_statement_test(said));
  tacit_statement_line(
      text,
      ".\n- Both hold for each single unit and count delta. What the files say about people in general, and "
      "so about anybody, in the data or not, is what the analysis is for: it is not prevented.");
}

void tacit_statement_command(const tacit_testimony_t *said, tacit_text_t *text) {
  char spec[TACIT_EVENT_TEXT_SIZE];
  tacit_text_printf(text, "    tacit account --relation %s%s --delta ", tacit_relation_string(said->relation),
                    said->is_scheduled ? " --in-order" : "");
  tacit_text_shortest(text, said->claim.delta);
  for (size_t i = 0; i < said->n_events; i++) {
    tacit_text_printf(text, " \\\n      --event %s --count %llu", tacit_event_format(&said->events[i], spec),
                      (unsigned long long)said->events[i].count);
  }
  tacit_text_printf(text, "\nIt prints epsilon ");
  tacit_text_number(text, said->again.epsilon, 10);
  tacit_text_printf(
      text,
      " (computed for this page, too), and must not pass the epsilon claimed by more than the width of its "
      "bracket, 0.1 %%.%s\n",
      said->is_scheduled
          ? ""
          : " Where it is less, the rest of the budget was not used; the claim stays the budget.");
}

void tacit_statement_signing(tacit_text_t *text) {
  tacit_statement_line(text, "# Read and checked");
  static const char *const blanks[] = {"Name      ", "Office    ", "Date      ", "Signature "};
  for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++) {
    tacit_text_printf(text, "    %s______________________\n", blanks[i]);
  }
}

/* ---- the document ---- */

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1b1f24;--paper:#fff;--soft:#4a535e;--rule:#c9d0d8;--pre:#f3f5f7;--good:#1a7f4b;--bad:#"
    "b3161b}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ink:#e8ebee;--paper:#14171a;--soft:#aab3bd;--rule:#3a424b;--pre:#"
    "1f2429;--good:#4cc38a;--bad:#ff8a84}}\n"
    "body{font:15px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica "
    "Neue',Arial,sans-serif;color:var(--ink);background:var(--paper);max-width:46rem;margin:1.5rem "
    "auto;padding:0 1rem;overflow-wrap:anywhere}\n"
    "main h2{font-size:1rem;margin:1rem 0 .2rem;padding-top:.5rem;border-top:1px solid var(--rule)}\n"
    "main h2:first-child{font-size:1.3rem;line-height:1.25;margin:0;padding:.3rem 0 .3rem "
    ".8rem;border-top:0;border-left:6px solid var(--good)}\n"
    ".exposed h2:first-child{border-color:var(--bad);color:var(--bad)}\n"
    "h1{font-size:.95rem;font-weight:600;color:var(--soft);margin:0 0 .8rem}\n"
    "p{margin:.3rem 0}ul{margin:.2rem 0;padding-left:1.2rem}\n"
    "pre{font:.8rem/1.4 ui-monospace,Menlo,Consolas,monospace;background:var(--pre);padding:.5rem "
    ".7rem;margin:.3rem 0;white-space:pre-wrap}\n"
    "main pre:last-child{background:none;padding:0;line-height:2.2}\n"
    "@page{size:A4;margin:12mm 14mm}\n"
    "@media "
    "print{:root{--ink:#000;--paper:#fff;--soft:#333;--rule:#999;--pre:#fff;--good:#1a7f4b;--bad:#b3161b}"
    "body{font-size:8.5pt;line-height:1.24;margin:0;padding:0;max-width:none}h1{display:none}main{columns:2;"
    "column-gap:7mm}main h2{font-size:9.5pt;margin:.35rem 0 .1rem;padding-top:.25rem;break-after:avoid}main "
    "h2:first-child{font-size:13pt;column-span:all}main h2:first-child+p{column-span:all}p{margin:.15rem "
    "0}pre{font-size:6.5pt;line-height:1.2;padding:0;break-inside:avoid}main "
    "pre:last-child{font-size:8.5pt;line-height:2.2}}\n";

void tacit_statement_document(const char *data_name, bool is_private, const char *lines, tacit_text_t *text) {
  tacit_text_printf(text,
                    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, "
                    "initial-scale=1\">\n<title>%sPrivacy statement: ",
                    is_private ? "" : "NOT PRIVATE: ");
  tacit_text_html(text, data_name);
  tacit_text_printf(text,
                    "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>Privacy statement</h1>\n<main%s>\n",
                    style, is_private ? "" : " class=\"exposed\"");
  tacit_statement_html(lines, "h2", text);
  tacit_text_printf(text, "</main>\n</body>\n</html>\n");
}
