/*
 * Whatever a contribution does, the integers that are summed differ between neighbours by no more than is
 * charged for; or the contribution is caught, before anything is charged. Units of one record or several are
 * substituted by units of other sizes, added or removed; contributions are honest, longer than they claim, no
 * numbers at all, or no functions of a record.
 *
 * Mutations tried, each of which fails here: a shape not checked (each kind); a cell gained twice; sqrt(2)
 * left out for cells and squares, a column for products; clips twice as wide, of records and of units; norms
 * that are no number let through; the lattice rounded up; the length of the first vector of several taken for
 * all, a block that is none added to the first; lanes past the last record counted; a unit's whole numbers
 * taken as they come; those of lanes without a unit counted; a copy's rows left where no record counts;
 * blocks with such a record shown as they lie; the probe left out, or one of its questions; units in lanes
 * asked for one record alone, or for equally many layers each time; a unit of more rows than a group has
 * layers shown in one, or cut to that many, or to as many as its neighbour has; neighbouring pieces of all
 * features of which the last alone counts; features outside of the known norm taken as 1 long; sums of a part
 * in 64 bits.
 */
#include "contributions.h"
#include "data/records.h"

/* ---- releases ---- */

typedef enum what {
  LINEAR,
  PIECES,
  DENSE,
  SCALARS,
  PRODUCT,
  BALL,
  BOX,
  CELL,
  CELLS,
  SQUARES,
  BLOCKS,
  FACTORS,
  PRODUCTS,
  SCORE,
  N_WHAT
} what_t;

static const tacit_door_shape_t shapes[N_WHAT] = {
    [BALL] = {TACIT_SHAPE_BALL, 4, 1 << 20, 0, 0, 0},
    [BOX] = {TACIT_SHAPE_BOX, 3, 0, -5, 1 << 20, 0},
    [CELL] = {TACIT_SHAPE_CELL, 7, 1 << 20, 0, 0, 0},
    [CELLS] = {TACIT_SHAPE_CELL, 7, 1 << 20, 0, 3, 0},
    [SQUARES] = {TACIT_SHAPE_SQUARES, 3, 1 << 20, 0, 0, 0},
    [BLOCKS] = {TACIT_SHAPE_SQUARES, 3, 1 << 20, 0, 4, 0},
    [FACTORS] = {TACIT_SHAPE_SQUARES, 3, 1 << 20, 0, 0, 5},
    [PRODUCTS] = {TACIT_SHAPE_PRODUCTS, 3, 1 << 16, 0, 0, 0},
    [SCORE] = {TACIT_SHAPE_PRODUCTS, 4, 1 << 16, 0, 1 << 16, 0}};

static void test_a_block_that_is_none_adds_nothing(void **unused) {
  (void)unused;
  for (int64_t block = -1; block <= shapes[BLOCKS].high; block++) {
    int64_t k[2 * 4] = {0, 1, 2, 3, block, 4, 5, 6}; /* two vectors, of which the second may lie nowhere */
    tacit_wide_t totals[MAX_SUMS] = {0};
    bool is_there = block >= 0 && block < shapes[BLOCKS].high;
    assert_true(tacit_door_shape_add(&shapes[BLOCKS], 2, k, totals) == is_there);
    for (size_t i = 0; i < tacit_door_shape_n_sums(&shapes[BLOCKS]); i++) {
      bool is_own = (int64_t)(i / 6) == block, is_first = i / 6 == 0;
      assert_true((totals[i] != 0) == (is_there && (is_own || is_first)));
    }
    assert_true(!is_there || totals[6 * (size_t)block + 5] == 36 + (block == 0 ? 9 : 0));
  }
}

/* The corners that are furthest apart in L1: of a box two opposite ones, of a ball v and -v with equal
 * entries, of cells one left and one entered. */
