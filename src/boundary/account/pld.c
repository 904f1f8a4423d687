/*
 * Composition of privacy loss distributions with certified bounds on both sides (docs/theory.md,
 * section 9.4): answers of the composed masses, and grids refined until they are narrow enough.
 */
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/pld_solver.h"

/* ---- answers ---- */

/* log_delta as given is the rounded logarithm of a delta. */
static double target(const tacit_pld_query_t *query, bool is_upper) {
  return query->log_delta + (is_upper ? -1 : 1) * 8 * DBL_EPSILON * (1 + fabs(query->log_delta));
}

/*
 * Goes through the window from its top: scaled = delta(l_j) e^(c l_j - K) of the masses in the window,
 * exactly summed by d_j = e^(-c step) [d_(j+1) + (1 - e^-step) (T_(j+1) + t_(j+1))], T the masses discounted
 * by e^-(l_i - l_j).
 */
typedef struct sweep {
  const tacit_pld_solver_t *solver;
  bool is_upper;
  int64_t index;
  double scaled, discounted, mass;
  double shrink, discount, share;
  double constant; /* added to scaled in the end: what the window may hide */
} sweep_t;

static double mass_at(const sweep_t *sweep, int64_t index) {
  int64_t n = (int64_t)sweep->solver->fft.n;
  size_t at = (size_t)(((index % n) + n) % n);
  return sweep->solver->work[2 * at + (sweep->is_upper ? 0 : 1)];
}

static sweep_t sweep_start(const tacit_pld_solver_t *solver, bool is_upper) {
  double c = solver->tilt;
  sweep_t sweep = {.solver = solver,
                   .is_upper = is_upper,
                   .index = (int64_t)floor(solver->high / solver->step),
                   .shrink = exp(-c * solver->step),
                   .discount = exp(-(c + 1) * solver->step),
                   .share = -expm1(-solver->step)};
  sweep.mass = mass_at(&sweep, sweep.index);
  /*
   * A mass at a distance u above weighs w(u) = e^-cu (1 - e^-u) <= c^c / (1 + c)^(1 + c); the sum of w^2 over
   * the grid is at most its integral over the step, and once its largest value [Cauchy-Schwarz with the norm
   * of the rounding].
   */
  double largest = exp(-c * log1p(1 / c) - log1p(c)),
         squares = 1 / (2 * c * (2 * c + 1) * (c + 1) * solver->step);
  sweep.constant = solver->window_error * largest + solver->rounding * sqrt(squares + largest * largest);
  return sweep;
}

static void sweep_down(sweep_t *sweep) {
  double total = sweep->discounted + sweep->mass;
  sweep->scaled = sweep->shrink * (sweep->scaled + sweep->share * total);
  sweep->discounted = sweep->discount * total;
  sweep->index--;
  sweep->mass = mass_at(sweep, sweep->index);
}

static double log_sum(double a, double b) {
  return fmax(a, b) > -INFINITY ? fmax(a, b) + log1p(exp(-fabs(a - b))) : -INFINITY;
}

/* Bound of log delta at the sweep's loss. */
static double sweep_log_delta(const sweep_t *sweep) {
  const tacit_pld_solver_t *solver = sweep->solver;
  double at = (double)sweep->index * solver->step;
  double noise = solver->log_noise + 4 * DBL_EPSILON * (fabs(solver->log_mass) + solver->tilt * fabs(at) + 1);
  if (!sweep->is_upper) {
    double scaled = sweep->scaled - sweep->constant;
    double finite = scaled > 0 ? log(scaled) + solver->log_mass - solver->tilt * at - noise : -INFINITY;
    return log_sum(finite, log(solver->infinite_lower) - 4 * DBL_EPSILON);
  }
  double value = log(fmax(sweep->scaled, 0) + sweep->constant) + solver->log_mass - solver->tilt * at + noise;
  return fmin(log_sum(value, log(solver->infinite)), 0);
}

/* Where the bound, linear in e^epsilon between losses, equals log_delta; upper is rounded up, lower down. */
static double solve_epsilon(const tacit_pld_solver_t *solver, bool is_upper) {
  double log_delta = target(&solver->query, is_upper);
  sweep_t sweep = sweep_start(solver, is_upper);
  double before = sweep_log_delta(&sweep), now = before, noise = solver->loss_noise;
  int64_t bottom = (int64_t)ceil(fmax(solver->low, -2 * solver->step) / solver->step);
  if (before > log_delta) {
    return is_upper ? INFINITY : (double)sweep.index * solver->step;
  }
  while (sweep.index > bottom && now <= log_delta) {
    before = now;
    sweep_down(&sweep);
    now = sweep_log_delta(&sweep);
  }
  double at = (double)sweep.index * solver->step;
  if (now <= log_delta) {
    return is_upper ? fmax(at, 0) : 0;
  }
  double fraction = -expm1(log_delta - now) / -expm1(before - now);
  double epsilon = at + log1p(fraction * expm1(solver->step));
  return fmax(is_upper ? epsilon * (1 + 0x1p-40) + noise : epsilon * (1 - 0x1p-40) - noise, 0);
}

