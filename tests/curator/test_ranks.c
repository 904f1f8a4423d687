/*
 * Every kind of release, to the last bit the same for 1, 2 and 4 ranks, 1 and 2 threads each, every
 * instruction set, and with records in memory (of 1 thread) or in a file (of 2). Ranks are threads here that
 * meet at a barrier to add their numbers; the program's own are processes (src/cli/ranks.c).
 */
#include <pthread.h>
#include <string.h>

#include "base/isa.h"
#include "data/records.h"
#include "support.h"

enum { n_records = 5003, n_features = 4, dim = n_features, n_theta = 2, most_ranks = 4, n_bits = 12 };

/* ---- ranks in one process ---- */

typedef struct meeting {
  pthread_barrier_t barrier;
  int64_t *numbers[most_ranks];
  size_t n_ranks;
} meeting_t;

typedef struct seat {
  meeting_t *meeting;
  size_t rank;
} seat_t;

static void sum(void *user, size_t n, int64_t *numbers) {
  const seat_t *seat = user;
  meeting_t *m = seat->meeting;
  int64_t *total = malloc(n * sizeof *total);
  m->numbers[seat->rank] = numbers;
  pthread_barrier_wait(&m->barrier);
  for (size_t i = 0; i < n; i++) {
    total[i] = 0;
    for (size_t r = 0; r < m->n_ranks; r++) {
      total[i] += m->numbers[r][i];
    }
  }
  pthread_barrier_wait(&m->barrier);
  memcpy(numbers, total, n * sizeof *total);
  free(total);
}

/* ---- what one rank does ---- */

typedef struct releases {
  double grad[n_theta * dim], ratio[n_theta], ratio_sd[n_theta], sampled_grad[n_theta * dim],
      sampled_ratio[n_theta], sampled_sd[n_theta], moments[dim * (dim + 1) / 2], moments_sd, score[dim],
      score_sd, unit_grad[n_theta * dim], unit_ratio[n_theta], total, total_scale;
  bool bits[n_bits], minibatch_bits[n_bits], full_bits[n_bits], langevin_bits[n_bits];
  size_t n_units[2];
  uint64_t n_grad_clipped, n_ratio_clipped; /* of the sums over all records */
} releases_t;

typedef struct job {
  seat_t seat;
  tacit_ranks_t ranks;
  size_t n_threads;
  bool lacks_bits;
  releases_t releases;
  tacit_status_t status;
  tacit_error_t err;
} job_t;

/* This rank's share of n records, in whole units of three rows if has_units. */
static tacit_records_t *share(const job_t *job, bool has_units, size_t n_columns) {
  size_t unit = has_units ? 3 : TACIT_RANK_ALIGNMENT, n_groups = (n_records + unit - 1) / unit,
         r = job->ranks.rank;
  size_t from = n_groups * r / job->ranks.n_ranks * unit, to = n_groups * (r + 1) / job->ranks.n_ranks * unit;
  to = to < n_records ? to : n_records;
  tacit_records_t *all = support_logistic(n_records, n_features, 11), *records;
  tacit_error_t err;
  assert_ok(tacit_records_new_in(&records, to - from, n_columns, job->n_threads == 2 ? "/tmp" : NULL, &err),
            err);
  for (size_t i = from; i < to; i++) {
    double x[n_features + 1];
    for (size_t j = 0; j < n_columns; j++) {
      x[j] = (double)tacit_records_block(all, i / 16)[j * 16 + i % 16];
    }
    tacit_records_set(records, i - from, x);
  }
  tacit_records_free(all);
  if (has_units) {
    size_t *offsets = malloc((to - from) * sizeof *offsets + 16), n_units = 0;
    for (size_t at = 0; at < to - from; at = at + 3 < to - from ? at + 3 : to - from) {
      offsets[n_units++] = at;
    }
    offsets[n_units] = to - from;
    assert_ok(tacit_records_set_units(records, offsets, n_units, &err), err);
    free(offsets);
  }
  return records;
}

typedef struct box {
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
} box_t;

