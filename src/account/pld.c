/*
 * Composition of privacy loss distributions with certified bounds on both sides (docs/theory.md, section 9.4).
 *
 * The masses are tilted, p e^(c l - K(c)), before they are transformed: rounding is then relative to the masses that make
 * up delta at the epsilon in question, however small delta is. The upper and the lower distribution travel as the real and
 * the imaginary part of one transform.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "account/fft.h"
#include "account/grid.h"
#include "account/pld.h"

enum { max_log2_points = 22, min_log2_points = 8, max_points = 1 << 21 };

/* What is asked: delta at epsilon, or epsilon at delta. */
typedef struct query {
  bool is_epsilon_given;
  double epsilon, log_delta;
} query_t;

typedef struct range {
  double low, high;
} range_t;

typedef struct solver {
  const tacit_composition_t *composition;
  query_t query;
  double total_count;
  double width;               /* relative, of the bracket asked for */
  range_t *ranges;            /* of each pair's losses, shape (n_pairs) */
  tacit_grid_t *grids;        /* coarse, for the choice of tilt and window, shape (n_pairs) */
  double tilt, epsilon;       /* c, and the epsilon around which it is right */
  double log_delta;           /* estimate there */
  double step, low, high;     /* of the composed losses */
  double margin;              /* of the Chernoff bounds; log */
  double drift;               /* allowed to the lower law of each use */
  double orders[2];           /* of the Chernoff bounds of the mass below low and above high */
  double log_mass;            /* K(c) of the composed upper distribution */
  double log_tail[2];         /* K(order) of the same, or of the lower one if that is larger */
  double window_error;        /* bound of the tilted mass outside [low, high] */
  double rounding;            /* bound of the error of the composed tilted masses, in Euclidean norm */
  double log_noise;           /* bound of the relative error common to the masses */
  double loss_noise;          /* bound of the rounding of the losses of all steps together */
  double infinite;            /* mass at an infinite loss */
  tacit_fft_t fft;
  double *work, *upper, *lower; /* shape (N, 2) each; upper and lower accumulate the transforms' product */
} solver_t;

/* ---- cumulants of the grids ---- */

typedef struct cumulant {
  double value, slope, curve; /* K, K', K'' of the composition */
} cumulant_t;

/* log of a mass, rounded down to a power of two; for scaling only */
static double rough_log(double mass) {
  return 0.69314718055994531 * (mass < DBL_MIN ? -1022 : ilogb(mass));
}

static double loss_of(const tacit_grid_t *grid, size_t i) {
  return (double)(grid->first + (int64_t)i) * grid->step;
}

/* Scaled by the largest term, so that none overflows and those that vanish do not count. */
static void add_cumulant(cumulant_t *total, const tacit_grid_t *grid, const double *masses, double count, double s) {
  double peak = -INFINITY, center = 0, factor = exp(s * grid->step), power = 0, sum = 0, first = 0, second = 0;
  for (size_t i = 0; i < grid->n; i++) {
    double term = masses[i] > 0 ? rough_log(masses[i]) + s * loss_of(grid, i) : -INFINITY;
    center = term > peak ? loss_of(grid, i) : center;
    peak = term > peak ? term : peak;
  }
  for (size_t i = 0; i < grid->n; i++) {
    power = i % 64 == 0 || !(power > DBL_MIN) || power > 1e300 ? exp(s * loss_of(grid, i) - peak) : power * factor;
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

static cumulant_t cumulant(const solver_t *solver, double s) {
  cumulant_t total = {0, 0, 0};
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    add_cumulant(&total, &solver->grids[i], solver->grids[i].upper, (double)solver->composition->pairs[i].count, s);
  }
  return total;
}

/* ---- ranges ---- */

/* The loss at which a tail falls below `mass`, within the pair's support and +-600, where e^loss is still a number. */
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

static void set_ranges(solver_t *solver) {
  double each = exp(fmin(solver->log_delta, -1) - 14) / solver->total_count;
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    const tacit_pair_t *pair = &solver->composition->pairs[i];
    range_t *range = &solver->ranges[i];
    range->high = tail_point(pair, fmax(each, DBL_MIN), true);
    range->low = pair->min_loss > -1 ? pair->min_loss : tail_point(pair, 1e-9 / solver->total_count, false);
    range->high = fmax(range->high, range->low);
  }
}

static void clear_grids(solver_t *solver) {
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    tacit_grid_clear(&solver->grids[i]);
  }
}

