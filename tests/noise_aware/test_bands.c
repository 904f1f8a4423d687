/* What bands tell, against what was counted and summed: cells, counts, bands that are chosen, moments, sums
 * of scores and their squares. */
#include "noise_aware/bands.h"
#include "testing.h"

enum { D = 3, N = 20000 };

static uint64_t state;

static double uniform(void) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

/* Scores with tails: normal ones, a share of which is longer by a factor and leans to one side. */
static void any_scores(double share, double factor, double (*scores)[D]) {
  for (size_t i = 0; i < N; i++) {
    bool is_far = uniform() < share;
    for (size_t j = 0; j < D; j++) {
      scores[i][j] = normal() * (is_far ? factor : 1) + (is_far && j == 1 ? 0.5 * factor : 0);
    }
  }
}

static double length_of(const double *v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* Counts with noise; far: where cells that are far end, 0: there are none. */
static void count_far(double (*scores)[D], double noise_sd, double top, double far, tacit_band_lengths_t *l) {
  double inner[BAND_CELLS];
  tacit_band_cells(l, sqrt(D), top);
  tacit_band_add_far(l, 4, far);
  tacit_band_inner_edges(l, inner);
  for (size_t i = 0; i < N; i++) {
    size_t k = 0;
    while (k + 1 < l->n && length_of(scores[i]) > inner[k]) {
      k++;
    }
    l->counts[k]++;
  }
  for (size_t k = 0; k < l->n; k++) {
    l->counts[k] += noise_sd * normal();
  }
  l->noise_sd = noise_sd;
  assert_true(tacit_band_learn_counts(l, N));
}

static void count(double (*scores)[D], double noise_sd, double top, tacit_band_lengths_t *l) {
  count_far(scores, noise_sd, top, 0, l);
}

static void test_cells_reach_the_top(void **unused) {
  (void)unused;
  for (double top = 0.1; top < 1e12; top *= 7) {
    tacit_band_lengths_t l;
    tacit_band_cells(&l, 2, top);
    assert_true(l.n >= 5 && l.n <= BAND_CELLS && l.edges[0] >= 0 && l.edges[l.n] >= top);
    for (size_t k = 0; k < l.n; k++) {
      assert_true(l.edges[k] < l.edges[k + 1]);
    }
  }
}

/* Posterior means of counts lie within their own sds of what was counted; beyond the last record there is
 * next to nobody; exact counts are kept. */
static void test_counts_are_told_from_noise(void **unused) {
  (void)unused;
  static double scores[N][D];
  double square = 0, n = 0;
  state = 1;
  for (size_t run = 0; run < 30; run++) {
    tacit_band_lengths_t exact, noisy;
    double noise = run % 3 == 0 ? 5 : run % 3 == 1 ? 40 : 200;
    any_scores(run % 2 ? 0.01 : 0, 8, scores);
    count(scores, 0, 200, &exact);
    count(scores, noise, 200, &noisy);
    for (size_t k = 0; k < exact.n; k++) {
      double counted = exact.counts[k], sd = sqrt(fmax(noisy.square[k] - noisy.mean[k] * noisy.mean[k], 0) +
                                                  counted + 0.01 * counted * counted + 1);
      square += pow((noisy.mean[k] - counted) / sd, 2);
      n++;
      assert_close(exact.mean[k], counted, 0.15 * counted + 0.5);
      assert_true(fabs(noisy.mean[k] - counted) < 6 * sd);
    }
    assert_true(noisy.mean[noisy.n - 1] < 0.5 + 0.1 * noise);
  }
  print_message("mean square %.3f\n", square / n);
  assert_true(square / n < 1.5);
}

static void test_bands_cover_all_cells(void **unused) {
  (void)unused;
  static double scores[N][D];
  size_t last = 0;
  state = 2;
  any_scores(0.02, 10, scores);
  tacit_band_lengths_t l;
  count(scores, 10, 200, &l);
  for (double noise = 1e-3; noise < 1e4; noise *= 10) {
    tacit_band_split_t split[2];
    tacit_band_split_scores(&l, D, noise, N, 2 * N, 0, 0.3, &split[0]);
    tacit_band_split_squares(&l, D, noise, &split[1]);
    for (size_t i = 0; i < 2; i++) {
      assert_true(split[i].n >= 1 && split[i].first[0] == 0 && split[i].first[split[i].n] == l.n);
      assert_close(split[i].radii[split[i].n - 1], l.edges[l.n] * l.unit, 1e-9);
      for (size_t b = 1; b < split[i].n; b++) {
        assert_true(split[i].radii[b] > split[i].radii[b - 1] && split[i].first[b] < split[i].first[b + 1]);
      }
    }
    assert_true(noise < 0.5 || split[0].first[1] <= last); /* the more noise, the smaller the core */
    last = split[0].first[1];
  }
}

/* svec of (1, v / radius), or of v / radius, by bands. */
static void release(double (*scores)[D], const tacit_band_split_t *split, bool has_count, double noise_sd,
                    double *out) {
  size_t m = D + has_count, n = m * (m + 1) / 2;
  memset(out, 0, split->n * n * sizeof *out);
  for (size_t i = 0; i < N; i++) {
    size_t b = 0, at = 0;
    double w[D + 1] = {1};
    while (b + 1 < split->n && length_of(scores[i]) > split->radii[b]) {
      b++;
    }
    for (size_t j = 0; j < D; j++) {
      w[has_count + j] = scores[i][j] / split->radii[b];
    }
    for (size_t j = 0; j < m; j++) {
      for (size_t k = j; k < m; k++, at++) {
        out[b * n + at] += w[j] * w[k] * (j == k ? 1 : sqrt(2));
      }
    }
  }
  for (size_t a = 0; a < split->n * n; a++) {
    out[a] += noise_sd * normal();
  }
}

/* All releases of scores: lengths, and by these bands. */
static void release_scores(double (*scores)[D], double sd, double top, tacit_band_lengths_t *l,
                           tacit_band_split_t *split, double *values) {
  count(scores, sd, top, l);
  tacit_band_split_scores(l, D, sd / sqrt(2), N, 2 * N, 0, 0.3, split);
  release(scores, split, true, sd, values);
}

/* Without noise sums and squares are the records' own; with it they are off by their own sds, not more, and
 * by noise alone where none is in the tails. */
static void test_sums_are_off_by_their_own_sds(void **unused) {
  (void)unused;
  static double scores[N][D], values[BAND_CELLS * BAND_PACKED];
  static tacit_band_tails_t tails;
  double identity[D * D] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, square = 0, wide[4] = {0}, n = 0;
  state = 3;
  for (size_t run = 0; run < 64; run++) {
    double sum[D] = {0}, second[D * D] = {0},
           sd = run % 4 == 0   ? 1e-9
                : run % 4 == 1 ? 5
                : run % 4 == 2 ? 30
                               : 150;
    bool has_tails = run / 4 % 2;
    any_scores(has_tails ? 0.005 : 0, 12, scores);
    for (size_t i = 0; i < N; i++) {
      for (size_t a = 0; a < D * D; a++) {
        sum[a / D] += a % D == 0 ? scores[i][a / D] / N : 0;
        second[a] += scores[i][a / D] * scores[i][a % D] / N;
      }
    }
    tacit_band_lengths_t l;
    tacit_band_split_t split;
    release_scores(scores, sd, 200, &l, &split, values);
    const tacit_band_scores_t of = {&l, &split, D, D, N, values, sd, NULL, identity, 0, 0};
    assert_true(tacit_band_learn_scores(&of, &tails));
    for (size_t j = 0; j < D; j++) {
      double var = tails.core_var + tails.tail_cov[j * D + j];
      square += sd > 1 ? pow(tails.sum[j] - sum[j], 2) / var : 0;
      n += sd > 1;
      wide[run % 4] +=
          has_tails ? 0 : sqrt(1 + N * var) / (D * 8); /* with that of sampling; 32 of the runs have none */
      if (sd < 1) {
        assert_close(tails.sum[j], sum[j], 1e-6);
        assert_close(tails.squares[j * D + j], second[j * D + j], 1e-4);
      } else if (sd < 10) {
        assert_close(tails.squares[j * D + j] / second[j * D + j], 1,
                     has_tails ? 6 : 0.8); /* few more records far out are not ruled out */
      }
    }
  }
  print_message("mean square %.3f, width without tails %.3f %.3f %.3f\n", square / n, wide[1], wide[2],
                wide[3]);
  assert_true(square / n < 2 && wide[1] < 1.2 && wide[2] < 4);
}

/* Where bounds are many times as wide as records, a few of those at a bound would decide, and are not to be
 * thought of as likely. */
static void test_wide_bounds_cost_little(void **unused) {
  (void)unused;
  static double scores[N][D], values[BAND_CELLS * BAND_PACKED];
  static tacit_band_tails_t tails;
  const double identity[D * D] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, sd = 30;
  const tacit_band_guess_t guess = {0.36, 0.16, NULL, NULL};
  double wide = 0, moments[D * D], variances[D * D], off = 0;
  state = 5;
  for (size_t run = 0; run < 24; run++) {
    any_scores(0, 1, scores);
    tacit_band_lengths_t l;
    tacit_band_split_t split;
    release_scores(scores, sd, 3000, &l, &split, values);
    const tacit_band_scores_t of = {&l, &split, D, D, N, values, sd, NULL, identity, 0, 0};
    assert_true(tacit_band_learn_scores(&of, &tails));
    wide += sqrt(1 + N * (tails.core_var + tails.tail_cov[0])) / 24;
    count(scores, 3 * sd, 60, &l);
    l.are_far_rare = true;
    assert_true(tacit_band_learn_counts(&l, N));
    tacit_band_split_squares(&l, D, sd, &split);
    release(scores, &split, false, sd, values);
    tacit_band_squares(&l, &split, D, N, values, sd, &guess, moments, variances);
    off += N * variances[1] / 24;
  }
  print_message("width %.2f, variance of moments %.3g of sampling\n", wide, off);
  assert_true(wide < 3 && off < 400);
}

/* Rows of D normal numbers, times a normal residual each. */
static void any_products(double share, double factor, double (*scores)[D]) {
  any_scores(share, factor, scores);
  for (size_t i = 0; i < N; i++) {
    double residual = normal();
    for (size_t j = 0; j < D; j++) {
      scores[i][j] *= residual;
    }
  }
}

/* Number of vectors in each band. */
static void fill_numbers(double (*scores)[D], const tacit_band_split_t *split, double *numbers) {
  memset(numbers, 0, split->n * sizeof *numbers);
  for (size_t i = 0; i < N; i++) {
    size_t b = 0;
    while (b + 1 < split->n && length_of(scores[i]) > split->radii[b]) {
      b++;
    }
    numbers[b]++;
  }
}

/* Told how many bands hold, where that is right, their numbers are known better; where it is wrong, counts
 * say so, and sums are off by their own errors. */
static void test_what_a_model_says_of_tails_is_one_of_the_scenarios(void **unused) {
  (void)unused;
  static double scores[N][D], likely[N][D], values[BAND_CELLS * BAND_PACKED];
  static tacit_band_tails_t tails;
  const double identity[D * D] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, sd = 20;
  double off[2] = {0}, square = 0, n = 0;
  state = 6;
  any_products(0, 1, likely);
  for (size_t run = 0; run < 48; run++) {
    double said[BAND_CELLS], numbers[BAND_CELLS], sum = 0;
    bool is_right = run % 2 == 0;
    any_products(is_right ? 0 : 0.01, 8, scores);
    tacit_band_lengths_t l;
    tacit_band_split_t split;
    release_scores(scores, sd, 100, &l, &split, values);
    fill_numbers(likely, &split, said);
    fill_numbers(scores, &split, numbers);
    for (size_t i = 0; i < N; i++) {
      sum += scores[i][1] / N;
    }
    for (size_t is_told = 0; is_told < 2; is_told++) {
      const tacit_band_scores_t of = {&l, &split, D, D, N, values, sd, is_told ? said : NULL, identity, 0, 0};
      assert_true(tacit_band_learn_scores(&of, &tails));
      for (size_t b = 1; b < split.n; b++) {
        off[is_told] += is_right ? pow(tails.records[b] - numbers[b], 2) : 0;
      }
      square += is_told ? pow(tails.sum[1] - sum, 2) / (tails.core_var + tails.tail_cov[D + 1]) : 0;
      n += (double)is_told;
    }
  }
  print_message("numbers off by %.3g, told %.3g; mean square told %.3f\n", off[0], off[1], square / n);
  assert_true(off[1] < 0.5 * off[0] && square / n < 2);
}

/* Far bands, in which nobody is usually, cost nothing; who is seen there counts in full, and who is not is
 * counted as hidden by as much. */
static void test_far_bands_count_who_is_seen(void **unused) {
  (void)unused;
  static double scores[N][D], values[BAND_CELLS * BAND_PACKED];
  static tacit_band_tails_t tails;
  const double identity[D * D] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, sd = 8, length = 3000;
  double square = 0, n = 0;
  state = 8;
  for (size_t run = 0; run < 40; run++) {
    size_t n_far = run % 2 * 60, at = 0;
    double sum = 0;
    any_scores(0, 1, scores);
    for (size_t i = 0; i < n_far; i++) {
      scores[i][1] = length;
    }
    for (size_t i = 0; i < N; i++) {
      sum += scores[i][1] / N;
    }
    tacit_band_lengths_t l;
    tacit_band_split_t split, near_split;
    count_far(scores, 2 * sd, 64, 60000, &l);
    tacit_band_split_scores(&l, D, sd / sqrt(2), N, 2 * N, 0, 0.3, &split);
    assert_true(split.n - split.n_near == l.n - l.n_near && split.first[split.n] == l.n);
    near_split = split;
    near_split.n = split.n_near;
    release(scores, &split, true, sd, values);
    const tacit_band_scores_t of = {&l, &split, D, D, N, values, sd, NULL, identity, 0, 0};
    assert_true(tacit_band_learn_scores(&of, &tails));
    while (split.radii[at] < length) {
      at++;
    }
    assert_true(fabs(tails.counted[at] - (double)n_far) < 6 * tails.count_sd[at]);
    bool is_any_seen = false;
    for (size_t b = split.n_near; b < split.n; b++) {
      assert_true(b == at && n_far > 0 ? fabs(tails.records[b] - (double)n_far) < 6 * sd
                                       : tails.records[b] < sd);
      is_any_seen = is_any_seen || tails.counted[b] > 3 * tails.count_sd[b];
    }
    if (n_far > 0) {
      square += pow(tails.sum[1] - sum, 2) / (tails.core_var + tails.tail_cov[D + 1]);
      n++;
    } else if (!is_any_seen) { /* as if these bands were not there */
      tacit_band_tails_t near;
      const tacit_band_scores_t near_of = {&l, &near_split, D, D, N, values, sd, NULL, identity, 0, 0};
      assert_true(tacit_band_learn_scores(&near_of, &near));
      assert_close(tails.sum[1], near.sum[1], 1e-12);
      assert_close(tails.tail_cov[D + 1], near.tail_cov[D + 1], 1e-12);
    }
  }
  print_message("mean square %.3f of %g\n", square / n, n);
  assert_true(square / n < 2);
}

/* A count of all beyond the core, of less noise than those of bands, tells tails from none. */
static void test_a_count_beyond_the_core_tells_of_tails(void **unused) {
  (void)unused;
  static double scores[N][D], values[BAND_CELLS * BAND_PACKED];
  static tacit_band_tails_t tails;
  const double identity[D * D] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, sd = 30;
  double off[2] = {0}, square[2] = {0};
  state = 9;
  for (size_t run = 0; run < 40; run++) {
    double sum = 0, numbers[BAND_CELLS], beyond = 0;
    any_scores(run % 2 ? 0.005 : 0, 12, scores);
    for (size_t i = 0; i < N; i++) {
      sum += scores[i][1] / N;
    }
    tacit_band_lengths_t l;
    tacit_band_split_t split;
    release_scores(scores, sd, 100, &l, &split, values);
    fill_numbers(scores, &split, numbers);
    for (size_t b = 1; b < split.n; b++) {
      beyond += numbers[b];
    }
    for (size_t is_told = 0; is_told < 2; is_told++) {
      double told_sd = is_told ? 5 : 0, told = 0;
      const tacit_band_scores_t of = {
          &l,     &split, D, D, N, values, sd, NULL, identity, told_sd > 0 ? beyond + told_sd * normal() : 0,
          told_sd};
      assert_true(tacit_band_learn_scores(&of, &tails));
      for (size_t b = 1; b < split.n; b++) {
        told += tails.records[b];
      }
      off[is_told] += pow(told - beyond, 2);
      square[is_told] += pow(tails.sum[1] - sum, 2) / (tails.core_var + tails.tail_cov[D + 1]) / 40;
    }
  }
  print_message("numbers off by %.3g, told %.3g; mean squares %.3f, %.3f\n", sqrt(off[0] / 40),
                sqrt(off[1] / 40), square[0], square[1]);
  assert_true(off[1] < 0.25 * off[0] && square[1] < 2);
}

static void test_moments_are_those_of_vectors(void **unused) {
  (void)unused;
  static double scores[N][D], values[BAND_CELLS * BAND_PACKED];
  const tacit_band_guess_t guess = {0.36, 0.16, NULL, NULL};
  double moments[D * D], variances[D * D], square = 0, n = 0;
  state = 4;
  for (size_t run = 0; run < 40; run++) {
    double second[D * D] = {0}, sd = run % 2 ? 0 : 20;
    any_scores(0.002, 5, scores);
    for (size_t i = 0; i < N * D * D; i++) {
      second[i % (D * D)] += scores[i / (D * D)][i % (D * D) / D] * scores[i / (D * D)][i % D] / N;
    }
    tacit_band_lengths_t l;
    tacit_band_split_t split;
    count(scores, 20, 20, &l);
    tacit_band_split_squares(&l, D, fmax(sd, 0.1), &split);
    release(scores, &split, false, sd, values);
    tacit_band_squares(&l, &split, D, N, values, sd, &guess, moments, variances);
    for (size_t a = 0; a < D * D; a++) {
      square += sd > 0 ? pow(moments[a] - second[a], 2) / variances[a] : 0;
      n += sd > 0;
      assert_true(sd > 0 || fabs(moments[a] - second[a]) < 1e-9);
    }
  }
  print_message("mean square %.3f\n", square / n);
  assert_true(square / n > 0.4 && square / n < 1.6);
}

/* Where noise leaves open who is far out, that all squares together are near the identity says it. */
static void test_moments_that_are_known_together(void **unused) {
  (void)unused;
  static double scores[N][D], values[BAND_CELLS * BAND_PACKED];
  const double sd = 100, one[D] = {1, 1, 1}, none[D] = {0};
  double square = 0, told[2] = {0}, n = 0;
  state = 6;
  for (size_t run = 0; run < 40; run++) {
    double moments[D * D], variances[D * D];
    any_scores(0, 1, scores);
    tacit_band_lengths_t l;
    tacit_band_split_t split;
    count(scores, 60, 20, &l);
    tacit_band_split_squares(&l, D, sd, &split);
    release(scores, &split, false, sd, values);
    for (int is_of_all = 0; is_of_all < 2; is_of_all++) {
      const tacit_band_guess_t guess = {0.04, 0.02, is_of_all ? one : NULL, none};
      tacit_band_squares(&l, &split, D, N, values, sd, &guess, moments, variances);
      for (size_t a = 0; a < D * D; a++) {
        told[is_of_all] += variances[a];
      }
    }
    for (size_t a = 0; a < D * D; a++, n++) { /* sampling is next to nothing */
      square += pow(moments[a] - (a / D == a % D), 2) / variances[a];
    }
  }
  print_message("variance told %.3g, band by band %.3g; mean square %.3f\n", told[1] / n, told[0] / n,
                square / n);
  assert_true(told[1] < 0.5 * told[0] && square / n < 0.35);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cells_reach_the_top),
      cmocka_unit_test(test_counts_are_told_from_noise),
      cmocka_unit_test(test_bands_cover_all_cells),
      cmocka_unit_test(test_sums_are_off_by_their_own_sds),
      cmocka_unit_test(test_wide_bounds_cost_little),
      cmocka_unit_test(test_what_a_model_says_of_tails_is_one_of_the_scenarios),
      cmocka_unit_test(test_far_bands_count_who_is_seen),
      cmocka_unit_test(test_a_count_beyond_the_core_tells_of_tails),
      cmocka_unit_test(test_moments_are_those_of_vectors),
      cmocka_unit_test(test_moments_that_are_known_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
