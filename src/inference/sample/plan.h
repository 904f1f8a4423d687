/* Shared by the plans of Gaussian runs (plan.c) and of runs by schedule (plan_schedule.c). */
#ifndef TACIT_SAMPLE_PLAN_H
#define TACIT_SAMPLE_PLAN_H

#include "sample/sample_internal.h"

enum { TACIT_MAX_PLANNED = 20000 };

typedef struct tacit_planner {
  double rho; /* left for the iterations */
  const tacit_method_t *method;
  const tacit_plan_request_t *request;
  tacit_sampler_settings_t *settings;
  const double *scale; /* guessed posterior sd of each parameter, (dim) */
  size_t dim;
  tacit_traits_t traits;
  bool is_step_given, is_ratio_noise_given, is_scale_guessed;
  double factor, grad_bound, typical_bound; /* sensitivity factor; gradient bound; ratio bound of a move */
} tacit_planner_t;

/* planner->typical_bound: root mean square over typical moves of the bound on one unit's log ratio. */
TACIT_MUST_USE tacit_status_t tacit_plan_typical_bound(tacit_planner_t *planner, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_plan_check_grad_bound(const tacit_planner_t *planner, tacit_error_t *err);
/* Iterations that the user asked for; 0: none in particular. */
double tacit_plan_wanted(const tacit_sampler_settings_t *settings);
/* Warm-up and draws of n iterations; TACIT_ERR_BUDGET if n is too few for one draw. */
TACIT_MUST_USE tacit_status_t tacit_plan_split(tacit_sampler_settings_t *settings, double n,
                                               tacit_plan_t *plan, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_plan_gaussian(tacit_planner_t *planner, tacit_plan_t *plan,
                                                  tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_plan_scheduled(tacit_planner_t *planner, tacit_plan_t *plan,
                                                   tacit_error_t *err);
/* plan->ess, ->ess_wide, ->width and ->grad_noise */
void tacit_plan_forecast(const tacit_planner_t *planner, tacit_plan_t *plan);
/* What minibatch and stochastic methods need besides; also for exposed ones. */
TACIT_MUST_USE tacit_status_t tacit_plan_minibatch(tacit_planner_t *planner, tacit_error_t *err);

#endif