/* Grids of about n points each, every one with its own step. */
static tacit_status_t make_grids(solver_t *solver, double n, tacit_error_t *err) {
  clear_grids(solver);
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    const range_t *range = &solver->ranges[i];
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
static void saddle(const solver_t *solver, double c, double *epsilon, double *log_delta) {
  cumulant_t k = cumulant(solver, c);
  *epsilon = k.slope - 1 / c - 1 / (c + 1);
  double curve = k.curve + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
  *log_delta = k.value - c * *epsilon - log(c) - log1p(c) - 0.5 * log(6.283185307179586 * curve);
}

static void find_tilt(solver_t *solver) {
  double lower = log(1e-9), upper = log(1e9), epsilon, log_delta;
  for (int i = 0; i < 40; i++) {
    double middle = 0.5 * (lower + upper);
    saddle(solver, exp(middle), &epsilon, &log_delta);
    bool is_short = solver->query.is_epsilon_given ? epsilon < solver->query.epsilon
                                                   : log_delta > solver->query.log_delta;
    /* of bounded losses that are all but the largest, a larger tilt would tell no more than the width asked for */
    is_short = is_short && !(exp(middle) * solver->width * epsilon > 30);
    *(is_short ? &lower : &upper) = middle;
  }
  solver->tilt = exp(0.5 * (lower + upper));
  saddle(solver, solver->tilt, &epsilon, &log_delta);
  if (!solver->query.is_epsilon_given && epsilon < 0) { /* delta(0) is smaller: the answer is near 0 */
    query_t query = solver->query;
    solver->query = (query_t){.is_epsilon_given = true, .epsilon = 0};
    find_tilt(solver);
    solver->query = query;
    return;
  }
  solver->epsilon = solver->query.is_epsilon_given ? solver->query.epsilon : epsilon;
  solver->log_delta = solver->query.is_epsilon_given ? fmin(log_delta, 0) : solver->query.log_delta;
}

/* Variance that a grid's chords add, at most a step squared over 6 for each composition where the law is smooth. */
static double added_variance(const solver_t *solver) {
  double variance = 0;
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    double step = solver->grids[i].step;
    variance += (double)solver->composition->pairs[i].count * step * step / 6;
  }
  return variance;
}

/*
 * Ranges and coarse grids, until the ranges suit the delta in question and the grids are fine enough to tell the tilt and
 * epsilon roughly.
 */