static void test_sensitivities_of_noise_by_the_sum_of_sizes(void **unused) {
  (void)unused;
  const double r = 1 << 20, box = 3 * (r + 5), ball = 2 * r * sqrt(4);
  const struct {
    what_t what;
    double substitute, add_remove;
  } expected[] = {{BOX, box, 3 * r}, {BALL, ball, ball / 2}, {CELL, 2 * r, r}, {CELLS, 6 * r, 3 * r}};
  for (size_t i = 0; i < 4; i++) {
    double two = tacit_door_shape_sensitivity(&shapes[expected[i].what], TACIT_DOOR_LAPLACE, true);
    double one = tacit_door_shape_sensitivity(&shapes[expected[i].what], TACIT_DOOR_LAPLACE, false);
    assert_true(two >= expected[i].substitute && two <= expected[i].substitute * (1 + 1e-14));
    assert_true(one >= expected[i].add_remove && one <= expected[i].add_remove * (1 + 1e-14));
  }
}

typedef struct setting {
  what_t what;
  lie_t lie;
  tacit_relation_t relation;
  size_t max_rows, n_threads;
  double rate;
  bool has_lanes; /* functions of units */
} setting_t;

typedef struct result {
  tacit_status_t status;
  double rho, sensitivity; /* L2, of a group of sums */
  size_t n_groups, n_a_group;
  tacit_wide_t sums[MAX_SUMS];
} result_t;

static size_t n_features(const setting_t *s) { return s->what == LINEAR || s->what == PIECES ? 2 : 0; }

static tacit_status_t make(tacit_door_t *door, const setting_t *s, result_t *r, tacit_error_t *err) {
  static const float points[2 * 5];
  static const size_t places[2] = {0, 1}, none = SIZE_MAX;
  static const double clips[2] = {1 << 19, 1 << 19}, one[2] = {1e-6, 1e-6}, add[2] = {0, 0};
  double out[MAX_SUMS], sd[MAX_SUMS], factor = s->relation == TACIT_RELATION_SUBSTITUTE ? 2 : 1;
  const tacit_door_shape_t *shape = &shapes[s->what];
  const size_t which = s->what <= DENSE ? s->what : DENSE;
  tacit_vectors_t vectors = {.n_points = N_POINTS,
                             .dim = 5,
                             .n_rows = vectors_of[which].n_rows,
                             .n_pieces = vectors_of[which].n_pieces,
                             .pieces = vectors_of[which].pieces,
                             .n_features = n_features(s),
                             .n_blocks = 3,
                             .rows = vector_rows,
                             .units = vector_units,
                             .ctx = &vectors_of[which].n_rows,
                             .points = points,
                             .scale = 1,
                             .clip = 1,
                             .rate = s->rate,
                             .label = "test"};
  tacit_scalars_t scalars = {.n_pairs = 2,
                             .n_fresh = 2,
                             .values = scalar_values,
                             .fresh_at = places,
                             .before = (size_t[2]){SIZE_MAX, 0},
                             .after = (size_t[2]){0, 1},
                             .clips = clips,
                             .rate = 1,
                             .label = "test"};
  tacit_door_product_t product = {.dim = 2,
                                  .weight = 1,
                                  .scale = one,
                                  .add = {add, add},
                                  .radius = {1 << 20, 1 << 20},
                                  .clip = {1, 1},
                                  .most = 1 << 20,
                                  .lanes = product_lanes};
  tacit_accept_rule_t rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 1};
  bool accepted;
  r->n_groups = N_POINTS;
  r->n_a_group = 5;
  r->sensitivity = factor * (1 << TACIT_LATTICE_BITS);
  switch (s->what) {
  case LINEAR:
  case PIECES:
  case DENSE:
    return tacit_door_release_vectors(door, &vectors, 1, out, err);
  case SCALARS:
    if (s->rate < 1) {
      scalars.n_pairs = 1, scalars.is_sampled = true, scalars.rate = s->rate, scalars.before = &none;
    }
    r->n_groups = scalars.n_pairs, r->n_a_group = 1, r->sensitivity = factor * clips[0];
    return tacit_door_release_scalars(door, &scalars, 1, out, sd, err);
  case PRODUCT:
    r->n_a_group = 2, r->sensitivity = factor * (1 << 20);
    return tacit_door_decide_product(door, &product, &rule, 0, &accepted, err);
  default:
    break;
  }
  tacit_units_t units = {.shape = *shape,
                         .unit = unit_numbers,
                         .lanes = s->has_lanes ? unit_lanes : NULL,
                         .ctx = shape,
                         .label = "test"};
  r->n_groups = 1, r->n_a_group = tacit_door_shape_n_sums(shape);
  r->sensitivity = tacit_door_shape_sensitivity(shape, TACIT_DOOR_GAUSSIAN, factor > 1);
  return tacit_door_release_units(door, &units, TACIT_DOOR_GAUSSIAN, 1, out, sd, err);
}

