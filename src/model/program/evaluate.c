/*
 * A compiled program as a model's functions. Each thread has room of its own, where what depends on
 * parameters alone is kept for as long as it is asked for the same ones: nothing that a caller could tell but
 * by the time it takes. Without memory for it, one spare workspace is shared, one parameter vector after
 * another.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "program/compiled.h"

void tacit_workspace_free(tacit_workspace_t *workspace) {
  for (int role = 0; workspace != NULL && role < TACIT_ROLE_COUNT; role++) {
    tacit_work_free(workspace->work[role]);
  }
  if (workspace != NULL) {
    tacit_free(workspace->theta);
    tacit_free(workspace->rows);
    tacit_free(workspace->raw);
    tacit_free(workspace->block);
    tacit_free(workspace->out);
    tacit_free(workspace);
  }
}

tacit_workspace_t *tacit_workspace_new(const tacit_compiled_t *program, size_t n_theta) {
  tacit_workspace_t *workspace = tacit_alloc_zero(1, sizeof *workspace);
  size_t n_out = 1;
  if (workspace == NULL) {
    return NULL;
  }
  bool ok = true;
  for (int role = 0; role < TACIT_ROLE_COUNT; role++) {
    bool is_single = role > TACIT_ROLE_ROWS;
    workspace->work[role] = tacit_work_new(&program->kernels[role], is_single ? 1 : n_theta);
    ok = ok && workspace->work[role] != NULL;
    n_out = is_single && program->kernels[role].n_roots > n_out ? program->kernels[role].n_roots : n_out;
  }
  workspace->capacity = n_theta;
  workspace->theta = tacit_alloc_zero(n_theta * program->graph->n_parameters, sizeof *workspace->theta);
  workspace->rows = tacit_alloc_zero(n_theta * program->n_rows * 16, sizeof *workspace->rows);
  workspace->block = tacit_alloc_zero(program->layout.n_columns * 16, sizeof *workspace->block);
  workspace->raw = tacit_alloc_zero(program->graph->n_columns * 16, sizeof *workspace->raw);
  workspace->out = tacit_alloc_zero(n_out * 16, sizeof *workspace->out);
  if (!ok || workspace->theta == NULL || workspace->rows == NULL || workspace->raw == NULL ||
      workspace->block == NULL || workspace->out == NULL) {
    tacit_workspace_free(workspace);
    return NULL;
  }
  return workspace;
}

static tacit_workspace_t *own_workspace(const tacit_compiled_t *program, size_t n_theta) {
  tacit_workspace_t *workspace = pthread_getspecific(program->key);
  if (workspace != NULL && workspace->capacity >= n_theta) {
    return workspace;
  }
  tacit_compiled_t *owner =
      (tacit_compiled_t *)(uintptr_t)program; /* the list of workspaces alone changes, under its lock */
  tacit_workspace_t *larger = tacit_workspace_new(program, n_theta);
  if (larger == NULL || pthread_setspecific(program->key, larger) != 0) {
    tacit_workspace_free(larger);
    return NULL;
  }
  pthread_mutex_lock(&owner->lock);
  larger->next = owner->workspaces;
  owner->workspaces = larger;
  for (tacit_workspace_t **at = &owner->workspaces; *at != NULL; at = &(*at)->next) {
    if (*at == workspace) {
      *at = workspace->next;
      break;
    }
  }
  pthread_mutex_unlock(&owner->lock);
  tacit_workspace_free(workspace);
  return larger;
}

tacit_workspace_t *tacit_workspace_take(const tacit_compiled_t *program, size_t n_theta, bool *is_spare) {
  tacit_workspace_t *workspace = own_workspace(program, n_theta);
  *is_spare = workspace == NULL;
  if (*is_spare) {
    pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&program->lock);
    workspace = program->spare;
  }
  return workspace;
}

void tacit_workspace_give_back(const tacit_compiled_t *program, bool is_spare) {
  if (is_spare) {
    pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&program->lock);
  }
}

