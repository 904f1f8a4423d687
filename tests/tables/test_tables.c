/* Sums over a junction tree against sums over all cells of the population, derivatives against differences,
 * rows against probabilities. */
#include "base/memory.h"
#include "testing.h"

#include "tables/tables_internal.h"
#include "tacit/random.h"

enum { MAX_CELLS = 1024 };

static tacit_rng_t *rng;

static int open_rng(void **state) {
  unsigned char key[32];
  (void)state;
  tacit_rng_key_from_seed(key, 20231123);
  return tacit_rng_new(&rng, key, 0, NULL);
}

static int close_rng(void **state) {
  (void)state;
  tacit_rng_free(rng);
  return 0;
}

/* A random population of up to 6 columns with margins that cover it: circles, trees, islands, margins within
 * others. */
typedef struct scene {
  size_t n_columns, levels[8], n_margins;
  uint32_t margins[40];
  tacit_tables_t *tables;
  double theta[TACIT_TABLES_MAX_EFFECTS];
} scene_t;

static void add_margin(scene_t *s, uint32_t margin) {
  for (size_t i = 0; i < s->n_margins; i++) {
    if (s->margins[i] == margin)
      return;
  }
  s->margins[s->n_margins++] = margin;
}

static void make_scene(scene_t *s) {
  tacit_error_t err = {0};
  size_t n_cells;
  do {
    *s = (scene_t){.n_columns = 1 + tacit_rng_below(rng, 6)};
    n_cells = 1;
    for (size_t j = 0; j < s->n_columns; j++) {
      n_cells *= s->levels[j] = 2 + tacit_rng_below(rng, 3);
    }
  } while (n_cells > MAX_CELLS);
  uint32_t all = (UINT32_C(1) << s->n_columns) - 1, covered = 0;
  for (size_t i = 0; i < 2 + tacit_rng_below(rng, 6); i++) {
    uint32_t margin = (uint32_t)tacit_rng_bits(rng) & (uint32_t)tacit_rng_bits(rng) & all;
    if (margin != 0)
      add_margin(s, margin);
    covered |= margin;
  }
  for (size_t j = 0; j < s->n_columns; j++) {
    if ((covered >> j & 1) == 0)
      add_margin(s, UINT32_C(1) << j);
  }
  tacit_margins_t margins = {
      .n_columns = s->n_columns, .n_levels = s->levels, .n_margins = s->n_margins, .margins = s->margins};
  assert_ok(tacit_tables_new(&s->tables, &margins, &err), err);
  for (size_t e = 0; e < tacit_tables_n_effects(s->tables); e++) {
    s->theta[e] = 1.5 * tacit_rng_normal(rng);
  }
}

/* Which effects a cell of the population has, from the definition alone. */
static size_t list_cells(const scene_t *s, double *log_weight, bool *has_effect, size_t *levels_of) {
  size_t n = 1, k = tacit_tables_n_effects(s->tables);
  for (size_t j = 0; j < s->n_columns; j++) {
    n *= s->levels[j];
  }
  for (size_t i = 0; i < n; i++) {
    size_t rest = i, *x = levels_of + i * s->n_columns;
    for (size_t j = s->n_columns; j-- > 0; rest /= s->levels[j]) {
      x[j] = rest % s->levels[j];
    }
    log_weight[i] = 0;
    for (size_t e = 0; e < k; e++) {
      size_t levels[TACIT_TABLES_MAX_COLUMNS];
      uint32_t columns = tacit_tables_effect(s->tables, e, levels);
      bool has = true;
      for (size_t j = 0; j < s->n_columns; j++) {
        has = has && ((columns >> j & 1) == 0 || x[j] == levels[j]);
      }
      has_effect[i * k + e] = has;
      log_weight[i] += has ? s->theta[e] : 0;
    }
  }
  return n;
}

typedef struct cells {
  double weight[MAX_CELLS];
  bool has_effect[MAX_CELLS * TACIT_TABLES_MAX_EFFECTS];
  size_t levels[MAX_CELLS * 8], n;
  double log_partition;
} cells_t;

static void enumerate(const scene_t *s, cells_t *c) {
  double most = -INFINITY, sum = 0;
  c->n = list_cells(s, c->weight, c->has_effect, c->levels);
  for (size_t i = 0; i < c->n; i++) {
    most = fmax(most, c->weight[i]);
  }
  for (size_t i = 0; i < c->n; i++) {
    sum += exp(c->weight[i] - most);
  }
  c->log_partition = most + log(sum);
  for (size_t i = 0; i < c->n; i++) {
    c->weight[i] = exp(c->weight[i] - c->log_partition);
  }
}