static result_t run(const data_t *data, const setting_t *s) {
  tacit_error_t err;
  tacit_records_t *records;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_door_t *door;
  result_t r = {0};
  size_t offsets[MAX_UNITS + 1] = {0}, n = 0;
  for (size_t u = 0; u < data->n_units; u++) {
    offsets[u + 1] = offsets[u] + data->n_rows[u];
  }
  n = offsets[data->n_units];
  assert_ok(tacit_records_new(&records, n, N_COLUMNS, &err), err);
  for (size_t u = 0; u < data->n_units; u++) {
    for (size_t t = 0; t < data->n_rows[u]; t++) {
      tacit_records_set(records, offsets[u] + t, data->rows[u][t]);
      if (data->is_left_out[u][t]) {
        tacit_records_leave_out(records, offsets[u] + t);
      }
    }
  }
  if (s->max_rows > 1) {
    assert_ok(tacit_records_set_units(records, offsets, data->n_units, &err), err);
  }
  tacit_door_settings_t settings = {.name = "test",
                                    .n_columns = N_COLUMNS,
                                    .n_features = n_features(s),
                                    .max_unit_rows = s->max_rows,
                                    .n_threads = s->n_threads};
  assert_ok(tacit_budget_new(&budget, 1e6, 1e-6, s->relation, &err), err);
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 3, &err), err);
  if (s->what == PRODUCT) { /* decisions are paid by schedule */
    static const double scale = 1e-6;
    tacit_door_product_t product = {.dim = 1,
                                    .weight = 1,
                                    .scale = &scale,
                                    .radius = {1 << 20, 1 << 20},
                                    .clip = {1, 1},
                                    .most = 1 << 20};
    tacit_accept_rule_t rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 1};
    tacit_event_t event =
        tacit_product_event(&rule, s->relation == TACIT_RELATION_SUBSTITUTE ? 2 : 1, &product);
    assert_ok(tacit_budget_set_schedule(budget, &event, 1, &err), err);
  }
  liar = (liar_t){.lie = s->lie, .scale = 2};
  bool is_sampled =
      s->rate < 1; /* by an exposed door: the same sums, and a schedule of samples takes its time */
  assert_ok(tacit_door_new(&door, records, is_sampled ? NULL : budget, noise, &settings, &err), err);
  r.status = make(door, s, &r, &err);
  if (r.status != TACIT_OK && r.status != TACIT_ERR_SENSITIVITY) {
    fail_msg("release %d, lie %d: %s", (int)s->what, (int)s->lie, err.message);
  }
  for (size_t i = 0; r.status == TACIT_OK && i < r.n_groups * r.n_a_group; i++) {
    r.sums[i] = door->sums[i];
  }
  size_t n_events;
  tacit_budget_events(budget, &n_events);
  r.rho = is_sampled ? 1 : (double)n_events;
  tacit_door_free(door);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  return r;
}

/* Largest distance of the groups of sums, in sensitivities; entries off the diagonal of squares count twice.
 */
