/*
 * Sums of whole numbers that a unit writes. Where they lie is checked in exact arithmetic, unit by unit, and
 * what lies elsewhere counts as zero: no rounding enters a sensitivity. Products are formed here, of numbers
 * so checked.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "door/door_internal.h"

static const int64_t most_plain = 1 << 26, most_factor = 1 << 22, most_blocks = 1 << 10;
static const size_t most_vectors = 1 << 10;

static bool is_multiplied(const tacit_door_shape_t *shape) {
  return shape->kind == TACIT_SHAPE_SQUARES || shape->kind == TACIT_SHAPE_PRODUCTS;
}

static bool has_response(const tacit_door_shape_t *shape) {
  return shape->kind == TACIT_SHAPE_PRODUCTS && shape->high > 0;
}

/* Cells that a unit is in, at most; blocks of squares. */
static size_t n_cells(const tacit_door_shape_t *shape) { return shape->high > 0 ? (size_t)shape->high : 1; }

/* Of several blocks, a vector has the number of its own in front. */
static bool has_blocks(const tacit_door_shape_t *shape) {
  return shape->kind == TACIT_SHAPE_SQUARES && shape->high > 1;
}

size_t tacit_door_shape_n_sums(const tacit_door_shape_t *shape) {
  size_t d = shape->dim, n = d - has_response(shape), n_products = n * (n + 1) / 2;
  switch (shape->kind) {
  case TACIT_SHAPE_SQUARES:
    return n_cells(shape) * n_products;
  case TACIT_SHAPE_PRODUCTS:
    return n + n_products + (has_response(shape) ? 1 + n : 0);
  default:
    return d;
  }
}

/* Of squares, one for each row unless their number is the shape's own. */
static size_t n_vectors(const tacit_door_shape_t *shape, size_t n_rows) {
  return shape->kind != TACIT_SHAPE_SQUARES ? 1 : shape->n_vectors > 0 ? shape->n_vectors : n_rows;
}

size_t tacit_door_shape_n_written(const tacit_door_shape_t *shape, size_t n_rows) {
  return shape->kind == TACIT_SHAPE_CELL ? n_cells(shape)
                                         : (shape->dim + has_blocks(shape)) * n_vectors(shape, n_rows);
}

static bool is_l1(tacit_door_noise_t noise) {
  return noise == TACIT_DOOR_LAPLACE || noise == TACIT_DOOR_DISCRETE_LAPLACE;
}

static bool is_discrete(tacit_door_noise_t noise) {
  return noise == TACIT_DOOR_DISCRETE_GAUSSIAN || noise == TACIT_DOOR_DISCRETE_LAPLACE;
}

/* README.md, lemmas 1.1 to 1.5; what is rounded is rounded up. */
double tacit_door_shape_sensitivity(const tacit_door_shape_t *shape, tacit_door_noise_t noise,
                                    bool is_substitute) {
  const double up = 1 + 0x1p-50;
  double d = (double)shape->dim, r = (double)shape->radius, high = (double)shape->high,
         low = (double)shape->low;
  /*
   * proofs/Products.v: products_substitute, products_without_response_substitute
   * proofs/Products.v: products_add_remove
   */
  double products = has_response(shape) ? d * r * r + high * high : (d + 1) * r * r; /* exact below 2^53 */
  double side = is_substitute ? high - low : fmax(high, -low),
         moved = (double)n_cells(shape) * (is_substitute ? 2 : 1); /* cells by r each */
  switch (shape->kind) {
  /* proofs/Shapes.v: ball_substitute, ball_add_remove, l1_is_at_most_root_d_l2 */
  case TACIT_SHAPE_BALL:
    return (is_substitute ? 2 : 1) * r * (is_l1(noise) ? sqrt(d) * up : 1);
  /* proofs/Shapes.v: box_substitute, box_add_remove */
  case TACIT_SHAPE_BOX:
    return shape->dim == 1 ? side : side * (is_l1(noise) ? d : sqrt(d) * up);
  /* proofs/Shapes.v: cells_substitute, cells_add_remove */
  case TACIT_SHAPE_CELL:
    return r * (is_l1(noise) || moved <= 1 ? moved : sqrt(moved) * up);
  /* proofs/Squares.v: squares_substitute, squares_add_remove */
  case TACIT_SHAPE_SQUARES:
    return is_substitute ? sqrt(2) * up * r * r : r * r;
  default:
    return products < 0x1p53 ? products : products * up;
  }
}

