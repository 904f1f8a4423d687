/*
 * A model of one's own: lifetimes x_i ~ Exponential(rate), theta = log rate ~ N(0, 1), under differential
 * privacy.
 *
 *     cc plugin_exponential.c $(pkg-config --cflags --libs tacit) -lm && ./a.out
 *
 * A model is two structs: the likelihood of 16 records at a time (which only the curator calls), and the
 * public side with prior and names. log p(x | theta) = theta - x e^theta, gradient 1 - x e^theta: no bound
 * for all theta, so the curator is told where to clip.
 */
#include <math.h>
#include <stdio.h>

#include "tacit/plugin.h"

static void log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out) {
  (void)ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < TACIT_BLOCK; lane++) {
      out[k * TACIT_BLOCK + lane] = theta[k] - (double)block[lane] * exp(theta[k]);
    }
  }
}

static void grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  (void)ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < TACIT_BLOCK; lane++) {
      out[k * TACIT_BLOCK + lane] = 1 - block[lane] * expf(theta[k]);
    }
  }
}

static double log_prior(const void *ctx, const double *theta, double *gradient) {
  (void)ctx;
  if (gradient != NULL) {
    gradient[0] = -theta[0];
  }
  return -0.5 * theta[0] * theta[0];
}

static void report(const void *ctx, const double *theta, double *reported) {
  (void)ctx;
  reported[0] = exp(theta[0]);
}

static int fail(const char *what, const tacit_error_t *err) {
  fprintf(stderr, "%s: %s\n", what, err->message);
  return 1;
}

int main(void) {
  static const char *const labels[] = {"rate"};
  static const double unit_scale[] = {1};
  const tacit_model_t model = {.records = {.name = "exponential",
                                           .dim = 1,
                                           .n_columns = 1,
                                           .grad_bound = INFINITY,
                                           .log_lik = log_lik,
                                           .grad = grad},
                               .parameters = {.dim = 1,
                                              .n_reported = 1,
                                              .labels = labels,
                                              .names = labels,
                                              .log_prior = log_prior,
                                              .report = report,
                                              .unit_scale = unit_scale}};
  enum { n = 20000 };
  tacit_error_t err;
  tacit_records_t *records;
  if (tacit_model_validate(&model, &err) != TACIT_OK || tacit_records_new(&records, n, 1, &err) != TACIT_OK) {
    return fail("model", &err);
  }
  for (size_t i = 0; i < n; i++) { /* quantiles of Exponential(2): made-up records */
    double lifetime = -log(1 - ((double)i + 0.5) / n) / 2;
    tacit_records_set(records, i, &lifetime);
  }

  tacit_budget_t *budget = NULL;
  tacit_noise_t *noise = NULL;
  tacit_curator_t *curator = NULL;
  tacit_curator_settings_t limits = tacit_curator_settings_default();
  limits.clip_bound_ratio =
      3; /* |l_i(theta') - l_i(theta)| <= 3 |theta' - theta|: the longest of these lifetimes clip,
             which shifts the posterior by some 2 %: a larger bound shifts less and costs more */
  if (tacit_budget_new(&budget, 10, 1e-6, TACIT_RELATION_SUBSTITUTE, &err) != TACIT_OK ||
      tacit_noise_new(&noise, &err) != TACIT_OK ||
      tacit_curator_new(&curator, records, &model.records, budget, noise, &limits, &err) != TACIT_OK) {
    return fail("curator", &err);
  }

  const tacit_method_t *method = tacit_method_find("dp-penalty");
  tacit_sampler_settings_t settings = tacit_sampler_settings_default();
  tacit_plan_request_t request = {
      .curator = curator, .parameters = &model.parameters, .n_units = n, .rho = tacit_budget_rho(budget)};
  settings.n_chains = 2;
  settings.n_draws = 400;
  settings.n_warmup = 200;
  tacit_plan_t plan;
  double inv_metric[1];
  tacit_draws_t draws;
  tacit_sample_end_t end;
  tacit_summary_t summary;
  if (tacit_rng_key_from_system(settings.key, &err) != TACIT_OK ||
      tacit_plan(method, &request, &settings, inv_metric, &plan, &err) != TACIT_OK ||
      tacit_sample(method, curator, &model.parameters, &settings, &draws, &end, &err) != TACIT_OK ||
      tacit_draws_summarise(&draws, 0, &summary, &err) != TACIT_OK) {
    return fail("sampling", &err);
  }
  tacit_guarantee_t spent = tacit_budget_spent(budget);
  printf("rate: mean %.3f, sd %.3f, R-hat %.2f; (%.3f, %g)-differentially private\n", summary.mean,
         summary.sd, summary.rhat, spent.epsilon, spent.delta);
  int found = summary.mean > 1.8 && summary.mean < 2.2;
  tacit_draws_clear(&draws);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  return found ? 0 : 1;
}
