/* The privacy statement in words that a privacy officer can check. */
#include <math.h>
#include <string.h>

#include "report/report.h"
#include "report/report_internal.h"

enum { EPSILON_DIGITS = 5 };

static void line(tacit_text_t *text, const char *marked) { tacit_text_printf(text, "%s\n", marked); }

static bool is_row(const tacit_report_t *report) { return strcmp(report->unit, "row") == 0; }

/* "one row" or "all rows of one value of column "patient" (at most 5)". */
static void one_unit(const tacit_report_t *report, tacit_text_t *text) {
  if (is_row(report)) {
    tacit_text_printf(text, "one row");
    return;
  }
  tacit_text_printf(text, "all rows that share one value of the column \"");
  tacit_text_plain(text, report->unit);
  tacit_text_printf(text, "\" (at most %zu rows)", report->max_rows);
}

static void who_is_protected(const tacit_report_t *report, tacit_text_t *text) {
  line(text, "# Who is protected");
  tacit_text_printf(text, "The unit of protection is ");
  one_unit(report, text);
  tacit_text_printf(text, " of the data set \"");
  tacit_text_plain(text, report->data_name);
  if (tacit_budget_relation(report->budget) == TACIT_RELATION_ADD_REMOVE) {
    tacit_text_printf(text, "\". Two data sets are neighbours if one becomes the other by adding or removing "
                            "one unit (relation: add-remove); how many units there are is not published.\n");
  } else {
    tacit_text_printf(text, "\". Two data sets are neighbours if one becomes the other by replacing one unit "
                            "(relation: substitute); how many units there are is public.\n");
  }
}

static void what_is_promised(const tacit_report_t *report, double epsilon, tacit_text_t *text) {
  line(text, "# What is promised");
  tacit_text_printf(text, "(epsilon, delta)-differential privacy: for any two neighbouring data sets A and B "
                          "and any set S of results, Pr[result from A is in S] <= exp(epsilon) Pr[result "
                          "from B is in S] + delta, with epsilon = ");
  tacit_text_number_up(text, epsilon, EPSILON_DIGITS);
  tacit_text_printf(text, " and delta = ");
  tacit_text_number_up(text, tacit_budget_delta(report->budget), EPSILON_DIGITS);
  double factor = exp(epsilon);
  if (isfinite(factor)) {
    tacit_text_printf(text, "; exp(epsilon) is ");
    tacit_text_number_up(text, factor, 3);
  }
  tacit_text_printf(
      text, tacit_budget_is_scheduled(report->budget)
                ? ". That is the price of all that the run could release, fixed before its first release"
                : ". That is the run's budget, fixed before its first release");
  tacit_text_printf(text, ". Nothing that can be concluded from these files, by whatever means and with "
                          "whatever knowledge besides, is more than that factor, plus delta, likelier than "
                          "it would have been from a neighbouring data set.\n");
  if (report->delta_meaning[0] != '\0') {
    tacit_text_printf(text, "What delta means here, in the words of the schema: ");
    tacit_text_plain(text, report->delta_meaning);
    tacit_text_append(text, "\n", 1);
  } else {
    line(text, "Delta is the additive slack of that inequality: a probability, which should stay far below "
               "one over the number of units.");
  }
}

static const char *end_in_words(const char *end) {
  return strcmp(end, "complete") == 0      ? "The run did all its iterations."
         : strcmp(end, "budget") == 0      ? "The run ended when the budget refused a further release."
         : strcmp(end, "interrupted") == 0 ? "The run was interrupted; what it had charged stays charged."
                                           : "";
}