/* theta is of floats or of doubles. */
static void run_evaluate(const tacit_compiled_t *program, tacit_role_t role, const float *block,
                         size_t n_blocks, size_t n_theta, const double *theta, const float *theta_float,
                         void *out) {
  bool is_spare;
  tacit_workspace_t *workspace = tacit_workspace_take(program, n_theta, &is_spare);
  size_t dim = program->graph->n_parameters, n_roots = program->kernels[role].n_roots,
         at_a_time = is_spare ? 1 : n_theta;
  size_t size = program->kernels[role].is_double ? sizeof(double) : sizeof(float);
  for (size_t k = 0; k < n_theta; k += at_a_time) {
    const double *from = theta != NULL ? theta + k * dim : NULL;
    const float *from_float = theta_float != NULL ? theta_float + k * dim : NULL;
    if (!tacit_work_is_prepared(workspace->work[role], at_a_time, dim, from, from_float)) {
      for (size_t i = 0; i < at_a_time * dim; i++) {
        workspace->theta[i] = from != NULL ? from[i] : (double)from_float[i];
      }
      tacit_work_prepare(workspace->work[role], at_a_time, dim, workspace->theta);
    }
    tacit_work_run(workspace->work[role], block, n_blocks, at_a_time, n_theta * n_roots * 16,
                   (char *)out + k * n_roots * 16 * size);
  }
  tacit_workspace_give_back(program, is_spare);
}

void tacit_program_log_lik_blocks(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                                  const double *theta, double *out) {
  run_evaluate(ctx, TACIT_ROLE_LOG_LIK, block, n_blocks, n_theta, theta, NULL, out);
}

void tacit_program_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                           double *out) {
  tacit_program_log_lik_blocks(ctx, block, 1, n_theta, theta, out);
}

void tacit_program_rows(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                        const float *theta, float *out) {
  run_evaluate(ctx, TACIT_ROLE_ROWS, block, n_blocks, n_theta, NULL, theta, out);
}

static void spread(const tacit_piece_t *piece, const float *block, const float *row, float *out) {
  for (size_t lane = 0; lane < 16; lane++) {
    if (piece->kind == TACIT_PIECE_GATHER) {
      float at = block[piece->column * 16 + lane] - (float)piece->first;
      at = at < (float)(piece->n - 1) ? at : (float)(piece->n - 1);
      out[(piece->parameter + (size_t)(at > 0 ? at : 0) * piece->stride) * 16 + lane] = row[lane];
    }
    for (size_t j = 0; piece->kind != TACIT_PIECE_GATHER && j < piece->n; j++) {
      float x = piece->kind == TACIT_PIECE_LINEAR ? block[(piece->column + j) * 16 + lane] : 1;
      out[(piece->parameter + j) * 16 + lane] = row[lane] * x;
    }
  }
}

void tacit_program_grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  const tacit_compiled_t *program = ctx;
  size_t dim = program->graph->n_parameters, n_rows = program->n_rows;
  memset(out, 0, n_theta * dim * 16 * sizeof *out);
  for (size_t k = 0; k < n_theta; k++) {
    bool is_spare;
    tacit_workspace_t *workspace = tacit_workspace_take(program, n_theta, &is_spare);
    if (is_spare || k == 0) {
      for (size_t i = 0; i < (is_spare ? 1 : n_theta) * dim; i++) {
        workspace->theta[i] = (double)theta[k * dim + i];
      }
      tacit_work_prepare(workspace->work[TACIT_ROLE_ROWS], is_spare ? 1 : n_theta, dim, workspace->theta);
      tacit_work_run(workspace->work[TACIT_ROLE_ROWS], block, 1, is_spare ? 1 : n_theta,
                     n_theta * n_rows * 16, workspace->rows);
    }
    for (size_t i = 0; i < program->n_pieces; i++) {
      const float *row = workspace->rows + ((is_spare ? 0 : k) * n_rows + program->pieces[i].row) * 16;
      spread(&program->pieces[i], block, row, out + k * dim * 16);
    }
    tacit_workspace_give_back(program, is_spare);
  }
}

double tacit_program_log_prior(const void *ctx, const double *theta, double *grad) {
  const tacit_compiled_t *program = ctx;
  bool is_spare;
  tacit_workspace_t *workspace = tacit_workspace_take(program, 1, &is_spare);
  tacit_work_prepare(workspace->work[TACIT_ROLE_PRIOR], 1, program->graph->n_parameters, theta);
  tacit_work_run(workspace->work[TACIT_ROLE_PRIOR], NULL, 1, 1,
                 program->kernels[TACIT_ROLE_PRIOR].n_roots * 16, workspace->out);
  double value = workspace->out[0];
  if (grad != NULL) {
    memset(grad, 0, program->graph->n_parameters * sizeof *grad);
    for (size_t i = 0; i < program->prior_gradient.n_slopes; i++) {
      grad[program->prior_gradient.slopes[i].parameter] = workspace->out[(i + 1) * 16];
    }
  }
  tacit_workspace_give_back(program, is_spare);
  return value;
}

