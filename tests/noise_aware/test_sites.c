/* Linear regressions of several sites: the posterior is one prior times the likelihoods of all. Seeds are
 * fixed, so that nothing fails by chance. */
#include <string.h>

#include "base/memory.h"
#include "noise_aware/simulation.h"
#include "testing.h"

enum { MAX_SITES = 3, D = 3, N_REPORTED = D + 1 };

static const double prior = 1 / (0.1 * 0.1); /* precision, of mean 0 */

/* Sites whose records are alike, each with noise of its own, and what they released. */
typedef struct sites {
  size_t n;
  simulation_t s;
  tacit_model_t model;
  tacit_noise_aware_settings_t settings[MAX_SITES];
  tacit_releases_t releases[MAX_SITES];
  tacit_draws_t alone[MAX_SITES];
} sites_t;

/* slope is added to the first feature's coefficient at site 1, twice at site 2; sds of residuals are
 * multiplied likewise. */
static tacit_records_t *records_of(const simulation_t *s, size_t site, double slope, double spread) {
  unsigned char key[32];
  tacit_error_t err;
  tacit_rng_t *rng;
  double theta[SIMULATION_MAX_DIM], *data = malloc(s->n * (s->d + 1) * sizeof *data);
  tacit_rng_key_from_seed(key, 20);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  simulation_truth(s, rng, theta);
  tacit_rng_free(rng);
  assert_ok(tacit_rng_new(&rng, key, 1 + site, &err), err);
  theta[1] += (double)site * slope;
  theta[s->d] += (double)site * spread; /* the residuals' sd */
  simulation_data(s, theta, rng, data);
  tacit_records_t *records = simulation_pack(data, s->n, 0, s->d + 1);
  tacit_rng_free(rng);
  free(data);
  return records;
}

static void open_sites(sites_t *of, size_t n_sites, size_t n, double epsilon, tacit_relation_t relation,
                       double slope, double spread) {
  tacit_error_t err;
  *of = (sites_t){.n = n_sites,
                  .s = {.family = TACIT_FAMILY_GAUSSIAN, .upper = 1, .truth = TRUTH_FIXED, .d = D, .n = n}};
  simulation_model(&of->s, &of->model);
  for (size_t i = 0; i < n_sites; i++) {
    tacit_budget_t *budget;
    tacit_noise_t *noise;
    tacit_curator_t *curator;
    tacit_noise_aware_settings_t *s = &of->settings[i];
    assert_ok(tacit_budget_new(&budget, epsilon, 1e-6, relation, &err), err);
    assert_ok(tacit_noise_new_seeded_not_private(&noise, 8 + i, &err), err);
    assert_ok(tacit_curator_new(&curator, records_of(&of->s, i, slope, spread), &of->model.records, budget,
                                noise, NULL, &err),
              err);
    *s = tacit_noise_aware_settings_default();
    s->family = TACIT_FAMILY_GAUSSIAN;
    s->n_units = (double)n;
    s->n_features = D;
    s->relation = relation;
    s->rho = tacit_budget_rho(budget) * (1 - 1e-9);
    s->n_chains = 2;
    s->n_warmup = 200;
    s->n_draws = 4000;
    s->releases = &of->releases[i];
    s->key[0] = (unsigned char)i;
    assert_ok(tacit_noise_aware_fit(curator, &of->model.parameters, s, &of->alone[i], &err), err);
    tacit_curator_free(curator);
    tacit_noise_free(noise);
    tacit_budget_free(budget);
  }
}

static void close_sites(sites_t *of) {
  for (size_t i = 0; i < of->n; i++) {
    tacit_releases_clear(&of->releases[i]);
    tacit_draws_clear(&of->alone[i]);
  }
  tacit_model_clear(&of->model);
}

static tacit_summary_t summary(const tacit_draws_t *draws, size_t j) {
  tacit_summary_t out;
  tacit_error_t err;
  assert_ok(tacit_draws_summarise(draws, j, &out, &err), err);
  assert_true(out.rhat < 1.03);
  return out;
}

/* Another sampler, another parametrisation, the same posterior. Half of the noise, or no prior of sigma,
 * moves it by more. */
static void test_one_site_alone_has_its_own_posterior(void **state) {
  (void)state;
  static const double budgets[] = {3, 1e4};
  for (size_t b = 0; b < 4; b++) {
    sites_t of;
    tacit_draws_t draws;
    tacit_error_t err;
    open_sites(&of, 1, 400, budgets[b / 2], b % 2 ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE, 0,
               0);
    assert_ok(tacit_noise_aware_combine(of.settings, 1, 0, &of.model.parameters, &draws, &err), err);
    assert_int_equal(draws.n_reported, N_REPORTED + 1); /* and the site's own sd, which is that of all */
    for (size_t j = 0; j < N_REPORTED; j++) {
      tacit_summary_t mine = summary(&draws, j), its = summary(of.alone, j);
      assert_close((mine.mean - its.mean) / its.sd, 0, 0.15);
      assert_close(mine.sd / its.sd, 1, 0.1);
      assert_close((mine.q5 - its.q5) / its.sd, 0, 0.4); /* of sigma at epsilon 3, whose tails are long */
      assert_close((mine.q95 - its.q95) / its.sd, 0, 0.4);
    }
    assert_close(summary(&draws, N_REPORTED).mean, summary(&draws, D).mean, 1e-12);
    tacit_draws_clear(&draws);
    close_sites(&of);
  }
}