static size_t margin_cell(const scene_t *s, uint32_t margin, const size_t *x) {
  size_t cell = 0;
  for (size_t j = 0; j < s->n_columns; j++) {
    cell = (margin >> j & 1) != 0 ? cell * s->levels[j] + x[j] : cell;
  }
  return cell;
}

static void test_the_tree_adds_up_what_all_cells_add_up_to(void **state) {
  (void)state;
  cells_t *c = malloc(sizeof *c);
  for (int round = 0; round < 200 * testing_multiplier(); round++) {
    scene_t s;
    tacit_tables_workspace_t workspace;
    tacit_error_t err = {0};
    make_scene(&s);
    enumerate(&s, c);
    size_t k = tacit_tables_n_effects(s.tables);
    assert_ok(tacit_tables_workspace_init(&workspace, s.tables, &err), err);
    tacit_tables_product(s.tables, &workspace, s.theta);
    assert_close(workspace.log_partition, c->log_partition, 1e-10);
    double *expected = calloc(tacit_tables_n_cells(s.tables), sizeof *expected),
           *counts = calloc(tacit_tables_n_cells(s.tables), sizeof *counts);
    for (size_t m = 0; m < s.n_margins; m++) {
      for (size_t i = 0; i < c->n; i++) {
        expected[s.tables->margins[m].first + margin_cell(&s, s.margins[m], c->levels + i * s.n_columns)] +=
            c->weight[i];
      }
    }
    tacit_sparse_times(&s.tables->counts, s.tables->n_cells, workspace.mean,
                       counts); /* inclusion and exclusion gives the cells back */
    for (size_t m = 0; m < s.n_margins; m++) {
      counts[s.tables->margins[m].first] += 1;
    }
    for (size_t i = 0; i < s.tables->n_cells; i++) {
      assert_close(workspace.cells[i], expected[i], 1e-12);
      assert_close(counts[i], expected[i], 1e-11);
    }
    double v[TACIT_TABLES_MAX_EFFECTS], out[TACIT_TABLES_MAX_EFFECTS];
    for (size_t e = 0; e < k; e++) {
      v[e] = tacit_rng_normal(rng);
    }
    tacit_tables_covariance_times(s.tables, &workspace, v, out);
    for (size_t e = 0; e < k; e++) {
      double both = 0, mean_v = 0, mean_e = 0;
      for (size_t i = 0; i < c->n; i++) {
        double along = 0;
        for (size_t f = 0; f < k; f++) {
          along += c->has_effect[i * k + f] ? v[f] : 0;
        }
        mean_v += c->weight[i] * along;
        mean_e += c->has_effect[i * k + e] ? c->weight[i] : 0;
        both += c->has_effect[i * k + e] ? c->weight[i] * along : 0;
      }
      assert_close(workspace.mean[e], mean_e, 1e-12);
      assert_close(out[e], both - mean_v * mean_e, 1e-10);
    }
    free(expected);
    free(counts);
    tacit_tables_workspace_clear(&workspace);
    tacit_tables_free(s.tables);
  }
  free(c);
}

/* Effects are as many as the margins tell apart: the counts of the margins have full rank in them (their
 * precision has a factor). */
static void test_effects_are_identified(void **state) {
  (void)state;
  for (int round = 0; round < 60 * testing_multiplier(); round++) {
    scene_t s;
    make_scene(&s);
    size_t k = tacit_tables_n_effects(s.tables);
    double *gram = calloc(k * k, sizeof *gram);
    const tacit_sparse_t *m = &s.tables->counts;
    for (size_t i = 0; i < s.tables->n_cells; i++) {
      for (size_t a = m->begin[i]; a < m->begin[i + 1]; a++) {
        for (size_t b = m->begin[i]; b < m->begin[i + 1]; b++) {
          gram[m->effect[a] * k + m->effect[b]] += m->value[a] * m->value[b];
        }
      }
    }
    assert_true(tacit_matrix_factorise(k, gram));
    free(gram);
    tacit_tables_free(s.tables);
  }
}