/* After the label: what noise it had, or what was decided. */
static void describe_event(const tacit_event_t *event, tacit_text_t *text) {
  switch (event->kind) {
  case TACIT_EVENT_GAUSSIAN:
    tacit_text_printf(text, "\"");
    if (event->sampling == TACIT_SAMPLING_POISSON) {
      tacit_text_printf(text, " from records each drawn with probability ");
      tacit_text_number(text, event->sampling_rate, 4);
      tacit_text_printf(text, ",");
    }
    tacit_text_printf(text, " with Gaussian noise of ");
    tacit_text_number(text, event->noise_multiplier, 6);
    tacit_text_printf(text, " times the sensitivity to one unit\n");
    return;
  case TACIT_EVENT_PENALTY_BIT:
  case TACIT_EVENT_PROBIT_BIT:
  case TACIT_EVENT_BARKER_BIT:
  case TACIT_EVENT_ARCSINE_BIT:
    tacit_text_printf(text, "\": a yes or no, whose log odds before any noise one unit moves by at most ");
    tacit_text_number(text, event->sensitivity, 6);
    if (event->kind == TACIT_EVENT_PENALTY_BIT || event->kind == TACIT_EVENT_PROBIT_BIT) {
      tacit_text_printf(text, ", decided under Gaussian noise of ");
      tacit_text_number(text, event->sigma, 6);
    }
    tacit_text_printf(text, "\n");
    return;
  default: {
    char spec[TACIT_EVENT_TEXT_SIZE];
    tacit_text_printf(text, "\": %s\n", tacit_event_format(event, spec));
  }
  }
}

void tacit_statement_event(const tacit_event_t *event, tacit_text_t *text) {
  tacit_text_printf(text, "- %llu of \"", (unsigned long long)event->count);
  tacit_text_plain(text, event->label);
  describe_event(event, text);
}

static bool has_decisions(const tacit_budget_t *budget) {
  size_t n;
  const tacit_event_t *events = tacit_budget_events(budget, &n);
  for (size_t i = 0; i < n; i++) {
    if (events[i].kind >= TACIT_EVENT_PENALTY_BIT && events[i].kind <= TACIT_EVENT_ARCSINE_BIT) {
      return true;
    }
  }
  return false;
}

static void what_was_charged(const tacit_report_t *report, tacit_text_t *text) {
  tacit_guarantee_t charged = tacit_budget_spent(report->budget);
  line(text, "# What was charged");
  tacit_text_printf(text, "The releases made were charged epsilon = ");
  tacit_text_number_up(text, charged.epsilon, EPSILON_DIGITS);
  tacit_text_printf(text, " of the epsilon = ");
  tacit_text_shortest(text, tacit_budget_promised(report->budget).epsilon);
  tacit_text_printf(text, " promised, at delta = ");
  tacit_text_shortest(text, tacit_budget_delta(report->budget));
  tacit_text_printf(text,
                    ". That is for keeping accounts and is no guarantee: which releases are made can depend "
                    "on the noise in those before, and who stops, or shows a run, because of what he sees in "
                    "it is not covered by it. What was promised covers him: it was fixed beforehand. Each "
                    "release was charged before it was computed and none was refunded. %s The releases:\n",
                    end_in_words(report->end));
  size_t n;
  const tacit_event_t *events = tacit_budget_events(report->budget, &n);
  for (size_t i = 0; i < n; i++) {
    tacit_statement_event(&events[i], text);
  }
  if (n == 0) {
    line(text, "- none");
  }
  tacit_text_printf(text, "Their composition was computed with the accountant \"%s\" and rounded up.%s\n",
                    charged.method != NULL ? charged.method : "none",
                    tacit_budget_is_scheduled(report->budget)
                        ? " The whole schedule that was fixed before the first release is counted "
                          "(privacy.json lists it), whether or not all of it was used."
                        : "");
  if (report->ledger_data_id != NULL) {
    tacit_text_printf(text, "This run is spend %llu in the ledger of the data set \"",
                      (unsigned long long)report->ledger_spend);
    tacit_text_plain(text, report->ledger_data_id);
    tacit_text_printf(text, "\", which adds up all runs that were entered there.%s\n",
                      has_decisions(report->budget) ? " Decisions count there for more than by themselves: "
                                                      "at a price that holds whatever else is run."
                                                    : "");
  }
}

