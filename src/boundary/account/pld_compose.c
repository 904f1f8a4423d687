/*
 * The composition itself. The masses are tilted, p e^(c l - K(c)), before they are transformed: rounding is
 * then relative to the masses that make up delta at the epsilon in question, however small delta is. The
 * upper and the lower distribution travel as the real and the imaginary part of one transform.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/pld_solver.h"

enum { min_log2 = 8 };

static unsigned log2_points(double points) {
  unsigned log2_n = min_log2;
  while (log2_n < TACIT_PLD_MAX_LOG2_POINTS && (double)((size_t)1 << log2_n) < points) {
    log2_n++;
  }
  return log2_n;
}

static tacit_status_t prepare(tacit_pld_solver_t *solver, unsigned log2_n, tacit_error_t *err) {
  size_t n = (size_t)1 << log2_n;
  if (solver->fft.n == n) {
    return TACIT_OK;
  }
  tacit_fft_clear(&solver->fft);
  tacit_free(solver->work);
  solver->work = tacit_alloc(6 * n, sizeof *solver->work);
  if (solver->work == NULL) {
    return tacit_error_memory(err);
  }
  solver->upper = solver->work + 2 * n;
  solver->lower = solver->work + 4 * n;
  return tacit_fft_init(&solver->fft, log2_n, err);
}

/* work <- tilted masses of one grid, upper as real and lower as imaginary part; returns their squared norm.
 */
static double load(tacit_pld_solver_t *solver, const tacit_grid_t *grid, double own) {
  size_t n = solver->fft.n;
  double norm = 0, power = 0;
  double factor = exp(solver->tilt * grid->step);
  memset(solver->work, 0, 2 * n * sizeof *solver->work);
  size_t at = (size_t)(((grid->first % (int64_t)n) + (int64_t)n) % (int64_t)n);
  for (size_t i = 0; i < grid->n; i++) {
    power = i % 64 == 0 ? exp(solver->tilt * (double)(grid->first + (int64_t)i) * grid->step - own)
                        : power * factor;
    solver->work[2 * at] += grid->upper[i] * power;
    solver->work[2 * at + 1] += grid->lower[i] * power;
    at = at + 1 < n ? at + 1 : 0;
  }
  for (size_t i = 0; i < 2 * n; i++) {
    norm += solver->work[i] * solver->work[i];
  }
  return norm;
}

/* z^count; 0 where it is below e^-100. */
static void power(double z[2], uint64_t count, double threshold) {
  double re = z[0], im = z[1], result[2] = {1, 0};
  if (re * re + im * im < threshold) {
    z[0] = z[1] = 0;
    return;
  }
  for (uint64_t k = count;; k >>= 1) {
    if (k & 1) {
      double x = result[0] * re - result[1] * im;
      result[1] = result[0] * im + result[1] * re;
      result[0] = x;
    }
    if (k <= 1) {
      break;
    }
    double x = re * re - im * im;
    im *= 2 * re;
    re = x;
  }
  z[0] = result[0];
  z[1] = result[1];
}

static void multiply(double *a, const double *b) {
  double re = a[0] * b[0] - a[1] * b[1];
  a[1] = a[0] * b[1] + a[1] * b[0];
  a[0] = re;
}

/* Take the two transforms apart, raise them to the count and multiply them into the products. */
static void accumulate(tacit_pld_solver_t *solver, uint64_t count, bool is_first) {
  const double threshold = exp(-200 / (double)count);
  for (size_t i = 0; i < solver->fft.n; i++) {
    size_t mate = tacit_fft_mirror(i);
    if (mate < i) {
      continue;
    }
    const double *z = solver->work + 2 * i, *w = solver->work + 2 * mate;
    double u[2] = {0.5 * (z[0] + w[0]), 0.5 * (z[1] - w[1])},
           v[2] = {0.5 * (z[1] + w[1]), 0.5 * (w[0] - z[0])};
    power(u, count, threshold);
    power(v, count, threshold);
    if (is_first) {
      memcpy(solver->upper + 2 * i, u, sizeof u);
      memcpy(solver->lower + 2 * i, v, sizeof v);
    } else {
      multiply(solver->upper + 2 * i, u);
      multiply(solver->lower + 2 * i, v);
    }
  }
}

/* work <- composed tilted masses: upper real, lower imaginary. */
static void invert(tacit_pld_solver_t *solver) {
  double scale = 1 / (double)solver->fft.n;
  for (size_t i = 0; i < solver->fft.n; i++) {
    size_t mate = tacit_fft_mirror(i);
    if (mate < i) {
      continue;
    }
    const double *u = solver->upper + 2 * i, *v = solver->lower + 2 * i;
    solver->work[2 * i] = scale * (u[0] - v[1]);
    solver->work[2 * i + 1] = scale * (u[1] + v[0]);
    solver->work[2 * mate] = scale * (u[0] + v[1]);
    solver->work[2 * mate + 1] = scale * (v[0] - u[1]);
  }
  tacit_fft_backward(&solver->fft, solver->work);
}

static double sum_of(const double *masses, size_t n) {
  tacit_exact_sum_t sum = {0, 0};
  for (size_t i = 0; i < n; i++) {
    tacit_exact_sum_add(&sum, masses[i]);
  }
  return sum.high + sum.low;
}

/*
 * T masses in all, m of them at an infinite loss: k uses have T^k - (T - m)^k there, which grows with T, and
 * is at most T^k [1 - (1 - m)^k] for T >= 1, and 1 - (1 - m)^k for T <= 1. Below: s^k [(1 + m / s)^k - 1], s
 * the finite masses.
 */
