/* What the exponential of a coefficient is, by family. */
#include <string.h>

#include "predict/predict_internal.h"
#include "program/kept.h"

static const struct {
  const char *family, *ratio;
} ratios[] = {{"bernoulli", "an odds ratio"},
              {"binomial", "an odds ratio"},
              {"beta_binomial", "an odds ratio"},
              {"zero_inflated_binomial", "an odds ratio, among those who could have more than 0"},
              {"beta", "an odds ratio of the mean share"},
              {"cumulative", "an odds ratio, of a higher level"},
              {"categorical", "an odds ratio, of the level beside the first"},
              {"poisson", "a rate ratio"},
              {"negbinomial", "a rate ratio"},
              {"zero_inflated_poisson", "a rate ratio, among those who could have more than 0"},
              {"zero_inflated_negbinomial", "a rate ratio, among those who could have more than 0"},
              {"hurdle_poisson", "a rate ratio, of counts before zeros are left out"},
              {"hurdle_negbinomial", "a rate ratio, of counts before zeros are left out"},
              {"weibull", "a time ratio; the hazard ratio of b is exp(-shape * b)"},
              {"exponential", "a time ratio; the hazard ratio of b is exp(-b)"},
              {"lognormal", "a ratio of medians"},
              {"hurdle_lognormal", "a ratio of medians, of what is not 0"},
              {"gamma", "a ratio of means"},
              {"hurdle_gamma", "a ratio of means, of what is not 0"},
              {"probit", "no ratio: coefficients are differences of the normal score of the probability"},
              {"gaussian", "no ratio: coefficients are differences of the response"},
              {"student", "no ratio: coefficients are differences of the response"}};

const char *tacit_ratio_of(const tacit_report_read_t *fit) {
  tacit_program_kept_t kept = {0};
  tacit_error_t err;
  const char *family = fit->family, *ratio = "";
  if (fit->program != NULL) {
    family = tacit_program_kept_read(&kept, fit->program, &err) == TACIT_OK ? kept.family : NULL;
  }
  for (size_t i = 0; family != NULL && i < sizeof ratios / sizeof ratios[0]; i++) {
    ratio = strcmp(ratios[i].family, family) == 0 ? ratios[i].ratio : ratio;
  }
  tacit_program_kept_clear(&kept);
  return ratio;
}
