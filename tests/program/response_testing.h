/* What tests of other responses of a record start from: a program, its text, and where scores are taken. */
#ifndef TACIT_RESPONSE_TESTING_H
#define TACIT_RESPONSE_TESTING_H

#include "program/program.h"
#include "program_testing.h"

static inline void ok(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    fail_msg("%s", err->message);
  }
}

static inline tacit_program_t *parsed(const char *text, bool is_followed, tacit_model_t *model) {
  tacit_error_t err = {0};
  tacit_program_t *program;
  tacit_program_settings_t settings = {
      .records = "", .keeps_responses = true, .is_followed_to_bound = is_followed};
  ok(tacit_program_parse(&program, text, strlen(text), &settings, &err), &err);
  ok(tacit_program_compile(program, model, &err), &err);
  return program;
}

static const char negbin[] = "data { real<lower=-1, upper=1> x; int<lower=0, upper=60> y; }\n"
                             "parameters { real a; real b; real<lower=0> phi; }\n"
                             "model { a ~ normal(0, 1); b ~ normal(0, 1); phi ~ gamma(2, 1); y ~ "
                             "neg_binomial_2_log(a + b * x, phi); }\n";

static const double at[] = {0.7, -0.4, 0.3};

/* x (n_columns) with a block's lane. */
static inline void lane_of(const float *block, size_t n_columns, size_t lane, float *x) {
  for (size_t j = 0; j < n_columns; j++) {
    x[j] = block[j * 16 + lane];
  }
}

#endif