static void check_gradient(bool is_n_known) {
  for (int round = 0; round < 60 * testing_multiplier(); round++) {
    scene_t s;
    tacit_error_t err = {0};
    make_scene(&s);
    size_t n_cells = tacit_tables_n_cells(s.tables);
    double *values = calloc(n_cells, sizeof *values), *scales = calloc(n_cells, sizeof *scales);
    assert_ok(tacit_tables_evaluate(s.tables, s.theta, &values[0], values, &err), err);
    for (size_t i = 0; i < n_cells; i++) {
      scales[i] = 2 + 20 * tacit_rng_uniform(rng);
      values[i] = nearbyint(500 * values[i] + scales[i] * tacit_rng_normal(rng));
    }
    tacit_noisy_margins_t release = {
        .values = values, .scales = scales, .n_records = is_n_known ? 500 : 0, .prior_sd = 2};
    tacit_tables_target_t target;
    tacit_tables_point_t point;
    assert_ok(tacit_tables_target_init(&target, s.tables, &release, &err), err);
    assert_ok(tacit_tables_point_init(&point, &target, &err), err);
    double z[TACIT_TABLES_MAX_EFFECTS + 1], grad[TACIT_TABLES_MAX_EFFECTS + 1],
        other[TACIT_TABLES_MAX_EFFECTS + 1];
    for (size_t j = 0; j < target.dim; j++) {
      z[j] = 0.7 * tacit_rng_normal(rng);
    }
    if (tacit_tables_density(&point, z, grad) > -INFINITY) {
      for (size_t j = 0; j < target.dim; j++) {
        const double h = 1e-5;
        double at = z[j];
        z[j] = at + h;
        double above = tacit_tables_density(&point, z, other);
        z[j] = at - h;
        double below = tacit_tables_density(&point, z, other);
        z[j] = at;
        assert_close(grad[j], (above - below) / (2 * h), 2e-5 * (1 + fabs(grad[j])));
      }
    }
    for (size_t j = 0; j < target.dim; j++) { /* the determinant's slope at the centre */
      const double h = 1e-4;
      memcpy(point.at, target.centre, target.dim * sizeof *point.at);
      point.at[j] += h * (j < target.n_effects ? 1 : 100);
      (void)tacit_tables_density_at(&point, other);
      double above = tacit_tables_determinant(&point);
      point.at[j] -= 2 * h * (j < target.n_effects ? 1 : 100);
      (void)tacit_tables_density_at(&point, other);
      double below = tacit_tables_determinant(&point);
      assert_close(target.slope[j] * (j < target.n_effects ? 1 : 100), (above - below) / (2 * h),
                   1e-4 * (1 + fabs(target.slope[j])));
    }
    tacit_tables_point_clear(&point);
    tacit_tables_target_clear(&target);
    free(values);
    free(scales);
    tacit_tables_free(s.tables);
  }
}

static void test_gradients_are_those_of_differences(void **state) {
  (void)state;
  check_gradient(true);
  check_gradient(false);
}

/* Each cell's frequency is within 6 sd of its probability: false alarms below 1e-6 of 10 000 cells in all. */
static void test_rows_have_the_distribution_s_frequencies(void **state) {
  (void)state;
  enum { N = 20000 };
  cells_t *c = malloc(sizeof *c);
  uint16_t *rows = malloc(N * 8 * sizeof *rows);
  for (int round = 0; round < 12 * testing_multiplier(); round++) {
    scene_t s;
    tacit_error_t err = {0};
    make_scene(&s);
    enumerate(&s, c);
    double *seen = calloc(c->n, sizeof *seen);
    assert_ok(tacit_tables_draw(s.tables, s.theta, N, rng, rows, &err), err);
    for (size_t i = 0; i < N; i++) {
      size_t x[8];
      for (size_t j = 0; j < s.n_columns; j++) {
        x[j] = rows[i * s.n_columns + j];
        assert_true(x[j] < s.levels[j]);
      }
      seen[margin_cell(&s, (UINT32_C(1) << s.n_columns) - 1, x)]++;
    }
    for (size_t i = 0; i < c->n; i++) {
      assert_close(seen[i], N * c->weight[i], 6.5 * sqrt(N * c->weight[i]) + 8);
    }
    free(seen);
    tacit_tables_free(s.tables);
  }
  free(rows);
  free(c);
}

static void refuse(size_t n_columns, const size_t *levels, size_t n_margins, const uint32_t *margins,
                   const char *words) {
  tacit_tables_t *tables;
  tacit_error_t err = {0};
  tacit_margins_t m = {
      .n_columns = n_columns, .n_levels = levels, .n_margins = n_margins, .margins = margins};
  assert_int_equal(tacit_tables_new(&tables, &m, &err), TACIT_ERR_ARGUMENT);
  assert_null(tables);
  if (strstr(err.message, words) == NULL)
    fail_msg("'%s' does not say '%s'", err.message, words);
}

