/* What families of regressions there are, for people: one list, in the order of those that programs are
 * written for. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "program/program.h"
#include "program/regression.h"

static const tacit_family_about_t families[] = {
    {"bernoulli", "0 or 1, or two levels", "logit", "whether something happened: log odds"},
    {"probit", "0 or 1, or two levels", "probit",
     "whether something happened: the normal score of its probability"},
    {"gaussian", "a number", "identity", "a mean with normal errors: linear regression"},
    {"student", "a number", "identity",
     "a mean with errors of heavier tails, of their own degrees of freedom"},
    {"lognormal", "a number above 0", "identity, of the log", "a number whose logarithm is normal; cens()"},
    {"weibull", "a number above 0", "log, of the scale", "a time with a hazard that rises or falls; cens()"},
    {"exponential", "a number above 0", "log", "a time with a constant hazard; cens()"},
    {"gamma", "a number above 0", "log", "costs, durations: a mean with errors that grow with it"},
    {"beta", "a number between 0 and 1", "logit", "a share: its mean, with a precision"},
    {"poisson", "a count", "log", "a rate of events"},
    {"negbinomial", "a count", "log", "a rate of events that vary more than a Poisson distribution allows"},
    {"binomial", "a count, of trials(n)", "logit",
     "successes among n trials of a record; of 0 and 1: bernoulli"},
    {"beta_binomial", "a count, of trials(n)", "logit",
     "the same, varying more than a binomial distribution allows"},
    {"cumulative", "three levels or more, in order", "logit", "an ordinal response: proportional odds"},
    {"zero_inflated_poisson", "a count", "log", "poisson with further zeros"},
    {"zero_inflated_negbinomial", "a count", "log", "negbinomial with further zeros"},
    {"zero_inflated_binomial", "a count, of trials(n)", "logit", "binomial with further zeros"},
    {"hurdle_poisson", "a count", "log", "zero or not, and poisson counts above it"},
    {"hurdle_negbinomial", "a count", "log", "zero or not, and negbinomial counts above it"},
    {"hurdle_lognormal", "a number from 0", "identity, of the log",
     "zero or not, and lognormal numbers above it"},
    {"hurdle_gamma", "a number from 0", "log", "zero or not, and gamma numbers above it"},
    {"categorical", "levels", "softmax",
     "classes without an order, each beside the first: multinomial regression"}};
enum { N_FAMILIES = sizeof families / sizeof families[0] };

/* What others call them, in lower case with underscores. */
static const char *const synonyms[][2] = {{"nbinom", "negbinomial"},
                                          {"nb", "negbinomial"},
                                          {"negative_binomial", "negbinomial"},
                                          {"negativebinomial", "negbinomial"},
                                          {"neg_binomial", "negbinomial"},
                                          {"nbinom1", "negbinomial"},
                                          {"nbinom2", "negbinomial"},
                                          {"negbin", "negbinomial"},
                                          {"ordinal", "cumulative"},
                                          {"ordered", "cumulative"},
                                          {"ordered_logistic", "cumulative"},
                                          {"proportional_odds", "cumulative"},
                                          {"polr", "cumulative"},
                                          {"multinomial", "categorical"},
                                          {"softmax", "categorical"},
                                          {"logistic", "bernoulli"},
                                          {"logit", "bernoulli"},
                                          {"binary", "bernoulli"},
                                          {"bernoulli_probit", "probit"},
                                          {"binomial_probit", "probit"},
                                          {"quasibinomial", "binomial"},
                                          {"normal", "gaussian"},
                                          {"linear", "gaussian"},
                                          {"ols", "gaussian"},
                                          {"lm", "gaussian"},
                                          {"identity", "gaussian"},
                                          {"t", "student"},
                                          {"student_t", "student"},
                                          {"studentt", "student"},
                                          {"robust", "student"},
                                          {"count", "poisson"},
                                          {"quasipoisson", "negbinomial"},
                                          {"survival", "weibull"},
                                          {"log_normal", "lognormal"},
                                          {"betabinomial", "beta_binomial"},
                                          {"zip", "zero_inflated_poisson"},
                                          {"zinb", "zero_inflated_negbinomial"},
                                          {"zib", "zero_inflated_binomial"},
                                          {"zeroinflatedpoisson", "zero_inflated_poisson"},
                                          {"zeroinflatednegativebinomial", "zero_inflated_negbinomial"},
                                          {"zero_inflated_negative_binomial", "zero_inflated_negbinomial"},
                                          {"hurdle_negative_binomial", "hurdle_negbinomial"},
                                          {"hurdlepoisson", "hurdle_poisson"},
                                          {"hurdlegamma", "hurdle_gamma"},
                                          {"hurdlelognormal", "hurdle_lognormal"}};

const tacit_family_about_t *tacit_program_family_about(size_t i) {
  return i < N_FAMILIES ? &families[i] : NULL;
}

const char *tacit_program_family_meant(const char *name) {
  char plain[64];
  size_t n = strlen(name);
  if (n == 0 || n >= sizeof plain) {
    return NULL;
  }
  for (size_t i = 0; i <= n; i++) {
    plain[i] =
        name[i] == ' ' || name[i] == '-' || name[i] == '.' ? '_' : (char)tolower((unsigned char)name[i]);
  }
  tacit_nearest_t nearest = {.name = plain};
  for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
    if (strcmp(synonyms[i][0], plain) == 0) {
      return synonyms[i][1];
    }
  }
  for (size_t i = 0; i < N_FAMILIES; i++) {
    if (strcmp(families[i].name, plain) == 0) {
      return families[i].name;
    }
    tacit_nearest_offer(&nearest, families[i].name);
  }
  return nearest.best;
}

const char *tacit_program_family_hint(const char *name, char out[TACIT_HINT_SIZE]) {
  const char *meant = tacit_program_family_meant(name);
  out[0] = '\0';
  if (meant != NULL) {
    snprintf(out, TACIT_HINT_SIZE, " (did you mean '%s'?)", meant);
  }
  return out;
}
