/* Programs behind the door: the pieces' sums are the gradients' sums, on any number of threads and every
 * instruction set. */
#include "base/isa.h"
#include "curator/curator.h"
#include "data/records.h"
#include "program_testing.h"

static void ok(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    fail_msg("%s", err->message);
  }
}

/* (1 | g) with x beside it, an ordered outcome, and a second predictor of some of the features. */
static tacit_graph_t *mixed_graph(void) {
  enum { D = 6, GROUPS = 40 };
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t x[D], beta[D], gamma[3], alpha[GROUPS], c[3], group = column(g, "g", 1, GROUPS, true),
                                                             y = column(g, "y", 1, 4, true);
  features(g, D, x);
  parameters(g, "alpha", TACIT_CONSTRAINT_NONE, GROUPS, alpha);
  parameters(g, "beta", TACIT_CONSTRAINT_NONE, D, beta);
  parameters(g, "gamma", TACIT_CONSTRAINT_NONE, 3, gamma);
  parameters(g, "c", TACIT_CONSTRAINT_ORDERED, 3, c);
  tacit_node_t eta = add(g, tacit_graph_dot(g, D, x, beta), tacit_graph_index(g, group, GROUPS, alpha));
  tacit_node_t scale = op1(g, TACIT_OP_LOG1P_EXP, tacit_graph_dot(g, 3, x + 2, gamma)),
               inf = number(g, INFINITY);
  tacit_node_t high = tacit_graph_index(g, y, 4, (tacit_node_t[]){c[0], c[1], c[2], inf});
  tacit_node_t low = tacit_graph_index(g, y, 4, (tacit_node_t[]){number(g, -INFINITY), c[0], c[1], c[2]});
  tacit_graph_add_record_term(g, op1(g, TACIT_OP_LOG1M_EXP, sub(g, low, high)));
  tacit_graph_add_record_term(g, op1(g, TACIT_OP_NEG, op1(g, TACIT_OP_LOG1P_EXP, sub(g, eta, high))));
  tacit_graph_add_record_term(g, op1(g, TACIT_OP_NEG, op1(g, TACIT_OP_LOG1P_EXP, sub(g, low, eta))));
  tacit_graph_add_record_term(g, op1(g, TACIT_OP_NEG, scale));
  return g;
}

static tacit_records_t *records_of(const tacit_compiled_t *p, size_t n, uint64_t seed) {
  tacit_error_t err;
  tacit_records_t *records;
  size_t n_columns = p->layout.n_columns;
  float *blocks = random_blocks(p, (n + 15) / 16 * 16, seed);
  ok(tacit_records_new(&records, n, n_columns, &err), &err);
  for (size_t i = 0; i < n; i++) {
    double x[64];
    for (size_t j = 0; j < n_columns; j++) {
      x[j] = (double)blocks[(i / 16 * n_columns + j) * 16 + i % 16];
    }
    tacit_records_set(records, i, x);
  }
  free(blocks);
  return records;
}

static void sums(const tacit_compiled_t *p, const tacit_record_model_t *model, size_t n_threads, double clip,
                 size_t n_theta, const double *theta, double *out, double *ratio) {
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.n_threads = n_threads;
  settings.clip_bound_grad = settings.clip_bound_ratio = clip;
  tacit_curator_t *curator;
  ok(tacit_curator_new_exposed(&curator, records_of(p, 1003, 4), model, &settings, &err), &err);
  ok(tacit_curator_release_gradient(curator, n_theta, theta, 0, out, &err), &err);
  double noise_sd[8], *prop = malloc(n_theta * model->dim * sizeof *prop);
  for (size_t i = 0; i < n_theta * model->dim; i++) {
    prop[i] = theta[i] + 0.01;
  }
  ok(tacit_curator_release_log_ratio(curator, n_theta, theta, prop, 0, ratio, noise_sd, &err), &err);
  free(prop);
  tacit_curator_free(curator);
}

static void test_pieces_are_the_gradient(void **state) {
  tacit_compiled_t *p = compiled(mixed_graph());
  tacit_model_t model = tacit_compiled_model(p);
  enum { K = 3 };
  size_t dim = model.records.dim, n_kinds[3] = {0};
  uint64_t seed = 8;
  double *theta = malloc(K * dim * sizeof *theta), *in_pieces = malloc(K * dim * sizeof *theta),
         *dense = malloc(K * dim * sizeof *theta);
  double *other = malloc(K * dim * sizeof *theta), ratios[2][K];
  for (size_t i = 0; i < K * dim; i++) {
    theta[i] = 2 * uniform(&seed) - 1;
  }
  for (size_t i = 0; i < model.records.n_pieces; i++) {
    n_kinds[model.records.pieces[i].kind]++;
  }
  assert_true(n_kinds[0] >= 3 && n_kinds[1] == 2 &&
              n_kinds[2] == 1); /* cut points; x and some of it; groups */
  assert_true(isfinite(model.records.grad_bound));
  for (int round = 0; round < 3; round++) { /* everything clipped, nothing clipped, exposed sums */
    double clip = round == 0 ? 0.5 : round == 1 ? 50 : 0, unit = round == 2 ? 0x1p-24 : clip * 0x1p-20;
    tacit_record_model_t without = model.records;
    without.n_pieces = 0;
    sums(p, &model.records, 1, clip, K, theta, in_pieces, ratios[0]);
    sums(p, &without, 1, clip, K, theta, dense, ratios[1]);
    for (size_t i = 0; i < K * dim;
         i++) { /* a clipped norm is summed in another order: 1003 records, a unit or two each */
      assert_true(fabs(in_pieces[i] - dense[i]) <= 1003 * unit * (round == 0 ? 4 : 2));
    }
    for (size_t n_threads = 2; n_threads <= 3; n_threads++) {
      sums(p, &model.records, n_threads, clip, K, theta, other, ratios[1]);
      assert_memory_equal(in_pieces, other, K * dim * sizeof *other);
      assert_memory_equal(ratios[0], ratios[1], sizeof ratios[0]);
    }
#if defined(__x86_64__)
    for (int isa = TACIT_ISA_PORTABLE; isa <= TACIT_ISA_AVX512; isa++) {
      tacit_isa_limit((tacit_isa_t)isa);
      tacit_compiled_t *again = compiled(mixed_graph());
      tacit_model_t same = tacit_compiled_model(again);
      sums(again, &same.records, 2, clip, K, theta, other, ratios[1]);
      assert_memory_equal(in_pieces, other, K * dim * sizeof *other);
      assert_memory_equal(ratios[0], ratios[1], sizeof ratios[0]);
      tacit_compiled_free(again);
    }
    tacit_isa_limit(TACIT_ISA_AVX512);
#endif
  }
  free(theta);
  free(in_pieces);
  free(dense);
  free(other);
  tacit_compiled_free(p);
}