void tacit_program_report(const void *ctx, const double *theta, double *reported) {
  const tacit_compiled_t *program = ctx;
  bool is_spare;
  tacit_workspace_t *workspace = tacit_workspace_take(program, 1, &is_spare);
  tacit_work_prepare(workspace->work[TACIT_ROLE_REPORT], 1, program->graph->n_parameters, theta);
  tacit_work_run(workspace->work[TACIT_ROLE_REPORT], NULL, 1, 1,
                 program->kernels[TACIT_ROLE_REPORT].n_roots * 16, workspace->out);
  for (size_t i = 0; i < program->graph->n_reported; i++) {
    reported[i] = workspace->out[i * 16];
  }
  tacit_workspace_give_back(program, is_spare);
}

/*
 * |l(theta') - l(theta)| is at most the sum over pieces of sup |row| times the most that the piece's part of
 * theta' - theta can weigh: the change along the segment between the two, whose every gradient obeys the
 * bounds. 1e-9 exceeds the rounding of the sums.
 */
double tacit_program_ratio_bound(const void *ctx, const double *theta, const double *theta_prop) {
  const tacit_compiled_t *program = ctx;
  double sum = 0;
  for (size_t i = 0; i < program->n_pieces; i++) {
    const tacit_piece_t *piece = &program->pieces[i];
    double weight = 0;
    for (size_t j = 0; j < piece->n; j++) {
      size_t at = piece->parameter + j * (piece->kind == TACIT_PIECE_GATHER ? piece->stride : 1);
      double change = fabs(theta_prop[at] - theta[at]);
      weight = piece->kind == TACIT_PIECE_LINEAR ? weight + change * program->column_bound[piece->column + j]
                                                 : fmax(weight, change);
    }
    if (weight > 0) {
      sum += weight * program->row_bound[piece->row];
    }
  }
  return sum * (1 + 1e-9);
}

/* sup of the squared score. */
void tacit_program_curvature_bound(const void *ctx, const double *theta, double *bound) {
  const tacit_compiled_t *program = ctx;
  (void)theta;
  for (size_t j = 0; j < program->graph->n_parameters; j++) {
    bound[j] = 1; /* of what no record moves */
  }
  for (size_t i = 0; i < program->n_pieces; i++) {
    const tacit_piece_t *piece = &program->pieces[i];
    for (size_t j = 0; j < piece->n; j++) {
      double x = piece->kind == TACIT_PIECE_LINEAR ? program->column_bound[piece->column + j] : 1,
             most = program->row_bound[piece->row] * x;
      bound[piece->parameter + j * (piece->kind == TACIT_PIECE_GATHER ? piece->stride : 1)] =
          fmax(most * most, 1e-12);
    }
  }
}

/* The squared score, whose expectation at the truth is that of minus the second derivative. */
void tacit_program_curvature(const void *ctx, const double *x, const double *theta, double *weights) {
  const tacit_compiled_t *program = ctx;
  size_t dim = program->graph->n_parameters;
  bool is_spare;
  tacit_workspace_t *workspace = tacit_workspace_take(program, 1, &is_spare);
  for (size_t i = 0; i < program->layout.n_columns * 16; i++) {
    workspace->block[i] = (float)x[i / 16];
  }
  tacit_work_prepare(workspace->work[TACIT_ROLE_ROWS], 1, dim, theta);
  tacit_work_run(workspace->work[TACIT_ROLE_ROWS], workspace->block, 1, 1, program->n_rows * 16,
                 workspace->rows);
  memset(weights, 0, dim * sizeof *weights);
  for (size_t i = 0; i < program->n_pieces; i++) {
    const tacit_piece_t *piece = &program->pieces[i];
    double row = (double)workspace->rows[piece->row * 16];
    if (piece->kind == TACIT_PIECE_GATHER) {
      double k = fmin(fmax(x[piece->column] - piece->first, 0), (double)piece->n - 1);
      weights[piece->parameter + (size_t)k * piece->stride] = row * row;
    }
    for (size_t j = 0; piece->kind != TACIT_PIECE_GATHER && j < piece->n; j++) {
      double factor = piece->kind == TACIT_PIECE_LINEAR ? x[piece->column + j] : 1;
      weights[piece->parameter + j] = row * factor * (row * factor);
    }
  }
  tacit_workspace_give_back(program, is_spare);
}
