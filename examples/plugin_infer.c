/*
 * A model and a mechanism of one's own for inference from a released statistic: waiting times x_i ~
 * Exponential(rate) with rate ~ Gamma(2, 1), of which somebody released the number above 1, by a staircase
 * mechanism [Geng2014] that the library does not know.
 *
 *     cc plugin_infer.c $(pkg-config --cflags --libs tacit) -lm && ./a.out
 *
 * It ends by comparing the chain with the posterior by sums: given the rate, the number is binomial. Exit
 * status 1 if they differ.
 */
#include <math.h>
#include <stdio.h>

#include "tacit/plugin.h"

enum { N_RECORDS = 60 };

/* Density of the staircase: flat on steps of width 1, falling by e^-epsilon from each to the next; width of
 * the first is gamma. */
typedef struct staircase {
  double epsilon, gamma;
} staircase_t;

static double log_noise(void *user, const double *residual) {
  const staircase_t *s = user;
  double far = fabs(residual[0]), step = floor(far), rest = far - step;
  return -s->epsilon * (step + (rest >= s->gamma));
}

static void draw_record(void *user, const double *theta, struct tacit_rng *rng, double *record) {
  (void)user;
  record[0] = tacit_rng_exponential(rng) / theta[0];
}

static void statistic(void *user, const double *record, double *t) {
  (void)user;
  t[0] = record[0] > 1;
}

static double log_density(void *user, const double *theta, size_t n, const double *records) {
  (void)user;
  double rate = theta[0], sum = 0;
  if (!(rate > 0)) {
    return -INFINITY;
  }
  for (size_t i = 0; i < n; i++) {
    sum += records[i];
  }
  return log(rate) - rate + (double)n * log(rate) - rate * sum; /* prior Gamma(2, 1) */
}

/* Posterior mean and sd by sums over the rate and the number above 1. */
static void by_sums(staircase_t *noise, double value, double *mean, double *sd) {
  double mass = 0, first = 0, second = 0;
  for (double rate = 0.005; rate < 15; rate += 0.01) {
    double p = exp(-rate), likelihood = 0;
    for (int k = 0; k <= N_RECORDS; k++) {
      double residual = value - k;
      likelihood += exp(lgamma(N_RECORDS + 1) - lgamma(k + 1) - lgamma(N_RECORDS - k + 1) + k * log(p) +
                        (N_RECORDS - k) * log1p(-p) + log_noise(noise, &residual));
    }
    double weight = rate * exp(-rate) * likelihood;
    mass += weight;
    first += weight * rate;
    second += weight * rate * rate;
  }
  *mean = first / mass;
  *sd = sqrt(second / mass - *mean * *mean);
}

int main(void) {
  staircase_t noise = {.epsilon = 0.5, .gamma = 0.4};
  const double value = 21.3, start = 1, width = 0.3;
  tacit_augment_plugin_t plugin = {.n_theta = 1,
                                   .record_size = 1,
                                   .n_values = 1,
                                   .start = &start,
                                   .width = &width,
                                   .values = &value,
                                   .draw_record = draw_record,
                                   .statistic = statistic,
                                   .log_noise = log_noise,
                                   .log_density = log_density,
                                   .user = &noise};
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  tacit_augment_result_t result;
  tacit_draws_t draws;
  tacit_error_t err;
  settings.n_chains = 2;
  settings.n_draws = 20000;
  tacit_rng_key_from_seed(settings.key, 1);
  if (tacit_augment_with_plugin(&plugin, N_RECORDS, &settings, &draws, &result, &err) != TACIT_OK) {
    fprintf(stderr, "plugin_infer: %s\n", err.message);
    tacit_draws_clear(&draws);
    return 1;
  }
  double mean = 0, square = 0, exact_mean, exact_sd, n = 2 * (double)settings.n_draws;
  for (size_t i = 0; i < 2 * settings.n_draws; i++) {
    double rate = *tacit_draws_row(&draws, i % 2, settings.n_warmup + i / 2);
    mean += rate / n;
    square += rate * rate / n;
  }
  by_sums(&noise, value, &exact_mean, &exact_sd);
  double sd = sqrt(square - mean * mean);
  printf("rate: mean %.3f, sd %.3f by chains; %.3f, %.3f by sums; %.2f of proposals accepted, none with less "
         "than %.2f\n",
         mean, sd, exact_mean, exact_sd, result.record_accept, result.min_record_accept);
  tacit_draws_clear(&draws);
  bool is_private =
      result.min_record_accept >= exp(-noise.epsilon) - 1e-12; /* a record changes the number by at most 1 */
  return !(fabs(mean - exact_mean) < 0.1 * exact_sd && fabs(sd / exact_sd - 1) < 0.1 && is_private);
}
