/* Moments of clamped rows, which regression.c infers from and rows.c simulates. Not installed. */
#ifndef TACIT_AUGMENT_REGRESSION_H
#define TACIT_AUGMENT_REGRESSION_H

#include "augment/augment_internal.h"

/*
 * A row has d columns that are normal, each a regression on those before it, and, if logistic, a binary
 * response after them. Parameters column by column: intercept, slopes, log sd; then the coefficients of the
 * logistic regression, intercept first. There are as many as there are sums: of the normal columns, of their
 * products, of (y - 1/2) (1, columns).
 */
typedef struct tacit_regression {
  size_t d, q; /* normal columns; sums, and parameters */
  bool is_logistic;
  double *at, *trial;                /* shape (q): parameters */
  double *step;                      /* shape (q) */
  double *columns;                   /* shape (q, q): directions of slices, the rows */
  double *nodes;                     /* shape (TACIT_ROW_NODES, d) */
  double *mean;                      /* shape (d) */
  double *factor;                    /* shape (d, d): lower triangular, covariance = factor factor' */
  double *expected;                  /* shape (q) */
  double *spread;                    /* shape (q, q), lower triangle */
  double *jacobian, *work, *shifted; /* shapes (q, q), (q), (q) */
} tacit_regression_t;

/* Latent rows; the pointers alone are const where rows are. */
typedef struct tacit_rows {
  double *x, *e;                /* shape (n, d): normal columns, unclamped, and their innovations */
  double *u, *y;                /* shape (n): logistic: y is 1 where u is below its probability, else 0 */
  double *t, *proposed;         /* shape (q) */
  double *products, *precision; /* shapes (d + 1, d + 1), (d, d) */
} tacit_rows_t;

enum { TACIT_ROW_NODES = 512, TACIT_MAX_ROW_COLUMNS = 24 };
/* Of a log sd: beyond it is nothing but the prior's far tail. */
static const double TACIT_ROW_MAX_LOG_SD = 12;

/* Where the parameters of a normal column begin, and, for column d, those of the logistic regression. */
static inline size_t tacit_row_offset(size_t column) { return column * (column + 3) / 2; }

static inline double tacit_row_clamp(double x) { return x < -1 ? -1 : x > 1 ? 1 : x; }

static inline double tacit_logistic(double x) { return 1 / (1 + exp(-x)); }

/* Linear predictor of a row of unclamped columns. */
static inline double tacit_row_predictor(const tacit_regression_t *r, const double *coefficients,
                                         const double *x) {
  double eta = coefficients[0];
  for (size_t j = 0; j < r->d; j++) {
    eta += coefficients[1 + j] * x[j];
  }
  return eta;
}

/* Prior sd of intercepts and slopes of normal columns. */
static inline double tacit_row_scale(const tacit_latent_model_t *model) {
  return model->kind == TACIT_LATENT_LOGISTIC ? model->feature_scale : model->coefficient_scale;
}

void tacit_row_set_nodes(tacit_regression_t *r);
/* Mean and factor of the covariance of the normal columns, unclamped. */
void tacit_row_set_distribution(tacit_regression_t *r, const double *parameters);
/* expected: means of what a row adds to the sums, by quadrature. Needs the distribution. */
void tacit_row_set_expected(tacit_regression_t *r, const double *parameters);
/* spread: its covariance, over the nodes. Needs the distribution and `expected`. */
void tacit_row_set_spread(tacit_regression_t *r, const double *parameters);
double tacit_row_log_prior(const tacit_chain_t *chain, const double *parameters);
/* What is reported of parameters. */
void tacit_row_report(const tacit_regression_t *r, const double *parameters, double *reported);

/* matrix <- its Cholesky factor (lower triangle); false if it is not positive definite. */
bool tacit_dense_factorise(double *matrix, size_t n);
/* x <- L^-1 x */
void tacit_dense_solve_lower(const double *factor, size_t n, double *x);
/* x <- L'^-1 x */
void tacit_dense_solve_upper(const double *factor, size_t n, double *x);

#endif