/*
 * Precisions of all sites' likelihoods and of one prior, normal(0, 0.1), add up: sum of the sites' own less
 * the priors that count too often. With the prior in each likelihood sds are .8 of that.
 */
static void test_sites_have_one_prior_and_all_likelihoods(void **state) {
  (void)state;
  sites_t of;
  tacit_draws_t draws;
  tacit_error_t err;
  open_sites(&of, 3, 300, 20, TACIT_RELATION_SUBSTITUTE, 0, 0);
  assert_ok(tacit_noise_aware_combine(of.settings, 3, 0, &of.model.parameters, &draws, &err), err);
  for (size_t j = 1; j < D; j++) {
    double precision = prior, sum = 0;
    tacit_summary_t together = summary(&draws, j);
    for (size_t i = 0; i < 3; i++) {
      tacit_summary_t s = summary(&of.alone[i], j);
      precision += 1 / (s.sd * s.sd) - prior;
      sum += s.mean / (s.sd * s.sd);
    }
    assert_close(together.sd * sqrt(precision), 1, 0.12);
    assert_close((together.mean - sum / precision) / together.sd, 0, 0.4);
  }
  tacit_draws_clear(&draws);
  close_sites(&of);
}

/* Slopes .3 apart, sds of residuals .05, and budgets that hide nothing: each site's own are seen, and what is
 * drawn of all. */
static void test_sites_that_differ_keep_their_own(void **state) {
  (void)state;
  sites_t of;
  tacit_draws_t draws;
  tacit_error_t err;
  open_sites(&of, 3, 2000, 1e4, TACIT_RELATION_SUBSTITUTE, 0.3, 0.05);
  assert_ok(tacit_noise_aware_combine(of.settings, 3, 1, &of.model.parameters, &draws, &err), err);
  assert_int_equal(draws.n_reported, N_REPORTED + D + 3 * N_REPORTED);
  double variance = 0;
  for (size_t i = 0; i < 3; i++) {
    for (size_t j = 1; j < N_REPORTED;
         j += 2) { /* what differs: the first slope, without its prior, and the residuals' sd */
      tacit_summary_t own = summary(&draws, N_REPORTED + D + i * N_REPORTED + j),
                      alone = summary(&of.alone[i], j);
      double precision = 1 / (alone.sd * alone.sd),
             likelihood = j < D ? alone.mean * precision / (precision - prior) : alone.mean;
      assert_close((own.mean - likelihood) / alone.sd, 0, 0.3);
      assert_close(own.sd / alone.sd, 1, 0.15);
    }
    assert_true(summary(&draws, N_REPORTED + D + i * N_REPORTED).sd <
                summary(of.alone + i, 0).sd); /* and what does not gains from the others */
    double sd = summary(&of.alone[i], D).mean;
    variance += sd * sd / 3;
  }
  assert_close(summary(&draws, D).mean / sqrt(variance), 1, 0.01);
  assert_true(summary(&draws, N_REPORTED + 1).q5 > 0.2 &&
              summary(&draws, N_REPORTED).q5 < 0.02); /* the first slope differs, the intercept does not */
  tacit_draws_clear(&draws);
  close_sites(&of);
}

static void test_every_failed_allocation_is_an_error_return(void **state) {
  (void)state;
  sites_t of;
  tacit_draws_t draws;
  tacit_error_t err;
  open_sites(&of, 2, 300, 5, TACIT_RELATION_SUBSTITUTE, 0, 0);
  of.settings->n_warmup = of.settings->n_draws = 5;
  tacit_status_t status = TACIT_ERR_MEMORY;
  for (size_t k = 1; status != TACIT_OK; k++) {
    tacit_alloc_fail_at(k);
    status = tacit_noise_aware_combine(of.settings, 2, 0.5, &of.model.parameters, &draws, &err);
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK || status == TACIT_ERR_MEMORY);
    tacit_draws_clear(&draws);
  }
  close_sites(&of);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_site_alone_has_its_own_posterior),
                                     cmocka_unit_test(test_sites_have_one_prior_and_all_likelihoods),
                                     cmocka_unit_test(test_sites_that_differ_keep_their_own),
                                     cmocka_unit_test(test_every_failed_allocation_is_an_error_return)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