static double solve_log_delta(const tacit_pld_solver_t *solver, bool is_upper) {
  sweep_t sweep = sweep_start(solver, is_upper);
  double noise = solver->loss_noise, epsilon = solver->query.epsilon + (is_upper ? -noise : noise);
  double before = sweep_log_delta(&sweep);
  while ((double)sweep.index * solver->step > epsilon) {
    before = sweep_log_delta(&sweep);
    sweep_down(&sweep);
  }
  double now = sweep_log_delta(&sweep), at = (double)sweep.index * solver->step;
  double fraction = fmin(expm1(epsilon - at) / expm1(solver->step), 1);
  double delta = now + log1p(fraction * expm1(before - now));
  return isnan(delta) ? now : delta + (is_upper ? 1 : -1) * 0x1p-40;
}

static void solver_clear(tacit_pld_solver_t *solver) {
  if (solver->grids != NULL) {
    tacit_pld_clear_grids(solver);
  }
  tacit_free(solver->grids);
  tacit_free(solver->ranges);
  tacit_free(solver->work);
  tacit_fft_clear(&solver->fft);
}

static void answer(const tacit_pld_solver_t *solver, tacit_bracket_t *bracket) {
  *bracket = solver->query.is_epsilon_given
                 ? (tacit_bracket_t){solve_log_delta(solver, false), solve_log_delta(solver, true)}
                 : (tacit_bracket_t){solve_epsilon(solver, false), solve_epsilon(solver, true)};
}

/*
 * The width of the bracket, over what is allowed: width times epsilon, or what that makes in log delta, whose
 * slope in epsilon is the tilt and a little; but no finer than the width of delta itself.
 */
static double excess(const tacit_pld_solver_t *solver, const tacit_bracket_t *bracket) {
  double scale =
      solver->query.is_epsilon_given ? fmax((solver->tilt + 1) * solver->query.epsilon, 1) : bracket->upper;
  double width = bracket->upper - bracket->lower;
  if (!(width < INFINITY)) {
    return 1000;
  }
  return width > 0 ? width / (solver->width * scale) : 0;
}

/*
 * The step at which both bounds should be within width: chords add step^2 / 12 to each step's second moment,
 * hulls take twice that away, and a variance v moves epsilon by (c + 1) v / 2.
 */
static void first_step(tacit_pld_solver_t *solver) {
  double scale = fmax(solver->epsilon, (solver->query.is_epsilon_given ? 1 : 0.03) / (solver->tilt + 1));
  solver->step = sqrt(2.5 * solver->width * scale / ((solver->tilt + 1) * solver->total_count));
  solver->drift = 0.05 * solver->width * scale / solver->total_count;
}

/* With one pair of bounded losses, a step that puts the largest on the grid: often an atom, and the worst
 * one. */
static double align(const tacit_pld_solver_t *solver, double step) {
  const tacit_pair_t *pair = &solver->composition->pairs[0];
  if (solver->composition->n_pairs > 1 || isinf(pair->max_loss) || !(pair->max_loss > 0)) {
    return step;
  }
  double points = ceil(pair->max_loss / step);
  return points < TACIT_PLD_MAX_POINTS ? pair->max_loss / points : step;
}

static tacit_status_t solve(tacit_pld_solver_t *solver, tacit_bracket_t *bracket, tacit_error_t *err) {
  tacit_bracket_t best =
      solver->query.is_epsilon_given ? (tacit_bracket_t){-INFINITY, 0} : (tacit_bracket_t){0, INFINITY};
  tacit_status_t status = tacit_pld_explore(solver, err);
  if (status == TACIT_OK) {
    first_step(solver);
    solver->margin = tacit_pld_first_margin(solver);
  }
  double before = INFINITY;
  for (int i = 0; status == TACIT_OK && i < 7; i++) {
    solver->step = align(solver, solver->step);
    status = tacit_pld_compose(solver, err);
    if (status != TACIT_OK) {
      break;
    }
    tacit_bracket_t found;
    answer(solver, &found);
    best.lower = fmax(best.lower, found.lower);
    best.upper = fmin(best.upper, found.upper);
    double over = excess(solver, &best);
    if (!(over > 1) || solver->fft.log2_n >= TACIT_PLD_MAX_LOG2_POINTS) {
      break;
    }
    bool is_slow = over > 100 || over > 0.9 * before; /* cells still wider than the distribution's features */
    solver->step *= is_slow ? 0.2 : fmin(0.7, 0.9 / sqrt(over));
    solver->margin = fmin(solver->margin + 12,
                          45); /* the estimate of delta may be far off where losses are heavy-tailed */
    before = over;
  }
  *bracket = best;
  return status;
}

/* ---- one use of one pair: no grid is needed ---- */