static double distance(const setting_t *s, const result_t *a, const result_t *b) {
  double worst = 0;
  for (size_t g = 0; g < a->n_groups; g++) {
    double square = 0;
    for (size_t i = 0, row = 0, column = 0; i < a->n_a_group; i++) {
      double apart = (double)(a->sums[g * a->n_a_group + i] - b->sums[g * a->n_a_group + i]);
      square += ((s->what >= SQUARES && s->what <= FACTORS) && row != column ? 2 : 1) * apart * apart;
      row += ++column == shapes[SQUARES].dim;
      row = row == shapes[SQUARES].dim ? 0 : row; /* the next block's */
      column = column == shapes[SQUARES].dim ? row : column;
    }
    worst = fmax(worst, sqrt(square));
  }
  return worst / a->sensitivity;
}

/* The distance of random neighbours; or less than 0: caught, and nothing charged. */
static double neighbours(const setting_t *s, bool is_wild) {
  static data_t data, other;
  bool is_substitute = s->relation == TACIT_RELATION_SUBSTITUTE;
  data.n_units = 2 + bits() % (MAX_UNITS - 2);
  data.usual = bits() % 2 * (1 + bits() % s->max_rows);
  for (size_t u = 0; u < data.n_units; u++) {
    any_unit(&data, u, s->max_rows, is_wild);
  }
  other = data;
  if (is_substitute) {
    any_unit(&other, bits() % data.n_units, s->max_rows, is_wild);
  } else {
    other.n_units--;
  }
  result_t a = run(&data, s), b = run(&other, s);
  assert_int_equal(a.status, b.status); /* a refusal says nothing about the data */
  if (a.status != TACIT_OK) {
    assert_true(a.rho <= 0 && b.rho <= 0);
    return -1;
  }
  assert_true(a.rho > 0);
  return distance(s, &a, &b);
}

static bool is_possible(const setting_t *s) {
  bool is_fast = s->what <= SCALARS;
  return (s->rate >= 1 || (s->what <= SCALARS && s->max_rows == 1)) &&
         (s->max_rows == 1 || s->what != PRODUCT) &&
         (s->lie < N_HARMLESS || is_fast || s->what == PRODUCT || (s->has_lanes && s->lie >= BESIDE)) &&
         (!s->has_lanes || (s->what > PRODUCT && has_lanes(&shapes[s->what]))) &&
         (s->lie != RUN || s->what <= SCALARS) && /* a unit's function is shown no other records */
         (s->lie < BESIDE || (s->what <= DENSE && s->max_rows > 1) || s->has_lanes); /* of units in lanes */
}

static void test_neighbours_are_no_further_apart_than_is_charged(void **unused) {
  (void)unused;
  size_t n_pairs =
      (size_t)(8 * testing_multiplier_at_least(1)); /* the worst of all must come near what is charged */
  double worst[N_WHAT] = {0};
  state = 5;
  for (int what = 0; what < N_WHAT; what++) {
    for (size_t i = 0; i < 2 * 2 * 2 * 2 * N_HARMLESS; i++) {
      setting_t s = {.what = (what_t)what,
                     .lie = (lie_t)(i % N_HARMLESS),
                     .n_threads = 1 + (i / 2 & 2),
                     .relation = i / 4 & 1 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE,
                     .max_rows = i / 8 & 1 ? MAX_ROWS : 1,
                     .rate = i / 16 & 1 ? 0.5 : 1};
      for (size_t pair = 0; pair < n_pairs; pair++) {
        s.has_lanes = s.what > PRODUCT && has_lanes(&shapes[s.what]) && pair % 4 < 2;
        s.max_rows = s.max_rows == 1 ? 1 : pair / 4 % 2 ? MAX_ROWS : FEW_ROWS;
        double apart = is_possible(&s) ? neighbours(&s, pair % 2 == 0) : 0;
        if (!(apart >= 0 && apart <= 1 + 1e-12)) {
          fail_msg("release %d, lie %d, %zu rows, relation %d, rate %g: %g of what is charged", what,
                   (int)s.lie, s.max_rows, (int)s.relation, s.rate, apart);
        }
        worst[what] = fmax(worst[what], apart);
      }
    }
    print_message("release %d: neighbours up to %.3f of what is charged apart\n", what, worst[what]);
    assert_true(worst[what] > 0.5);
  }
}