static tacit_status_t explore(solver_t *solver, tacit_error_t *err) {
  double n = 512;
  solver->log_delta = solver->query.is_epsilon_given ? -30 : solver->query.log_delta;
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
 * edge = extremum over t of (K(t) - K(c) + margin) / (t - c): where the best Chernoff bound of the tilted mass beyond is
 * e^-margin; *order is where it is attained.
 */
static double window_edge(const solver_t *solver, double sign, double margin, double *order) {
  double best = sign * INFINITY, own = cumulant(solver, solver->tilt).value;
  double spread = sqrt(cumulant(solver, solver->tilt).curve), center = log(sqrt(2 * margin) / fmax(spread, 1e-300));
  *order = solver->tilt;
  for (double x = center - 3; x <= center + 1.01; x += 0.5) {
    double t = solver->tilt + sign * exp(x), edge = (cumulant(solver, t).value - own + margin) / (t - solver->tilt);
    if (sign * edge < sign * best) {
      best = edge;
      *order = t;
    }
  }
  return best;
}

static unsigned log2_points(double points) {
  unsigned log2_n = min_log2_points;
  while (log2_n < max_log2_points && (double)((size_t)1 << log2_n) < points) {
    log2_n++;
  }
  return log2_n;
}

/* What lies outside may weigh 1e-5 of the width asked for, against delta e^(c epsilon - K(c)). */
static double first_margin(const solver_t *solver) {
  double mass = solver->log_delta + solver->tilt * solver->epsilon - cumulant(solver, solver->tilt).value;
  return fmin(fmax(12 - log(solver->width) - fmin(mass, 0), 16), 45);
}

static void set_window(solver_t *solver) {
  double margin = solver->margin;
  solver->low = fmin(window_edge(solver, -1, margin, &solver->orders[0]), solver->epsilon);
  solver->high = fmax(window_edge(solver, 1, margin, &solver->orders[1]), solver->epsilon);
}

/* ---- composition ---- */

static tacit_status_t prepare(solver_t *solver, unsigned log2_n, tacit_error_t *err) {
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

/* work <- tilted masses of one grid, upper as real and lower as imaginary part; returns their squared norm. */
static double load(solver_t *solver, const tacit_grid_t *grid, double own) {
  size_t n = solver->fft.n;
  double norm = 0, power = 0;
  double factor = exp(solver->tilt * grid->step);
  memset(solver->work, 0, 2 * n * sizeof *solver->work);
  size_t at = (size_t)(((grid->first % (int64_t)n) + (int64_t)n) % (int64_t)n);
  for (size_t i = 0; i < grid->n; i++) {
    power = i % 64 == 0 ? exp(solver->tilt * (double)(grid->first + (int64_t)i) * grid->step - own) : power * factor;
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
static void accumulate(solver_t *solver, uint64_t count, bool is_first) {
  const double threshold = exp(-200 / (double)count);
  for (size_t i = 0; i < solver->fft.n; i++) {
    size_t mate = tacit_fft_mirror(i);
    if (mate < i) {
      continue;
    }
    const double *z = solver->work + 2 * i, *w = solver->work + 2 * mate;
    double u[2] = {0.5 * (z[0] + w[0]), 0.5 * (z[1] - w[1])}, v[2] = {0.5 * (z[1] + w[1]), 0.5 * (w[0] - z[0])};
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
static void invert(solver_t *solver) {
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

/* The cumulants of a fine grid, and what rounding does to its losses and tilted masses. */
static double account_for(solver_t *solver, const tacit_grid_t *grid, double count) {
  cumulant_t own = {0, 0, 0};
  add_cumulant(&own, grid, grid->upper, 1, solver->tilt);
  for (int side = 0; side < 2; side++) {
    cumulant_t upper = {0, 0, 0}, lower = {0, 0, 0};
    add_cumulant(&upper, grid, grid->upper, count, solver->orders[side]);
    add_cumulant(&lower, grid, grid->lower, count, solver->orders[side]);
    solver->log_tail[side] += lower.value > upper.value ? lower.value : upper.value;
  }
  double largest = grid->step * fmax(fabs((double)grid->first), fabs((double)(grid->first + (int64_t)grid->n)));
  solver->log_mass += count * own.value;
  solver->loss_noise += count * grid->loss_error;
  solver->log_noise += count * 2 * DBL_EPSILON * (solver->tilt * largest + fabs(own.value) + 128);
  solver->infinite += count * grid->infinite;
  return own.value;
}

/*
 * Rounding [section 9.5]: a transform errs by at most e ||z|| sqrt(N) in norm, its count-th power, all moduli being at most
 * one, by count times that, a product by the sum; the inverse turns it into the same over sqrt(N), and adds its own.
 */
static tacit_status_t compose_pair(solver_t *solver, size_t i, tacit_error_t *err) {
  const tacit_pair_t *pair = &solver->composition->pairs[i];
  tacit_grid_t grid;
  tacit_status_t status =
      tacit_grid_init(&grid, pair, solver->step, solver->ranges[i].low, solver->ranges[i].high, solver->drift, err);
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

static tacit_status_t compose(solver_t *solver, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  solver->log_mass = solver->log_tail[0] = solver->log_tail[1] = 0;
  solver->log_noise = solver->loss_noise = solver->infinite = 0;
  solver->rounding = 2 * tacit_fft_error(&solver->fft) + 1e-40;
  for (size_t i = 0; status == TACIT_OK && i < solver->composition->n_pairs; i++) {
    status = compose_pair(solver, i, err);
  }
  if (status == TACIT_OK) {
    invert(solver);
  }
  return status;
}

static double log_tail(const solver_t *solver, int side, double edge) {
  return solver->log_tail[side] - solver->log_mass - (solver->orders[side] - solver->tilt) * edge + 1e-6;
}

static tacit_status_t run(solver_t *solver, tacit_error_t *err) {
  set_window(solver);
  for (size_t i = 0; i < solver->composition->n_pairs; i++) {
    solver->step = fmax(solver->step, (solver->ranges[i].high - solver->ranges[i].low) / max_points);
  }
  tacit_status_t status = prepare(solver, log2_points((solver->high - solver->low) / solver->step + 2), err);
  if (status != TACIT_OK) {
    return status;
  }
  /* the whole of the window, which may be wider than asked for, or narrower where 2^22 points do not suffice */
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

/* ---- answers ---- */

/*
 * Goes through the window from its top: scaled = delta(l_j) e^(c l_j - K) of the masses in the window, exactly summed by
 * d_j = e^(-c step) [d_(j+1) + (1 - e^-step) (T_(j+1) + t_(j+1))], T the masses discounted by e^-(l_i - l_j).
 */
typedef struct sweep {
  const solver_t *solver;
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

static sweep_t sweep_start(const solver_t *solver, bool is_upper) {
  double c = solver->tilt;
  sweep_t sweep = {.solver = solver,
                   .is_upper = is_upper,
                   .index = (int64_t)floor(solver->high / solver->step),
                   .shrink = exp(-c * solver->step),
                   .discount = exp(-(c + 1) * solver->step),
                   .share = -expm1(-solver->step)};
  sweep.mass = mass_at(&sweep, sweep.index);
  /*
   * A mass at a distance u above weighs w(u) = e^-cu (1 - e^-u) <= c^c / (1 + c)^(1 + c); the sum of w^2 over the grid is at
   * most its integral over the step, and once its largest value [Cauchy-Schwarz with the norm of the rounding].
   */
  double largest = exp(-c * log1p(1 / c) - log1p(c)), squares = 1 / (2 * c * (2 * c + 1) * (c + 1) * solver->step);
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

/* Bound of log delta at the sweep's loss. */
static double sweep_log_delta(const sweep_t *sweep) {
  const solver_t *solver = sweep->solver;
  double at = (double)sweep->index * solver->step;
  double noise = solver->log_noise + 4 * DBL_EPSILON * (fabs(solver->log_mass) + solver->tilt * fabs(at) + 1);
  if (!sweep->is_upper) {
    double scaled = sweep->scaled - sweep->constant;
    return scaled > 0 ? log(scaled) + solver->log_mass - solver->tilt * at - noise : -INFINITY;
  }
  double value = log(fmax(sweep->scaled, 0) + sweep->constant) + solver->log_mass - solver->tilt * at + noise;
  if (solver->infinite > 0) {
    double other = log(solver->infinite);
    value = fmax(value, other) + log1p(exp(-fabs(value - other)));
  }
  return fmin(value, 0);
}

/* log_delta as given is the rounded logarithm of a delta. */
static double target(const query_t *query, bool is_upper) {
  return query->log_delta + (is_upper ? -1 : 1) * 8 * DBL_EPSILON * (1 + fabs(query->log_delta));
}

/* Where the bound, linear in e^epsilon between losses, equals log_delta; upper is rounded up, lower down. */
static double solve_epsilon(const solver_t *solver, bool is_upper) {
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

static double solve_log_delta(const solver_t *solver, bool is_upper) {
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

static void solver_clear(solver_t *solver) {
  if (solver->grids != NULL) {
    clear_grids(solver);
  }
  tacit_free(solver->grids);
  tacit_free(solver->ranges);
  tacit_free(solver->work);
  tacit_fft_clear(&solver->fft);
}

static void answer(const solver_t *solver, tacit_bracket_t *bracket) {
  *bracket = solver->query.is_epsilon_given
                 ? (tacit_bracket_t){solve_log_delta(solver, false), solve_log_delta(solver, true)}
                 : (tacit_bracket_t){solve_epsilon(solver, false), solve_epsilon(solver, true)};
}

/*
 * The width of the bracket, over what is allowed: width times epsilon, or what that makes in log delta, whose slope in
 * epsilon is the tilt and a little; but no finer than the width of delta itself.
 */
static double excess(const solver_t *solver, const tacit_bracket_t *bracket) {
  double scale = solver->query.is_epsilon_given ? fmax((solver->tilt + 1) * solver->query.epsilon, 1) : bracket->upper;
  double width = bracket->upper - bracket->lower;
  if (!(width < INFINITY)) {
    return 1000;
  }
  return width > 0 ? width / (solver->width * scale) : 0;
}

/*
 * The step at which both bounds should be within width: chords add step^2 / 12 to each step's second moment, hulls take
 * twice that away, and a variance v moves epsilon by (c + 1) v / 2.
 */
static void first_step(solver_t *solver) {
  double scale = fmax(solver->epsilon, (solver->query.is_epsilon_given ? 1 : 0.03) / (solver->tilt + 1));
  solver->step = sqrt(2.5 * solver->width * scale / ((solver->tilt + 1) * solver->total_count));
  solver->drift = 0.05 * solver->width * scale / solver->total_count;
}

/* With one pair of bounded losses, a step that puts the largest on the grid: often an atom, and the worst one. */
static double align(const solver_t *solver, double step) {
  const tacit_pair_t *pair = &solver->composition->pairs[0];
  if (solver->composition->n_pairs > 1 || isinf(pair->max_loss) || !(pair->max_loss > 0)) {
    return step;
  }
  double points = ceil(pair->max_loss / step);
  return points < max_points ? pair->max_loss / points : step;
}

static tacit_status_t solve(solver_t *solver, tacit_bracket_t *bracket, tacit_error_t *err) {
  tacit_bracket_t best = solver->query.is_epsilon_given ? (tacit_bracket_t){-INFINITY, 0}
                                                        : (tacit_bracket_t){0, INFINITY};
  tacit_status_t status = explore(solver, err);
  if (status == TACIT_OK) {
    first_step(solver);
    solver->margin = first_margin(solver);
  }
  double before = INFINITY;
  for (int i = 0; status == TACIT_OK && i < 7; i++) {
    solver->step = align(solver, solver->step);
    status = run(solver, err);
    if (status != TACIT_OK) {
      break;
    }
    tacit_bracket_t found;
    answer(solver, &found);
    best.lower = fmax(best.lower, found.lower);
    best.upper = fmin(best.upper, found.upper);
    double over = excess(solver, &best);
    if (!(over > 1) || solver->fft.log2_n >= max_log2_points) {
      break;
    }
    bool is_slow = over > 100 || over > 0.9 * before; /* cells still wider than the law's features */
    solver->step *= is_slow ? 0.2 : fmin(0.7, 0.9 / sqrt(over));
    solver->margin = fmin(solver->margin + 12, 45); /* the estimate of delta may be far off where losses are heavy-tailed */
    before = over;
  }
  *bracket = best;
  return status;
}

/* ---- one use of one pair: no grid is needed ---- */

static tacit_bracket_t single_log_delta(const tacit_pair_t *pair, double epsilon) {
  double error, delta = tacit_pair_delta(pair, epsilon, &error), lower = delta - pair->infinite - error;
  return (tacit_bracket_t){lower > 0 ? log(lower) - 0x1p-49 : -INFINITY, fmin(log(delta + error) + 0x1p-49, 0)};
}

/* Bisection keeps the bound on one side of the target: delta's upper bound for the upper end, its lower for the lower. */
static double single_epsilon(const tacit_pair_t *pair, const query_t *query, bool is_upper) {
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

static tacit_bracket_t answer_single(const tacit_pair_t *pair, query_t query) {
  if (query.is_epsilon_given) {
    return single_log_delta(pair, query.epsilon);
  }
  tacit_bracket_t bracket = {single_epsilon(pair, &query, false), single_epsilon(pair, &query, true)};
  if (single_log_delta(pair, bracket.upper).upper > target(&query, true)) {
    bracket.upper = INFINITY;
  }
  return bracket;
}

static tacit_status_t ask(const tacit_composition_t *composition, query_t query, double width, tacit_bracket_t *bracket,
                          tacit_error_t *err) {
  solver_t solver = {.composition = composition, .query = query, .width = width};
  double largest = 0, infinite = 0;
  for (size_t i = 0; i < composition->n_pairs; i++) {
    double count = (double)composition->pairs[i].count;
    solver.total_count += count;
    largest += count * fmax(composition->pairs[i].max_loss, 0) * (1 + 0x1p-50);
    infinite += count * composition->pairs[i].infinite;
  }
  if (composition->n_pairs == 1 && composition->pairs[0].count == 1) {
    *bracket = answer_single(&composition->pairs[0], query);
    return TACIT_OK;
  }
  if (query.is_epsilon_given && query.epsilon >= largest) { /* no loss exceeds the largest together */
    *bracket = (tacit_bracket_t){-INFINITY, fmin(log(infinite * (1 + 0x1p-40)), 0)};
    return TACIT_OK;
  }
  solver.grids = tacit_alloc_zero(composition->n_pairs, sizeof *solver.grids);
  solver.ranges = tacit_alloc(composition->n_pairs, sizeof *solver.ranges);
  tacit_status_t status = solver.grids != NULL && solver.ranges != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    status = solve(&solver, bracket, err);
  }
  if (status == TACIT_OK && !query.is_epsilon_given && !(infinite > 0)) {
    bracket->upper = fmin(bracket->upper, largest);
  }
  solver_clear(&solver);
  return status;
}

tacit_status_t tacit_pld_epsilon(const tacit_composition_t *composition, double log_delta, double width,
                                 tacit_bracket_t *epsilon, tacit_error_t *err) {
  return ask(composition, (query_t){.log_delta = log_delta}, width, epsilon, err);
}

tacit_status_t tacit_pld_log_delta(const tacit_composition_t *composition, double epsilon, double width,
                                   tacit_bracket_t *log_delta, tacit_error_t *err) {
  return ask(composition, (query_t){.is_epsilon_given = true, .epsilon = epsilon}, width, log_delta, err);
}