static void exactness(const tacit_report_t *report, tacit_text_t *text) {
  line(text, "# How good the draws are");
  if (report->is_noise_aware) {
    bool is_program = strcmp(report->family, "program") == 0;
    line(text, is_program
                   ? "They are from the posterior distribution given the releases above, so that intervals "
                     "include the privacy noise. What a record adds is clipped after it is centred by the "
                     "program itself, which leaves its mean where it was. R-hat and the effective sample "
                     "sizes say how far the sampling got, not how good the program is."
                   : "They are from the posterior distribution given the releases above, so that intervals "
                     "include the privacy noise. Records enter whitened and weighted; what the releases "
                     "leave open about them is part of the uncertainty. Default priors are scaled by the "
                     "released moments: no record was used for them again. R-hat and the effective sample "
                     "sizes say how far the sampling got, not how good the model is.");
    if (report->evidence != NULL && report->evidence->note[0] != '\0') {
      line(text, report->evidence->note);
    }
    return;
  }
  line(text,
       report->is_exact
           ? "The model itself bounds what a unit can contribute, so nothing was clipped, and the method "
             "leaves the posterior distribution unchanged: privacy noise makes it slower, not biased. A run "
             "is finite all the same: R-hat and the effective sample sizes say how far it got."
           : "What a unit contributes was limited to a bound (clipped), or the method is approximate: the "
             "draws follow a distribution near the posterior, and nothing here says how near. R-hat and the "
             "effective sample sizes speak of that distribution.");
}

static void assumptions(const tacit_report_t *report, tacit_text_t *text) {
  line(text, "# What is assumed");
  line(text, "- The schema (bounds, levels, unit, relation), the model and all settings are public: they "
             "were given by people and not read off the data.");
  line(text,
       "- The curator's machine, its operating system and its source of random numbers can be trusted.");
  for (size_t i = 0; i < report->n_assumptions; i++) {
    tacit_text_append(text, "- ", 2);
    tacit_text_plain(text, report->assumptions[i]);
    tacit_text_append(text, "\n", 1);
  }
}

static void not_promised(tacit_text_t *text) {
  line(text, "# What is not promised");
  line(text, "- Other releases from the same records, by this program or any other, are not counted here: "
             "the costs of all of them add up.");
  line(text, "- A group of units has weaker protection than one unit: k units have k times the epsilon and a "
             "larger delta.");
  line(text, "- What the data say about people in general is what the analysis is for. It can be used to "
             "guess at somebody, whether or not their record was among the data.");
  line(text, "- Running time, memory use, and what the program shows the curator alone are not covered.");
}

static void not_private(const tacit_report_t *report, tacit_text_t *text) {
  line(text, "# NOT PRIVATE");
  tacit_text_printf(text, "Reason: ");
  tacit_text_plain(text, report->not_private_reason);
  tacit_text_printf(text,
                    ".\nNo guarantee of differential privacy holds for any file of this directory (method ");
  tacit_text_plain(text, report->method);
  tacit_text_printf(text, ", data set \"");
  tacit_text_plain(text, report->data_name);
  tacit_text_printf(text, "\"). It may reveal the records it was computed from: keep it as you keep the "
                          "records, or use it for public data only.\n");
}

void tacit_statement_change(tacit_relation_t relation, const char *unit, tacit_text_t *text) {
  tacit_text_printf(text,
                    relation == TACIT_RELATION_SUBSTITUTE ? " (replacing one " : " (adding or removing one ");
  tacit_text_plain(text, unit);
  tacit_text_printf(text, strcmp(unit, "row") != 0 ? ", with all rows of it" : "");
  tacit_text_printf(text, relation == TACIT_RELATION_SUBSTITUTE ? "; how many there are is public)" : ")");
}