/* A private curator over this rank's records; event: its schedule, or NULL for Gaussian releases. */
static void box_open(box_t *box, job_t *job, const tacit_record_model_t *model, bool has_units,
                     const tacit_event_t *event) {
  tacit_error_t *err = &job->err;
  unsigned char key[32] = "the same on all ranks, 32 bytes";
  tacit_curator_settings_t s = tacit_curator_settings_default();
  s.n_threads = job->n_threads;
  s.clip_bound_grad = has_units ? 1.7 : 0; /* clips some */
  s.max_unit_rows = has_units ? 3 : 1;
  s.ranks = &job->ranks;
  *box = (box_t){0};
  job->status = tacit_budget_new(&box->budget, 1e15, 1e-6, TACIT_RELATION_SUBSTITUTE, err);
  if (job->status == TACIT_OK && event != NULL) {
    job->status = tacit_budget_set_schedule(box->budget, event, 1, err);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_noise_new_with_key(&box->noise, key, err);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_new(&box->curator, share(job, has_units, model->n_columns), model,
                                    box->budget, box->noise, &s, err);
  }
}

static void box_close(box_t *box) {
  tacit_curator_free(box->curator);
  tacit_noise_free(box->noise);
  tacit_budget_free(box->budget);
}

typedef struct points {
  double theta[n_bits * dim], theta_prop[n_bits * dim], correction[n_bits];
} points_t;

static points_t make_points(void) {
  points_t p;
  support_rng_t rng = {3};
  for (size_t i = 0; i < n_bits * dim; i++) {
    p.theta[i] = 0.3 * support_normal(&rng);
    p.theta_prop[i] = p.theta[i] + 0.02 * support_normal(&rng);
    p.correction[i / dim] = 0;
  }
  return p;
}

static void release_sums(job_t *job, const tacit_record_model_t *model, const points_t *p) {
  releases_t *out = &job->releases;
  tacit_error_t *err = &job->err;
  box_t box;
  tacit_row_weighting_t rows = {NULL, 1.5};
  double rate = tacit_curator_sampling_rate(0.3);
  box_open(&box, job, model, false, NULL);
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_n_units(box.curator, &out->n_units[0], err);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_release_gradient(box.curator, n_theta, p->theta, 5, out->grad, err);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_release_log_ratio(box.curator, n_theta, p->theta, p->theta_prop, 5,
                                                  out->ratio, out->ratio_sd, err);
  }
  if (job->status == TACIT_OK) {
    job->status =
        tacit_curator_release_second_moments(box.curator, &rows, 5, out->moments, &out->moments_sd, err);
  }
  if (job->status == TACIT_OK) {
    tacit_score_point_t point = {TACIT_FAMILY_BERNOULLI, 1, p->theta, rows.whiten, rows.radius, 0};
    job->status = tacit_curator_release_score(box.curator, &point, 5, out->score, &out->score_sd, err);
  }
  box_close(&box);
  tacit_event_t event = tacit_curator_sampled_event(rate, 5);
  event.count = 2 * n_theta;
  if (job->status == TACIT_OK) {
    box_open(&box, job, model, false, &event);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_release_sampled_gradient(box.curator, n_theta, p->theta, rate, 5,
                                                         out->sampled_grad, err);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_release_sampled_log_ratio(box.curator, n_theta, p->theta, p->theta_prop, rate,
                                                          5, out->sampled_ratio, out->sampled_sd, err);
  }
  box_close(&box);
}

static void release_units(job_t *job, const tacit_record_model_t *model, const points_t *p) {
  releases_t *out = &job->releases;
  double sd[n_theta];
  box_t box;
  box_open(&box, job, model, true, NULL);
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_n_units(box.curator, &out->n_units[1], &job->err);
  }
  if (job->status == TACIT_OK) {
    job->status =
        tacit_curator_release_gradient(box.curator, n_theta, p->theta, 5, out->unit_grad, &job->err);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_release_log_ratio(box.curator, n_theta, p->theta, p->theta_prop, 5,
                                                  out->unit_ratio, sd, &job->err);
    out->n_grad_clipped = tacit_curator_notes(box.curator).n_grad_clipped;
    out->n_ratio_clipped = tacit_curator_notes(box.curator).n_ratio_clipped;
  }
  box_close(&box);
}

/* What a decision of each kind is charged as, for n_bits of them. */
static tacit_event_t bit_event(job_t *job, const tacit_record_model_t *model, const tacit_accept_rule_t *rule,
                               const tacit_minibatch_rule_t *minibatch, const double *metric) {
  box_t box;
  tacit_event_t event = {0};
  box_open(&box, job, model, false, NULL);
  if (job->status == TACIT_OK) {
    event = minibatch != NULL ? tacit_curator_minibatch_event(box.curator, minibatch)
            : metric != NULL  ? tacit_curator_langevin_event(box.curator, rule, metric, 0.05)
                              : tacit_curator_accept_event(box.curator, rule);
    event.count = n_bits;
  }
  box_close(&box);
  return event;
}