static void test_what_is_no_function_of_a_record_is_caught(void **unused) {
  (void)unused;
  state = 6;
  for (int what = 0; what < N_WHAT; what++) {
    for (int lie = N_HARMLESS; lie < N_LIES; lie++) {
      for (size_t rows = 1; rows <= MAX_ROWS; rows += MAX_ROWS - 1) {
        setting_t s = {.what = (what_t)what,
                       .lie = (lie_t)lie,
                       .relation = TACIT_RELATION_SUBSTITUTE,
                       .max_rows = rows,
                       .n_threads = 1,
                       .rate = 1,
                       .has_lanes = what > PRODUCT && has_lanes(&shapes[what])};
        if (is_possible(&s) && !(neighbours(&s, false) < 0)) {
          fail_msg("release %d: lie %d is not caught", what, lie);
        }
      }
    }
  }
}

/* Data with records left out; *without: where they are not there, or, of subsets, where they are zeros. */
static void leave_out(const setting_t *s, data_t *data, data_t *without) {
  size_t n_units = 0;
  without->n_units = data->n_units;
  for (size_t u = 0; u < data->n_units; u++) {
    size_t n = 0;
    for (size_t t = 0; t < data->n_rows[u]; t++) {
      bool is_left_out = data->is_left_out[u][t] = bits() % 4 == 0;
      memcpy(without->rows[n_units][n], data->rows[u][t], sizeof data->rows[u][t]);
      without->is_left_out[n_units][n] = false;
      if (is_left_out && s->rate < 1) {
        memset(without->rows[n_units][n], 0, sizeof data->rows[u][t]);
      }
      n += s->rate < 1 || !is_left_out;
    }
    without->n_rows[n_units] = n;
    n_units += s->max_rows > 1 || n > 0; /* a person stays, without records */
  }
  without->n_units = n_units;
}

/* Mutations tried, each of which fails here: a record left out is one of zeros; functions of units are shown
 * what is left out. */
static void test_a_record_left_out_adds_what_one_that_is_not_there_adds(void **unused) {
  (void)unused;
  static data_t data, without;
  state = 7;
  for (int what = 0; what < N_WHAT; what++) {
    for (size_t i = 0; i < 2 * 2 * 2 * 2 * N_HARMLESS; i++) {
      setting_t s = {.what = (what_t)what,
                     .lie = (lie_t)(i % N_HARMLESS),
                     .n_threads = 1 + (i / 2 & 2),
                     .relation = i / 4 & 1 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE,
                     .max_rows = i / 8 & 1 ? MAX_ROWS : 1,
                     .rate = i / 16 & 1 ? 0.5 : 1,
                     .has_lanes = i / 2 & 1 && what > PRODUCT && has_lanes(&shapes[what])};
      if (!is_possible(&s) || (s.rate < 1 && s.lie != HONEST)) {
        continue;
      }
      data.n_units = 2 + bits() % (MAX_UNITS - 2);
      data.usual = bits() % 2 * (1 + bits() % s.max_rows);
      for (size_t u = 0; u < data.n_units; u++) {
        any_unit(&data, u, s.max_rows, s.lie == WILD);
      }
      leave_out(&s, &data, &without);
      result_t a = run(&data, &s), b = run(&without, &s);
      assert_true(a.status == TACIT_OK && b.status == TACIT_OK);
      assert_memory_equal(a.sums, b.sums, a.n_groups * a.n_a_group * sizeof a.sums[0]);
    }
  }
}