/* Pieces that overlap would be longer than their norm says: refused, before anything is summed. */
static void test_overlapping_pieces_are_refused(void **state) {
  tacit_compiled_t *p = compiled(mixed_graph());
  tacit_model_t model = tacit_compiled_model(p);
  tacit_piece_t list[64];
  memcpy(list, model.records.pieces, model.records.n_pieces * sizeof *list);
  for (size_t change = 0; change < 4; change++) {
    tacit_piece_t kept = list[0];
    tacit_error_t err;
    list[0].parameter = change == 0 ? list[1].parameter : change == 1 ? model.records.dim : kept.parameter;
    list[0].row = change == 2 ? model.records.n_rows : kept.row;
    list[0].kind = change == 3 ? TACIT_PIECE_LINEAR : kept.kind;
    list[0].column = change == 3 ? SIZE_MAX : kept.column;
    tacit_record_model_t wrong = model.records;
    wrong.pieces = list;
    tacit_curator_t *curator;
    ok(tacit_curator_new_exposed(&curator, records_of(p, 40, 1), &wrong, NULL, &err), &err);
    double theta[128] = {0}, out[128];
    assert_int_equal(tacit_curator_release_gradient(curator, 1, theta, 0, out, &err), TACIT_ERR_ARGUMENT);
    tacit_curator_free(curator);
    list[0] = kept;
  }
  tacit_compiled_free(p);
}

/* Groups do not make a record longer: the bound of (1 | g) is that of one coefficient more. */
static void test_groups_do_not_grow_the_bound(void **state) {
  double bound[2];
  for (int i = 0; i < 2; i++) {
    enum { D = 9 };
    size_t n_groups = i == 0 ? 2 : 400;
    tacit_graph_t *g = tacit_graph_new();
    tacit_node_t x[D], beta[D], alpha[400], group = column(g, "g", 1, (double)n_groups, true),
                                            y = column(g, "y", 0, 1, true);
    features(g, D, x);
    parameters(g, "alpha", TACIT_CONSTRAINT_NONE, n_groups, alpha);
    parameters(g, "beta", TACIT_CONSTRAINT_NONE, D, beta);
    tacit_node_t eta = add(g, tacit_graph_dot(g, D, x, beta), tacit_graph_index(g, group, n_groups, alpha));
    tacit_graph_add_record_term(g, sub(g, mul(g, y, eta), op1(g, TACIT_OP_LOG1P_EXP, eta)));
    tacit_compiled_t *p = compiled(g);
    bound[i] = tacit_compiled_grad_bound(p, NULL);
    assert_int_equal(p->n_pieces, 2);
    tacit_compiled_free(p);
  }
  assert_true(bound[0] >= bound[1] && bound[0] <= bound[1] && fabs(bound[0] - sqrt(10)) < 1e-4);
}

/* Squared scores stay within their public bounds, and are, on average, what curvature is: logistic at 0, y a
 * fair coin: x_j^2 / 4. */
static void test_curvature(void **state) {
  enum { D = 4, DIM = D + 1, N = 4000 };
  tacit_compiled_t *p = compiled(logistic_graph(D));
  tacit_model_t model = tacit_compiled_model(p);
  tacit_error_t err;
  tacit_curator_t *curator;
  tacit_records_t *records = records_of(p, N, 6);
  double theta[DIM] = {0}, out[DIM], noise_sd[DIM], bound[DIM], expected[DIM] = {0};
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < DIM; j++) {
      double x = j == 0 ? 1 : (double)tacit_records_block(records, i / 16)[(j - 1) * 16 + i % 16];
      expected[j] += x * x / 4;
    }
  }
  ok(tacit_curator_new_exposed(&curator, records, &model.records, NULL, &err), &err);
  ok(tacit_curator_release_curvature(curator, theta, 0, out, noise_sd, &err), &err);
  model.records.curvature_bound(model.records.ctx, theta, bound);
  for (size_t j = 0; j < DIM; j++) {
    assert_true(fabs(bound[j] - 1) < 1e-4 && fabs(out[j] / expected[j] - 1) < 1e-4);
  }
  tacit_curator_free(curator);
  tacit_compiled_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pieces_are_the_gradient),
      cmocka_unit_test(test_overlapping_pieces_are_refused),
      cmocka_unit_test(test_groups_do_not_grow_the_bound),
      cmocka_unit_test(test_curvature),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