tacit_event_t tacit_door_shape_event(const tacit_door_shape_t *shape, tacit_door_noise_t noise,
                                     bool is_substitute, double noise_multiplier, const char *label) {
  tacit_event_t event = {.noise_multiplier = noise_multiplier, .count = 1};
  bool is_number = shape->kind == TACIT_SHAPE_BOX && shape->dim == 1;
  snprintf(event.label, sizeof event.label, "%s", label);
  if (noise == TACIT_DOOR_GAUSSIAN || (noise == TACIT_DOOR_LAPLACE && is_number)) {
    event.kind = noise == TACIT_DOOR_GAUSSIAN ? TACIT_EVENT_GAUSSIAN : TACIT_EVENT_LAPLACE;
  } else if (noise == TACIT_DOOR_DISCRETE_GAUSSIAN) {
    event.kind = TACIT_EVENT_DISCRETE_GAUSSIAN;
    /* proofs/Shapes.v: cells_substitute, cells_add_remove, box_substitute */
    if (!is_number) { /* each cell that a unit leaves or enters moves by one */
      event.count = (is_substitute ? 2 : 1) * n_cells(shape);
      event.noise_multiplier = noise_multiplier * sqrt((double)event.count);
    } else {
      event.sensitivity = tacit_door_shape_sensitivity(shape, noise, is_substitute);
    }
  } else { /* no epsilon-DP mechanism tells more than randomised response between two answers [Kairouz2015] */
    event.kind = TACIT_EVENT_RANDOMIZED_RESPONSE;
    event.noise_multiplier = 0;
    event.probability = 2 / (1 + exp(1 / noise_multiplier * (1 + 1e-12)));
    event.buckets = 2;
  }
  return event;
}

tacit_status_t tacit_door_shape_check(const tacit_door_shape_t *s, tacit_door_noise_t noise,
                                      tacit_error_t *err) {
  int64_t most = is_multiplied(s) ? most_factor : most_plain;
  bool has_sides = s->kind == TACIT_SHAPE_BOX, is_number = has_sides && s->dim == 1;
  bool is_cell = s->kind == TACIT_SHAPE_CELL && s->radius == 1;
  bool ok = s->dim >= 1 && s->dim <= (size_t)1 << (is_multiplied(s) ? 12 : 24) && s->low >= -most &&
            s->low <= 0 && s->high >= 0 && s->high <= most;
  ok = ok && (has_sides ? s->high > s->low : s->radius >= 1 && s->radius <= most);
  ok = ok && (!has_blocks(s) || s->high <= most_blocks) && (!has_response(s) || s->dim >= 2) &&
       (noise == TACIT_DOOR_GAUSSIAN || !is_multiplied(s));
  ok = ok && s->n_vectors <= (s->kind == TACIT_SHAPE_SQUARES ? most_vectors : 0);
  ok = ok && (!is_discrete(noise) || is_number || is_cell);
  return ok ? TACIT_OK
            : tacit_error_set(err, TACIT_ERR_ARGUMENT, "shape",
                              "a contribution's shape is out of range, or not for this noise");
}

/* ---- a unit's whole numbers ---- */

static bool is_in_box(const int64_t *k, size_t n, int64_t low, int64_t high) {
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    ok = ok & (k[i] >= low) & (k[i] <= high);
  }
  return ok;
}

/*
 * *square += the squares of k; false if one is beyond the radius. Where none is, they are at most 2^52, of
 * which 2^10 fit into 64 bits; where one is, they are not looked at.
 */
/* proofs/Sums.v: squares_fit, a_range_modulo_2_64 */
static bool add_length(const int64_t *k, size_t n, int64_t radius, tacit_wide_t *square) {
  const uint64_t r = (uint64_t)radius;
  uint64_t n_beyond = 0;
  for (size_t i = 0; i < n;) {
    uint64_t some = 0;
    for (size_t end = n - i < 1024 ? n : i + 1024; i < end; i++) {
      uint64_t x = (uint64_t)k[i];
      n_beyond += x + r > 2 * r; /* modulo 2^64: k < -r or k > r */
      some += x * x;
    }
    *square += (tacit_wide_t)some;
  }
  return n_beyond == 0;
}