static tacit_bracket_t single_log_delta(const tacit_pair_t *pair, double epsilon) {
  double error, delta = tacit_pair_delta(pair, epsilon, &error);
  double lower = delta - error - pair->infinite + pair->infinite_lower;
  return (tacit_bracket_t){lower > 0 ? log(lower) - 0x1p-49 : -INFINITY,
                           fmin(log(delta + error) + 0x1p-49, 0)};
}

/* Bisection keeps the bound on one side of the target: delta's upper bound for the upper end, its lower for
 * the lower. */
static double single_epsilon(const tacit_pair_t *pair, const tacit_pld_query_t *query, bool is_upper) {
  double log_delta = target(query, is_upper);
  tacit_bracket_t at_zero = single_log_delta(pair, 0);
  if ((is_upper ? at_zero.upper : at_zero.lower) <= log_delta) {
    return 0;
  }
  double below = 0, above = fmin(pair->max_loss, 600);
  for (int i = 0; i < 2100 && above > below * (1 + 0x1p-44); i++) {
    double middle = below > 0 || above < 1e-300 ? 0.5 * (below + above) : fmin(0.5, 0x1p-8 * above);
    tacit_bracket_t found = single_log_delta(pair, middle);
    bool is_enough = (is_upper ? found.upper : found.lower) <= log_delta;
    *(is_enough ? &above : &below) = middle;
    if (above < 1e-300) {
      break;
    }
  }
  return is_upper ? above : below;
}

static tacit_bracket_t answer_single(const tacit_pair_t *pair, tacit_pld_query_t query) {
  if (query.is_epsilon_given) {
    return single_log_delta(pair, query.epsilon);
  }
  tacit_bracket_t bracket = {single_epsilon(pair, &query, false), single_epsilon(pair, &query, true)};
  if (single_log_delta(pair, bracket.upper).upper > target(&query, true)) {
    bracket.upper = INFINITY;
  }
  return bracket;
}

static tacit_status_t ask(const tacit_composition_t *composition, tacit_pld_query_t query, double width,
                          tacit_bracket_t *bracket, tacit_error_t *err) {
  tacit_pld_solver_t solver = {
      .composition = composition, .query = query, .width = width, .target = query.log_delta};
  double largest = 0, log_finite = 0, log_finite_lower = 0;
  for (size_t i = 0; i < composition->n_pairs; i++) {
    double count = (double)composition->pairs[i].count;
    solver.total_count += count;
    largest += count * fmax(composition->pairs[i].max_loss, 0) * (1 + 0x1p-50);
    log_finite += count * log1p(-fmin(composition->pairs[i].infinite, 1)) * (1 + 2 * DBL_EPSILON);
    log_finite_lower += count * log1p(-composition->pairs[i].infinite_lower) * (1 - 2 * DBL_EPSILON);
  }
  double infinite = -expm1(log_finite) * (1 + 4 * DBL_EPSILON),
         infinite_lower = -expm1(log_finite_lower) * (1 - 4 * DBL_EPSILON);
  if (infinite >= 1 || (!query.is_epsilon_given && log(infinite_lower) > target(&query, false))) {
    *bracket = query.is_epsilon_given
                   ? (tacit_bracket_t){log(infinite_lower), 0}
                   : (tacit_bracket_t){infinite_lower >= exp(query.log_delta) ? INFINITY : 0, INFINITY};
    return TACIT_OK;
  }
  if (composition->n_pairs == 1 && composition->pairs[0].count == 1) {
    *bracket = answer_single(&composition->pairs[0], query);
    return TACIT_OK;
  }
  if (query.is_epsilon_given && query.epsilon >= largest) { /* no loss exceeds the largest together */
    *bracket = (tacit_bracket_t){log(infinite_lower), fmin(log(infinite * (1 + 0x1p-40)), 0)};
    return TACIT_OK;
  }
  double left = exp(query.log_delta) - infinite;
  solver.target = left > 0 && infinite > 0 ? log(left) : query.log_delta;
  solver.grids = tacit_alloc_zero(composition->n_pairs, sizeof *solver.grids);
  solver.ranges = tacit_alloc(composition->n_pairs, sizeof *solver.ranges);
  tacit_status_t status = solver.grids != NULL && solver.ranges != NULL ? TACIT_OK : tacit_error_memory(err);
  TACIT_THEN(status, solve(&solver, bracket, err));
  if (status == TACIT_OK && !query.is_epsilon_given && log(infinite) <= target(&query, true)) {
    bracket->upper = fmin(bracket->upper, largest);
  }
  solver_clear(&solver);
  return status;
}

tacit_status_t tacit_pld_epsilon(const tacit_composition_t *composition, double log_delta, double width,
                                 tacit_bracket_t *epsilon, tacit_error_t *err) {
  return ask(composition, (tacit_pld_query_t){.log_delta = log_delta}, width, epsilon, err);
}

tacit_status_t tacit_pld_log_delta(const tacit_composition_t *composition, double epsilon, double width,
                                   tacit_bracket_t *log_delta, tacit_error_t *err) {
  return ask(composition, (tacit_pld_query_t){.is_epsilon_given = true, .epsilon = epsilon}, width, log_delta,
             err);
}