static void test_what_cannot_be_is_refused(void **state) {
  (void)state;
  size_t levels[31], many[3] = {40, 40, 40};
  uint32_t circle[500], n = 0;
  for (size_t j = 0; j < 31; j++) {
    levels[j] = 2;
  }
  refuse(2, levels, 1, (uint32_t[]){1}, "each column must be in a margin");
  refuse(1, levels, 1, (uint32_t[]){3}, "each column must be in a margin");
  refuse(2, levels, 2, (uint32_t[]){3, 3}, "margins 1 and 2 are of the same columns");
  refuse(31, levels, 1, (uint32_t[]){1}, "1 to 30 columns");
  refuse(1, (size_t[]){1}, 1, (uint32_t[]){1}, "2 to 1001 levels");
  for (size_t i = 0; i < 18; i++) {
    for (size_t j = 0; j < i; j++) {
      circle[n++] = UINT32_C(1) << i | UINT32_C(1) << j;
    }
  }
  refuse(18, levels, n, circle, "clique of 2.621e+05 cells");
  refuse(3, many, 3, (uint32_t[]){3, 5, 6}, "more than 1000 effects");
}

static void test_thirty_columns_in_a_window_are_small_cliques(void **state) {
  (void)state;
  size_t levels[30];
  uint32_t margins[28];
  tacit_tables_t *tables;
  tacit_error_t err = {0};
  for (size_t j = 0; j < 30; j++) {
    levels[j] = 2;
  }
  for (size_t j = 0; j < 28; j++) {
    margins[j] = UINT32_C(7) << j;
  }
  tacit_margins_t m = {.n_columns = 30, .n_levels = levels, .n_margins = 28, .margins = margins};
  assert_ok(tacit_tables_new(&tables, &m, &err), err);
  assert_int_equal(tacit_tables_largest_clique(tables), 8);
  assert_int_equal(tacit_tables_n_effects(tables), 30 + 29 + 28 + 28);
  tacit_tables_free(tables);
}

static void test_every_failed_allocation_is_an_error_return(void **state) {
  (void)state;
  size_t levels[] = {2, 3, 2};
  uint32_t margins[] = {3, 6};
  double values[] = {30, 20, 10, 5, 20, 15, 18, 17, 21, 19, 12, 13}, scales[12];
  tacit_status_t status = TACIT_ERR_MEMORY;
  for (size_t i = 0; i < 12; i++) {
    scales[i] = 3;
  }
  size_t k = 1;
  for (; status != TACIT_OK; k++) {
    tacit_tables_t *tables;
    tacit_draws_t draws = {0};
    tacit_error_t err = {0};
    uint16_t rows[30];
    tacit_margins_t m = {.n_columns = 3, .n_levels = levels, .n_margins = 2, .margins = margins};
    tacit_noisy_margins_t release = {.values = values, .scales = scales, .n_records = 100, .prior_sd = 2};
    tacit_augment_settings_t settings = tacit_augment_settings_default();
    settings.n_chains = 2;
    settings.n_warmup = settings.n_draws = 3;
    tacit_alloc_fail_at(k);
    status = tacit_tables_new(&tables, &m, &err);
    status = status == TACIT_OK ? tacit_tables_infer(tables, &release, &settings, &draws, NULL, NULL, &err)
                                : status;
    status = status == TACIT_OK ? tacit_tables_draw(tables, draws.values, 10, rng, rows, &err) : status;
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK || (status == TACIT_ERR_MEMORY && err.status == status));
    tacit_draws_clear(&draws);
    tacit_tables_free(tables);
    assert_true(k < 2000);
  }
  assert_true(k > 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_tree_adds_up_what_all_cells_add_up_to),
                                     cmocka_unit_test(test_effects_are_identified),
                                     cmocka_unit_test(test_gradients_are_those_of_differences),
                                     cmocka_unit_test(test_rows_have_the_distribution_s_frequencies),
                                     cmocka_unit_test(test_what_cannot_be_is_refused),
                                     cmocka_unit_test(test_thirty_columns_in_a_window_are_small_cliques),
                                     cmocka_unit_test(test_every_failed_allocation_is_an_error_return)};
  return cmocka_run_group_tests(tests, open_rng, close_rng);
}