static void account_for_infinite(tacit_pld_solver_t *solver, const tacit_grid_t *grid, double count) {
  double total = sum_of(grid->upper, grid->n) + grid->infinite, lower = sum_of(grid->lower, grid->n);
  solver->log_finite += count * log1p(-fmin(grid->infinite, 1));
  solver->log_raise += count * fmax(log(total) + 8 * DBL_EPSILON, 0);
  solver->log_lower += count * (log(lower) - 8 * DBL_EPSILON);
  solver->log_ratio += count * log1p(grid->infinite_lower / lower) * (1 - 8 * DBL_EPSILON);
}

static void finish_infinite(tacit_pld_solver_t *solver) {
  solver->infinite = fmin(-expm1(solver->log_finite) * exp(solver->log_raise) * (1 + 16 * DBL_EPSILON), 1);
  double lower = exp(solver->log_lower) * expm1(solver->log_ratio) *
                 (1 - 16 * DBL_EPSILON * (1 + fabs(solver->log_lower)));
  solver->infinite_lower = solver->log_ratio > 0 && lower > 0 ? lower : 0;
}

/* The cumulants of a fine grid, and what rounding does to its losses and tilted masses. */
static double account_for(tacit_pld_solver_t *solver, const tacit_grid_t *grid, double count) {
  tacit_cumulant_t own = {0, 0, 0};
  tacit_pld_add_cumulant(&own, grid, grid->upper, 1, solver->tilt);
  for (int side = 0; side < 2; side++) {
    tacit_cumulant_t upper = {0, 0, 0}, lower = {0, 0, 0};
    tacit_pld_add_cumulant(&upper, grid, grid->upper, count, solver->orders[side]);
    tacit_pld_add_cumulant(&lower, grid, grid->lower, count, solver->orders[side]);
    solver->log_tail[side] += lower.value > upper.value ? lower.value : upper.value;
  }
  double largest =
      grid->step * fmax(fabs((double)grid->first), fabs((double)(grid->first + (int64_t)grid->n)));
  solver->log_mass += count * own.value;
  solver->loss_noise += count * grid->loss_error;
  solver->log_noise += count * 2 * DBL_EPSILON * (solver->tilt * largest + fabs(own.value) + 128);
  account_for_infinite(solver, grid, count);
  return own.value;
}

/*
 * Rounding [section 9.5]: a transform errs by at most e ||z|| sqrt(N) in norm, its count-th power, all moduli
 * being at most one, by count times that, a product by the sum; the inverse turns it into the same over
 * sqrt(N), and adds its own.
 */
static tacit_status_t compose_pair(tacit_pld_solver_t *solver, size_t i, tacit_error_t *err) {
  const tacit_pair_t *pair = &solver->composition->pairs[i];
  tacit_grid_t grid;
  tacit_status_t status = tacit_grid_init(&grid, pair, solver->step, solver->ranges[i].low,
                                          solver->ranges[i].high, solver->drift, err);
  if (status != TACIT_OK) {
    return status;
  }
  double own = account_for(solver, &grid, (double)pair->count), norm = sqrt(load(solver, &grid, own));
  tacit_grid_clear(&grid);
  tacit_fft_forward(&solver->fft, solver->work);
  accumulate(solver, pair->count, i == 0);
  solver->rounding += 1.01 * (double)pair->count * (tacit_fft_error(&solver->fft) + 8 * DBL_EPSILON) * norm;
  return TACIT_OK;
}

static tacit_status_t compose(tacit_pld_solver_t *solver, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  solver->log_mass = solver->log_tail[0] = solver->log_tail[1] = 0;
  solver->log_noise = solver->loss_noise = 0;
  solver->log_finite = solver->log_raise = solver->log_lower = solver->log_ratio = 0;
  solver->rounding = 2 * tacit_fft_error(&solver->fft) + 1e-40;
  for (size_t i = 0; status == TACIT_OK && i < solver->composition->n_pairs; i++) {
    status = compose_pair(solver, i, err);
  }
  finish_infinite(solver);
  if (status == TACIT_OK) {
    invert(solver);
  }
  return status;
}

static double log_tail(const tacit_pld_solver_t *solver, int side, double edge) {
  return solver->log_tail[side] - solver->log_mass - (solver->orders[side] - solver->tilt) * edge + 1e-6;
}

tacit_status_t tacit_pld_compose(tacit_pld_solver_t *solver, tacit_error_t *err) {
  tacit_pld_set_window(solver);
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    solver->step =
        fmax(solver->step, (solver->ranges[i].high - solver->ranges[i].low) / TACIT_PLD_MAX_POINTS);
  }
  tacit_status_t status = prepare(solver, log2_points((solver->high - solver->low) / solver->step + 2), err);
  if (status != TACIT_OK) {
    return status;
  }
  /* the whole of the window, which may be wider than asked for, or narrower where 2^22 points do not suffice
   */
  double reach = ((double)solver->fft.n - 2) * solver->step;
  if (solver->low + reach < solver->high) {
    solver->high = fmin(solver->high, solver->epsilon + 0.75 * reach);
    solver->low = solver->high - reach;
  } else {
    solver->high = solver->low + reach;
  }
  status = compose(solver, err);
  solver->window_error = exp(log_tail(solver, 0, solver->low)) + exp(log_tail(solver, 1, solver->high));
  return status;
}
