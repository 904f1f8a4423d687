/*
 * Where a composition's losses matter for the question asked: ranges, tilt and window, by coarse grids
 * (docs/theory.md, section 9.4).
 */
#include <float.h>
#include <math.h>

#include "account/pld_solver.h"

/* ---- cumulants of the grids ---- */

/* log of a mass, rounded down to a power of two; for scaling only */
static double rough_log(double mass) { return 0.69314718055994531 * (mass < DBL_MIN ? -1022 : ilogb(mass)); }

static double loss_of(const tacit_grid_t *grid, size_t i) {
  return (double)(grid->first + (int64_t)i) * grid->step;
}

/* Scaled by the largest term, so that none overflows and those that vanish do not count. */
void tacit_pld_add_cumulant(tacit_cumulant_t *total, const tacit_grid_t *grid, const double *masses,
                            double count, double s) {
  double peak = -INFINITY, center = 0, factor = exp(s * grid->step), power = 0, sum = 0, first = 0,
         second = 0;
  for (size_t i = 0; i < grid->n; i++) {
    double term = masses[i] > 0 ? rough_log(masses[i]) + s * loss_of(grid, i) : -INFINITY;
    center = term > peak ? loss_of(grid, i) : center;
    peak = term > peak ? term : peak;
  }
  for (size_t i = 0; i < grid->n; i++) {
    power = i % 64 == 0 || !(power > DBL_MIN) || power > 1e300 ? exp(s * loss_of(grid, i) - peak)
                                                               : power * factor;
    double mass = masses[i] > 0 ? masses[i] * power : 0, distance = loss_of(grid, i) - center;
    sum += mass;
    first += mass * distance;
    second += mass * distance * distance;
  }
  double mean = first / sum;
  total->value += count * (log(sum) + peak);
  total->slope += count * (center + mean);
  total->curve += count * fmax(second / sum - mean * mean, 0);
}

static tacit_cumulant_t cumulant(const tacit_pld_solver_t *solver, double s) {
  tacit_cumulant_t total = {0, 0, 0};
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    tacit_pld_add_cumulant(&total, &solver->grids[i], solver->grids[i].upper,
                           (double)solver->composition->pairs[i].count, s);
  }
  return total;
}

/* ---- ranges ---- */

/* The loss at which a tail falls below `mass`, within the pair's support and +-600, where e^loss is still a
 * number. */
static double tail_point(const tacit_pair_t *pair, double mass, bool is_above) {
  double lower = fmax(pair->min_loss, -600), upper = fmin(pair->max_loss, 600);
  for (int i = 0; i < 60 && upper - lower > 1e-3 * fmax(fabs(upper), fabs(lower)); i++) {
    double middle = 0.5 * (lower + upper);
    tacit_tails_t tails;
    pair->tails(pair, middle, &tails);
    bool is_beyond = is_above ? tails.p_above <= mass : tails.p_below > mass;
    *(is_beyond ? &upper : &lower) = middle;
  }
  return is_above ? upper : lower;
}

static void set_ranges(tacit_pld_solver_t *solver) {
  double each = exp(fmin(solver->log_delta, -1) - 14) / solver->total_count;
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    const tacit_pair_t *pair = &solver->composition->pairs[i];
    tacit_pld_range_t *range = &solver->ranges[i];
    range->high = tail_point(pair, fmax(each, DBL_MIN), true);
    range->low = pair->min_loss > -1 ? pair->min_loss : tail_point(pair, 1e-9 / solver->total_count, false);
    range->high = fmax(range->high, range->low);
  }
}

void tacit_pld_clear_grids(tacit_pld_solver_t *solver) {
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    tacit_grid_clear(&solver->grids[i]);
  }
}