static void release_bits(job_t *job, const tacit_record_model_t *model, points_t *p) {
  releases_t *out = &job->releases;
  tacit_accept_rule_t rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 0.5};
  tacit_minibatch_rule_t few = {.max_bound = 0.5,
                                .intensity = 0.1,
                                .n_public = n_records,
                                .max_batch = n_records},
                         all = {.max_bound = 0.5, .intensity = 0.1, .n_public = n_records, .max_batch = 1};
  double metric[dim] = {0.2, 0.2, 0.2, 0.2}, prior_grad[n_bits * dim] = {0};
  tacit_accept_pairs_t pairs = {n_bits, p->theta, p->theta_prop, p->correction, out->bits};
  for (int kind = 0; kind < 4 && job->status == TACIT_OK; kind++) {
    const tacit_minibatch_rule_t *minibatch = kind == 1 ? &few : kind == 2 ? &all : NULL;
    tacit_event_t event = bit_event(job, model, &rule, minibatch, kind == 3 ? metric : NULL);
    box_t box;
    box_open(&box, job, model, false, &event);
    if (job->status == TACIT_OK && kind == 0) {
      job->status = tacit_curator_release_accept(box.curator, &rule, &pairs, &job->err);
    } else if (job->status == TACIT_OK && minibatch != NULL) {
      pairs.accepted = kind == 1 ? out->minibatch_bits : out->full_bits;
      job->status = tacit_curator_release_minibatch_accept(box.curator, minibatch, &pairs, &job->err);
    } else if (job->status == TACIT_OK) {
      pairs.accepted = out->langevin_bits;
      tacit_langevin_pairs_t langevin = {pairs, prior_grad, prior_grad, metric, 0.05};
      job->status = tacit_curator_release_langevin_accept(box.curator, &rule, &langevin, &job->err);
    }
    box_close(&box);
  }
}

static void release_statistic(job_t *job) {
  const double lower = -1, upper = 2;
  tacit_statistic_t statistic = {.n_columns = 1, .lower = &lower, .upper = &upper};
  tacit_record_model_t model;
  box_t box;
  tacit_statistic_model(&model, &statistic);
  box_open(&box, job, &model, false, NULL);
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_release_statistic(box.curator, &statistic, 5, &job->releases.total,
                                                  &job->releases.total_scale, &job->err);
  }
  box_close(&box);
}

static void *run_rank(void *user) {
  job_t *job = user;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  model.is_softmax = true;
  points_t p = make_points();
  release_sums(job, &model, &p);
  if (job->status == TACIT_OK) {
    release_units(job, &model, &p);
  }
  bool has_bits =
      (job->ranks.n_ranks == 1 && job->n_threads == 1) || job->ranks.n_ranks == (job->n_threads == 2 ? 2 : 4);
  if (job->status == TACIT_OK && has_bits) { /* planning for them takes most of the time */
    release_bits(job, &model, &p);
  } else if (job->status == TACIT_OK) {
    job->lacks_bits = true;
  }
  if (job->status == TACIT_OK) {
    release_statistic(job);
  }
  return NULL;
}

static void copy_bits(releases_t *to, const releases_t *from) {
  memcpy(to->bits, from->bits, sizeof to->bits);
  memcpy(to->minibatch_bits, from->minibatch_bits, sizeof to->minibatch_bits);
  memcpy(to->full_bits, from->full_bits, sizeof to->full_bits);
  memcpy(to->langevin_bits, from->langevin_bits, sizeof to->langevin_bits);
}

static void run_ranks(job_t jobs[most_ranks], size_t n_ranks, size_t n_threads, void *(*program)(void *)) {
  meeting_t meeting = {.n_ranks = n_ranks};
  pthread_t threads[most_ranks];
  assert_int_equal(pthread_barrier_init(&meeting.barrier, NULL, (unsigned)n_ranks), 0);
  for (size_t r = 0; r < n_ranks; r++) {
    memset(&jobs[r], 0, sizeof jobs[r]);
    jobs[r].n_threads = n_threads;
    jobs[r].seat = (seat_t){&meeting, r};
    jobs[r].ranks = (tacit_ranks_t){r, n_ranks, sum, &jobs[r].seat};
    assert_int_equal(pthread_create(&threads[r], NULL, program, &jobs[r]), 0);
  }
  for (size_t r = 0; r < n_ranks; r++) {
    pthread_join(threads[r], NULL);
  }
  pthread_barrier_destroy(&meeting.barrier);
}