/* Lanes of 64 bits hold what one lane of a part adds; their sum, of 2^14 records of 2^51 each, is beyond
 * them. */
static void large_values(const void *ctx, const float *block, size_t n_blocks, double *work,
                         double *const *out) {
  (void)ctx, (void)block, (void)work;
  for (size_t i = 0; i < n_blocks * 16; i++) {
    out[0][i] = 0x1p60;
  }
}

static void large_rows(const void *ctx, const float *block, size_t n_blocks, size_t n_points,
                       const float *points, float *out) {
  (void)ctx, (void)block, (void)points;
  for (size_t i = 0; i < n_blocks * n_points * 16; i++) {
    out[i] = 1e6f;
  }
}

/* All of one lane's parts: what each record adds is one number, near 2^20. */
static void check_largest_vectors(tacit_door_t *door, size_t n) {
  static const float point;
  tacit_error_t err;
  double out;
  tacit_piece_t piece = {.kind = TACIT_PIECE_DENSE, .n = 1};
  tacit_vectors_t of = {.n_points = 1,
                        .dim = 1,
                        .n_rows = 1,
                        .n_pieces = 1,
                        .n_blocks = 16,
                        .pieces = &piece,
                        .rows = large_rows,
                        .points = &point,
                        .scale = 1,
                        .clip = 1,
                        .rate = 1,
                        .label = "test"};
  assert_ok(tacit_door_release_vectors(door, &of, 1, &out, &err), err);
  tacit_wide_t each = door->sums[0] / (tacit_wide_t)n;
  assert_true(each * (tacit_wide_t)n == door->sums[0] && each <= 1 << 20 && each > (1 << 20) - 16);
}

static void test_the_largest_sums_are_exact(void **unused) {
  (void)unused;
  const size_t n = 1 << 18, at = 0, none = SIZE_MAX; /* so many that parts are of their largest size */
  const double clip = 0x1p51, x[N_COLUMNS] = {0};
  for (size_t rows = 1; rows <= 2; rows++) {
    tacit_error_t err;
    tacit_records_t *records;
    tacit_door_t *door;
    double out, sd;
    size_t *offsets = calloc(n / rows + 1, sizeof *offsets);
    assert_ok(tacit_records_new(&records, n, N_COLUMNS, &err), err);
    for (size_t i = 0; i < n; i++) {
      tacit_records_set(records, i, x);
    }
    for (size_t u = 0; u <= n / rows; u++) {
      offsets[u] = rows * u;
    }
    if (rows > 1) {
      assert_ok(tacit_records_set_units(records, offsets, n / rows, &err), err);
    }
    tacit_door_settings_t settings = {
        .name = "test", .n_columns = N_COLUMNS, .max_unit_rows = rows, .n_threads = 1};
    assert_ok(tacit_door_new(&door, records, NULL, NULL, &settings, &err), err);
    tacit_scalars_t scalars = {.n_pairs = 1,
                               .n_fresh = 1,
                               .values = large_values,
                               .fresh_at = &at,
                               .before = &none,
                               .after = &at,
                               .clips = &clip,
                               .rate = 1,
                               .label = "test"};
    assert_ok(tacit_door_release_scalars(door, &scalars, 1, &out, &sd, &err), err);
    assert_true(door->sums[0] == (tacit_wide_t)(n / rows) << 51);
    if (rows == 1) {
      check_largest_vectors(door, n);
    }
    tacit_door_free(door);
    free(offsets);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_largest_sums_are_exact),
      cmocka_unit_test(test_a_block_that_is_none_adds_nothing),
      cmocka_unit_test(test_neighbours_are_no_further_apart_than_is_charged),
      cmocka_unit_test(test_sensitivities_of_noise_by_the_sum_of_sizes),
      cmocka_unit_test(test_what_is_no_function_of_a_record_is_caught),
      cmocka_unit_test(test_a_record_left_out_adds_what_one_that_is_not_there_adds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