/* Grids of about n points each, every one with its own step. */
static tacit_status_t make_grids(tacit_pld_solver_t *solver, double n, tacit_error_t *err) {
  tacit_pld_clear_grids(solver);
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    const tacit_pld_range_t *range = &solver->ranges[i];
    tacit_status_t status =
        tacit_grid_init(&solver->grids[i], &solver->composition->pairs[i],
                        fmax((range->high - range->low) / n, DBL_MIN), range->low, range->high, 0, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return TACIT_OK;
}

/* ---- the tilt: saddle point of the inversion integral [section 9.4] ---- */

/* epsilon and log delta for which c is the saddle point of exp(K(s) - s epsilon) / (s (s + 1)). */
static void saddle(const tacit_pld_solver_t *solver, double c, double *epsilon, double *log_delta) {
  tacit_cumulant_t k = cumulant(solver, c);
  *epsilon = k.slope - 1 / c - 1 / (c + 1);
  double curve = k.curve + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
  *log_delta = k.value - c * *epsilon - log(c) - log1p(c) - 0.5 * log(6.283185307179586 * curve);
}

static void find_tilt(tacit_pld_solver_t *solver) {
  double lower = log(1e-9), upper = log(1e9), epsilon, log_delta;
  for (int i = 0; i < 40; i++) {
    double middle = 0.5 * (lower + upper);
    saddle(solver, exp(middle), &epsilon, &log_delta);
    bool is_short =
        solver->query.is_epsilon_given ? epsilon < solver->query.epsilon : log_delta > solver->target;
    /* of bounded losses that are all but the largest, a larger tilt would tell no more than the width asked
     * for */
    is_short = is_short && !(exp(middle) * solver->width * epsilon > 30);
    *(is_short ? &lower : &upper) = middle;
  }
  solver->tilt = exp(0.5 * (lower + upper));
  saddle(solver, solver->tilt, &epsilon, &log_delta);
  if (!solver->query.is_epsilon_given && epsilon < 0) { /* delta(0) is smaller: the answer is near 0 */
    tacit_pld_query_t query = solver->query;
    solver->query = (tacit_pld_query_t){.is_epsilon_given = true, .epsilon = 0};
    find_tilt(solver);
    solver->query = query;
    return;
  }
  solver->epsilon = solver->query.is_epsilon_given ? solver->query.epsilon : epsilon;
  solver->log_delta = solver->query.is_epsilon_given ? fmin(log_delta, 0) : solver->target;
}

/* Variance that a grid's chords add, at most a step squared over 6 for each composition where the
 * distribution is smooth. */
static double added_variance(const tacit_pld_solver_t *solver) {
  double variance = 0;
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    double step = solver->grids[i].step;
    variance += (double)solver->composition->pairs[i].count * step * step / 6;
  }
  return variance;
}

/*
 * Ranges and coarse grids, until the ranges suit the delta in question and the grids are fine enough to tell
 * the tilt and epsilon roughly.
 */
tacit_status_t tacit_pld_explore(tacit_pld_solver_t *solver, tacit_error_t *err) {
  double n = 512;
  solver->log_delta = solver->query.is_epsilon_given ? -30 : solver->target;
  for (int i = 0; i < 8; i++) {
    set_ranges(solver);
    tacit_status_t status = make_grids(solver, n, err);
    if (status != TACIT_OK) {
      return status;
    }
    double before = solver->log_delta;
    find_tilt(solver);
    bool is_fine = added_variance(solver) * solver->tilt * (solver->tilt + 1) < 0.5;
    if (fabs(solver->log_delta - before) < 3 && (is_fine || n >= 32768)) {
      break;
    }
    n = is_fine ? n : fmin(4 * n, 32768);
  }
  return TACIT_OK;
}

/* ---- the window of composed losses ---- */

/*
 * edge = extremum over t of (K(t) - K(c) + margin) / (t - c): where the best Chernoff bound of the tilted
 * mass beyond is e^-margin; *order is where it is attained.
 */
static double window_edge(const tacit_pld_solver_t *solver, double sign, double margin, double *order) {
  double best = sign * INFINITY, own = cumulant(solver, solver->tilt).value;
  double spread = sqrt(cumulant(solver, solver->tilt).curve),
         center = log(sqrt(2 * margin) / fmax(spread, 1e-300));
  *order = solver->tilt;
  for (double x = center - 3; x <= center + 1.01; x += 0.5) {
    double t = solver->tilt + sign * exp(x),
           edge = (cumulant(solver, t).value - own + margin) / (t - solver->tilt);
    if (sign * edge < sign * best) {
      best = edge;
      *order = t;
    }
  }
  return best;
}

/* Against delta e^(c epsilon - K(c)). */
double tacit_pld_first_margin(const tacit_pld_solver_t *solver) {
  double mass = solver->log_delta + solver->tilt * solver->epsilon - cumulant(solver, solver->tilt).value;
  return fmin(fmax(12 - log(solver->width) - fmin(mass, 0), 16), 45);
}

void tacit_pld_set_window(tacit_pld_solver_t *solver) {
  double margin = solver->margin;
  solver->low = fmin(window_edge(solver, -1, margin, &solver->orders[0]), solver->epsilon);
  solver->high = fmax(window_edge(solver, 1, margin, &solver->orders[1]), solver->epsilon);
}