/* proofs/Shapes.v: the_check_is_the_ball */
bool tacit_door_is_in_ball(const int64_t *k, size_t n, int64_t radius) {
  tacit_wide_t square = 0;
  return add_length(k, n, radius, &square) && square <= (tacit_wide_t)radius * radius;
}

/* Vectors, each behind the number of a block that there is, lie in the ball together. */
static bool are_in_ball(const tacit_door_shape_t *shape, size_t n, const int64_t *k) {
  tacit_wide_t square = 0;
  bool ok = true;
  for (size_t t = 0; t < n; t++, k += shape->dim + 1) {
    ok = ok && k[0] >= 0 && k[0] < shape->high && add_length(k + 1, shape->dim, shape->radius, &square);
  }
  return ok && square <= (tacit_wide_t)shape->radius * shape->radius;
}

/* proofs/Sums.v: products_fit */
static void add_square(size_t d, const int64_t *v, tacit_wide_t *totals) {
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i; j < d; j++) {
      *totals++ += v[i] * v[j];
    }
  }
}

static void add_times(size_t n, const int64_t *k, int64_t factor, tacit_wide_t *totals) {
  for (size_t i = 0; i < n; i++) {
    totals[i] += k[i] * factor;
  }
}

/* Cells that rise are different ones, so that each gains r once at most; what is no cell is passed over. */
static bool do_cells_rise(const tacit_door_shape_t *shape, const int64_t *k) {
  int64_t last = 0;
  for (size_t i = 0; i < n_cells(shape); i++) {
    bool is_cell = k[i] >= 1 && k[i] <= (int64_t)shape->dim;
    if (is_cell && k[i] <= last) {
      return false;
    }
    last = is_cell ? k[i] : last;
  }
  return true;
}

static bool is_inside(const tacit_door_shape_t *shape, size_t n_rows, const int64_t *k) {
  size_t d = shape->dim, n = d - has_response(shape);
  switch (shape->kind) {
  case TACIT_SHAPE_BALL:
  case TACIT_SHAPE_SQUARES:
    return has_blocks(shape)
               ? are_in_ball(shape, n_vectors(shape, n_rows), k)
               : tacit_door_is_in_ball(k, tacit_door_shape_n_written(shape, n_rows), shape->radius);
  case TACIT_SHAPE_BOX:
    return is_in_box(k, d, shape->low, shape->high);
  case TACIT_SHAPE_CELL:
    return do_cells_rise(shape, k);
  default:
    return is_in_box(k, n, -shape->radius, shape->radius) &&
           is_in_box(k + n, d - n, -shape->high, shape->high);
  }
}

bool tacit_door_shape_add(const tacit_door_shape_t *shape, size_t n_rows, const int64_t *k,
                          tacit_wide_t *totals) {
  size_t d = shape->dim, n = d - has_response(shape), n_products = n * (n + 1) / 2;
  if (!is_inside(shape, n_rows, k)) {
    return false;
  }
  switch (shape->kind) {
  case TACIT_SHAPE_CELL:
    for (size_t i = 0; i < n_cells(shape); i++) {
      if (k[i] >= 1 && k[i] <= (int64_t)d) {
        totals[k[i] - 1] += shape->radius;
      }
    }
    break;
  case TACIT_SHAPE_SQUARES:
    for (size_t t = 0; t < n_vectors(shape, n_rows); t++, k += d) {
      size_t block = has_blocks(shape) ? (size_t)*k++ : 0;
      add_square(d, k, totals + block * n_products);
    }
    break;
  case TACIT_SHAPE_PRODUCTS:
    add_times(n, k, shape->radius, totals);
    add_square(n, k, totals + n);
    if (has_response(shape)) {
      totals[n + n_products] += k[n] * shape->radius;
      add_times(n, k, k[n], totals + n + n_products + 1);
    }
    break;
  default:
    add_times(d, k, 1, totals);
    break;
  }
  return true;
}