/* Nothing but a release went in: the statement is about that release. */
static void post_processing(const tacit_report_t *report, tacit_text_t *text) {
  const tacit_report_release_t *release = report->release;
  line(text, "# No privacy cost beyond the release");
  tacit_text_printf(text, "Every file of this directory was computed from one released statistic and from "
                          "public settings (method ");
  tacit_text_plain(text, report->method);
  tacit_text_printf(
      text, "). No record was read: whatever differential privacy that release has, these files have too.\n");
  line(text, "# The release");
  tacit_text_printf(text, "Statistic: ");
  tacit_text_plain(text, release->statistic);
  tacit_text_printf(text, ". Noise: ");
  tacit_text_plain(text, release->noise);
  tacit_text_printf(text, ".\n");
  if (isfinite(release->epsilon) && isfinite(release->delta)) {
    tacit_text_printf(text, "If it was made as described, its cost is epsilon = ");
    tacit_text_number_up(text, release->epsilon, EPSILON_DIGITS);
    tacit_text_printf(text, " at delta = ");
    tacit_text_number_up(text, release->delta, EPSILON_DIGITS);
    tacit_statement_change(release->relation, report->unit, text);
    line(text, ". That was paid when it was released, not here.");
  } else {
    line(text, "Its description does not say what it cost (epsilon, delta); whoever released it can.");
  }
  if (release->composition != NULL) {
    line(text, release->composition);
  }
  line(text, "# How good the draws are");
  line(text,
       report->is_noise_aware && release->has_own_effects
           ? "They are from the posterior given the releases of all sites together, the prior applied once, "
             "so that intervals include the privacy noise; each site has coefficients of its own, around the "
             "means that are reported."
       : report->is_noise_aware ? "They are from the posterior given the releases of all sites together, the "
                                  "prior applied once, so that intervals include the privacy noise; "
                                  "coefficients are taken to be the same at every site."
       : report->is_exact
           ? "The chain's distribution is the posterior given the release, clamping and noise included. A "
             "run is finite all the same: R-hat and the effective sample sizes say how far it got."
       : report->statistic != NULL
           ? "The counts behind the noise were integrated out by Laplace's method in saddlepoint form: an "
             "approximation that is exact without noise and where noise prevails, and between is off by "
             "about one over the counts of cells. Interactions that no margin shows are taken for none."
           : "The sum of the records was taken as normal, with the exact mean and covariance of clamped "
             "records: an approximation whose error shrinks like one over the square root of their number.");
  line(text, "# What is assumed");
  line(text, report->is_noise_aware
                 ? "- The releases were made as their files say."
                 : "- The distribution of the records, the clamp bounds, their number and the distribution "
                   "of the noise are as stated: the posterior is only as right as they are.");
  for (size_t i = 0; i < report->n_assumptions; i++) {
    tacit_text_append(text, "- ", 2);
    tacit_text_plain(text, report->assumptions[i]);
    tacit_text_append(text, "\n", 1);
  }
}

void tacit_statement_lines(const tacit_report_t *report, tacit_text_t *text) {
  if (report->release != NULL) {
    post_processing(report, text);
    return;
  }
  if (!report->is_private) {
    not_private(report, text);
    return;
  }
  double epsilon = tacit_budget_promised(report->budget).epsilon;
  tacit_text_printf(text, "# Private: epsilon = ");
  tacit_text_number_up(text, epsilon, EPSILON_DIGITS);
  tacit_text_printf(text, ", delta = ");
  tacit_text_number_up(text, tacit_budget_delta(report->budget), EPSILON_DIGITS);
  tacit_text_printf(text, "\nEvery file of this directory was computed from the noisy releases listed below "
                          "and from public settings (method ");
  tacit_text_plain(text, report->method);
  tacit_text_printf(text, "). The records were used for nothing else that left the curator.\n");
  who_is_protected(report, text);
  what_is_promised(report, epsilon, text);
  what_was_charged(report, text);
  exactness(report, text);
  assumptions(report, text);
  not_promised(text);
}