static void test_releases_do_not_depend_on_ranks_threads_or_instructions(void **state) {
  (void)state;
  static job_t jobs[most_ranks];
  static releases_t expected;
  bool is_first = true;
  for (int isa = 0; isa < 3; isa++) {
#if defined(__x86_64__)
    tacit_isa_limit((tacit_isa_t)isa);
#endif
    for (size_t n_ranks = 1; n_ranks <= most_ranks; n_ranks *= 2) {
      for (size_t n_threads = 1; n_threads <= 2; n_threads++) {
        run_ranks(jobs, n_ranks, n_threads, run_rank);
        for (size_t r = 0; r < n_ranks; r++) {
          assert_ok(jobs[r].status, jobs[r].err);
          if (is_first) {
            memcpy(&expected, &jobs[r].releases, sizeof expected);
            is_first = false;
          }
          if (jobs[r].lacks_bits) {
            copy_bits(&jobs[r].releases, &expected);
          }
          assert_memory_equal(&jobs[r].releases, &expected, sizeof expected);
        }
      }
    }
  }
  assert_int_equal(expected.n_units[0], n_records);
  assert_int_equal(expected.n_units[1], (n_records + 2) / 3);
  assert_true(expected.n_grad_clipped > 0);
  size_t n_accepted[4] = {0};
  for (size_t k = 0; k < n_bits; k++) {
    n_accepted[0] += expected.bits[k];
    n_accepted[1] += expected.minibatch_bits[k];
    n_accepted[2] += expected.full_bits[k];
    n_accepted[3] += expected.langevin_bits[k];
  }
  for (int kind = 0; kind < 4; kind++) { /* or the decisions would not tell */
    assert_true(n_accepted[kind] > 0 && n_accepted[kind] < n_bits);
  }
}

/* ---- what goes wrong ---- */

/* One rank asks for the gradient elsewhere: nothing of that sum is released, nor anything after it, on any
 * rank. */
static void *part_ways(void *user) {
  job_t *job = user;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  points_t p = make_points();
  p.theta[0] += job->ranks.rank == 1 ? 0x1p-20 : 0;
  box_t box;
  box_open(&box, job, &model, false, NULL);
  double out[n_theta * dim];
  for (int k = 0; job->status == TACIT_OK && k < 2; k++) {
    out[0] = 1;
    job->status = tacit_curator_release_gradient(box.curator, n_theta, p.theta, 5, out, &job->err);
    job->releases.n_units[0] += (size_t)k + (out[0] > 0 || out[0] < 0);
  }
  box_close(&box);
  return NULL;
}

static void test_ranks_that_part_are_stopped(void **state) {
  (void)state;
  static job_t jobs[most_ranks];
  run_ranks(jobs, 3, 1, part_ways);
  for (size_t r = 0; r < 3; r++) {
    assert_int_equal(jobs[r].status, TACIT_ERR_STATE);
    assert_int_equal(jobs[r].releases.n_units[0], 0);
    assert_non_null(strstr(jobs[r].err.message, "ranks"));
  }
}

/* A rank in the middle holds a number of records that words of the mask do not end at. */
static void *hold_odd_numbers(void *user) {
  job_t *job = user;
  tacit_records_t *records;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  tacit_noise_t *noise;
  tacit_curator_t *curator = NULL;
  tacit_curator_settings_t s = tacit_curator_settings_default();
  double theta[dim] = {0}, out[dim];
  s.ranks = &job->ranks;
  job->status = tacit_noise_new_seeded_not_private(&noise, 1, &job->err);
  s.subset_noise = noise;
  if (job->status == TACIT_OK) {
    job->status = tacit_records_new(&records, 65, n_features + 1, &job->err);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_new_exposed(&curator, records, &model, &s, &job->err);
  }
  if (job->status == TACIT_OK) {
    job->status = tacit_curator_release_sampled_gradient(curator, 1, theta, 0.5, 1, out, &job->err);
  }
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  return NULL;
}

static void test_minibatches_want_aligned_ranks(void **state) {
  (void)state;
  static job_t jobs[most_ranks];
  run_ranks(jobs, 2, 1, hold_odd_numbers);
  for (size_t r = 0; r < 2; r++) {
    assert_int_equal(jobs[r].status, TACIT_ERR_STATE);
    assert_non_null(strstr(jobs[r].err.message, "multiple of 64"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_releases_do_not_depend_on_ranks_threads_or_instructions),
      cmocka_unit_test(test_ranks_that_part_are_stopped),
      cmocka_unit_test(test_minibatches_want_aligned_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
