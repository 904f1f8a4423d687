/*
 * The polynomial of expansion.h. With t_k the linear predictor of pseudo-row k less that at the centre, which
 * is linear in z, mean and variance of a response are m0 + m1 t + m2 t^2 and v0 + v1 t + v2 t^2 about; C is
 * quadratic in means and linear in variances, and what is beyond t^2 is left out (docs/theory.md, 18.7).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/expansion.h"
#include "noise_aware/kernel.h"

enum { TILE = TACIT_EXPANSION_TILE, MAX = TACIT_AWARE_MOST_EXPANDED };

/* Where parabolas are mean and variance themselves, in sds of t: nodes of the Gauss-Hermite rule of three
 * points; and the sd at least, where nothing depends on t. */
static const double node = 1.7320508075688772, least_sd = 1e-6;

/* n rows, width D, stride: number of columns of the process in whole sixteens, the rest 0. */
typedef struct fitter {
  tacit_expansion_t *x;
  const tacit_aware_posterior_t *p;
  size_t d, n, width, stride;
  double *along, *products; /* (d, n): t by z_a; (n_pairs, n): t^2 by z_a z_b */
  double *mean, *variance;  /* (3, n): m0, m1, m2 and so on; mean less upper / 2 */
  double *f, *lifted;       /* (D, n): a line's work; columns quadratic y' at the centre, transposed */
  double *y, *by_quadratic; /* (d, D, stride): derivatives of y by z_a; times quadratic */
  double *quadratic;        /* (stride, stride) */
  double *first, *second;   /* (TILE, n): by t and t^2, of entries of a tile */
  double *sums;             /* (TILE, n_pairs) and (D, D) */
} fitter_t;

static double *place_of(const tacit_expansion_t *x, size_t term, size_t entry) {
  return x->terms + (entry / TILE * x->n_terms + term) * TILE + entry % TILE;
}

static size_t pair_of(size_t a, size_t b) { return a * (a + 1) / 2 + b; }

/* ---- rows ---- */

static tacit_family_moments_t moments_at(const fitter_t *f, double eta) {
  tacit_family_moments_t m = tacit_family_moments(f->p->settings->family, f->p->settings->upper, eta);
  tacit_rounds_disperse(f->p->rounds, &m);
  return m;
}

/* out (3, n), column k <- the parabola through three values. */
static void interpolate(size_t n, size_t k, double middle, double up, double down, double step, double *out) {
  out[k] = middle;
  out[n + k] = (up - down) / (2 * step);
  out[2 * n + k] = (up + down - 2 * middle) / (2 * step * step);
}

static void fill_rows(const fitter_t *f) {
  const tacit_surrogate_t *s = f->p->surrogate;
  size_t d = f->d, n = f->n;
  double turned[MAX * MAX], *eta = f->first, upper = f->p->settings->upper;
  for (size_t i = 0; i < d * d; i++) {
    turned[i] = f->x->factor[i % d * d + i / d];
  }
  tacit_aware_kernel()->multiply(d, d, n, turned, s->x, f->along);
  tacit_aware_kernel()->multiply(1, d, n, f->x->centre, s->x, eta);
  for (size_t k = 0; k < n; k++) {
    double square = 0;
    for (size_t a = 0; a < d; a++) {
      square += f->along[a * n + k] * f->along[a * n + k];
    }
    double step = node * fmax(sqrt(square), least_sd);
    tacit_family_moments_t m = moments_at(f, eta[k]), up = moments_at(f, eta[k] + step),
                           down = moments_at(f, eta[k] - step);
    interpolate(n, k, m.mean - upper / 2, up.mean - upper / 2, down.mean - upper / 2, step, f->mean);
    interpolate(n, k, m.variance, up.variance, down.variance, step, f->variance);
  }
  for (size_t a = 0; a < d; a++) {
    for (size_t b = 0; b <= a; b++) {
      tacit_aware_kernel()->scale(n, 1, f->along + a * n, f->along + b * n, f->products + pair_of(a, b) * n);
    }
  }
}

/* ---- the process ---- */

/* y (D, stride) <- f columns' */
static void project(const fitter_t *f, double *y) {
  size_t nb = f->p->rounds->n_columns;
  double *narrow = f->first; /* (D, nb) */
  tacit_aware_kernel()->project(f->n, f->width, nb, f->f, f->p->rounds->columns, narrow);
  for (size_t i = 0; i < f->width; i++) {
    memcpy(y + i * f->stride, narrow + i * nb, nb * sizeof *y);
  }
}

static void fill_process(const fitter_t *f) {
  const tacit_rounds_t *r = f->p->rounds;
  size_t d = f->d, n = f->n, nb = r->n_columns, size = f->width * f->stride;
  double *line = f->second;
  for (size_t i = 0; i < nb; i++) {
    memcpy(f->quadratic + i * f->stride, r->quadratic + i * nb, nb * sizeof *f->quadratic);
  }
  for (size_t j = 0; j < r->n_rounds; j++) {
    for (size_t k = 0; k < n; k++) {
      line[k] = f->mean[k] - r->spread[j * n + k];
    }
    tacit_aware_kernel()->scale(n, d, r->rows + j * d * n, line, f->f + j * d * n);
  }
  project(f, f->y);
  tacit_aware_kernel()->multiply(f->width, f->stride, f->stride, f->y, f->quadratic, f->by_quadratic);
  for (size_t i = 0; i < f->width; i++) { /* line by line: the rows' stride is not the columns' number */
    tacit_aware_kernel()->multiply(1, nb, n, f->by_quadratic + i * f->stride, r->columns, f->lifted + i * n);
  }
  for (size_t a = 0; a < d; a++) {
    tacit_aware_kernel()->scale(n, 1, f->mean + n, f->along + a * n, line);
    tacit_aware_kernel()->scale(n, f->width, r->rows, line, f->f);
    project(f, f->y + a * size);
    tacit_aware_kernel()->multiply(f->width, f->stride, f->stride, f->y + a * size, f->quadratic,
                                   f->by_quadratic + a * size);
  }
}

/* ---- entries ---- */

/* first, second (n) <- what row k has in C_ij by t_k and t_k^2. */
static void fill_entry(const fitter_t *f, size_t i, size_t j, double *first, double *second) {
  const tacit_rounds_t *r = f->p->rounds;
  const double *weight = f->p->surrogate->weight, *m0 = f->mean, *m1 = m0 + f->n, *m2 = m1 + f->n,
               *v1 = f->variance + f->n, *v2 = v1 + f->n;
  const double *ui = r->rows + i * f->n, *uj = r->rows + j * f->n, *si = r->sampled + i * f->n,
               *sj = r->sampled + j * f->n, *gi = f->lifted + i * f->n, *gj = f->lifted + j * f->n;
  const double *from_i = r->spread + i / f->d * f->n, *from_j = r->spread + j / f->d * f->n;
  double n2 = tacit_aware_discrepancy_weight(f->p), by_weight = n2 / r->weight, units = r->n;
  for (size_t k = 0; k < f->n; k++) {
    double both = ui[k] * uj[k] * weight[k] * by_weight, sampled = units * weight[k] * si[k] * sj[k];
    double slope = both * (2 * m0[k] - from_i[k] - from_j[k]) + n2 * (ui[k] * gj[k] + gi[k] * uj[k]);
    first[k] = sampled * v1[k] + m1[k] * slope;
    second[k] = sampled * v2[k] + m2[k] * slope + m1[k] * m1[k] * both;
  }
}

/* Terms of a tile of entries by rows. */
static void fill_tile(const fitter_t *f, size_t tile, size_t *i, size_t *j) {
  size_t d = f->d, n = f->n, n_pairs = d * (d + 1) / 2, n_entries = 0;
  for (; n_entries < TILE && *i < f->width; n_entries++) {
    fill_entry(f, *i, *j, f->first + n_entries * n, f->second + n_entries * n);
    if ((*j)++ == *i) {
      (*i)++;
      *j = 0;
    }
  }
  tacit_aware_kernel()->project(n, n_entries, d, f->first, f->along, f->sums);
  for (size_t e = 0; e < n_entries * d; e++) {
    *place_of(f->x, 1 + e % d, tile * TILE + e / d) = f->sums[e];
  }
  tacit_aware_kernel()->project(n, n_entries, n_pairs, f->second, f->products, f->sums);
  for (size_t e = 0; e < n_entries; e++) {
    for (size_t a = 0, pair = 0; a < d; a++) {
      for (size_t b = 0; b <= a; b++, pair++) {
        *place_of(f->x, 1 + d + pair, tile * TILE + e) = (a == b ? 1 : 2) * f->sums[e * n_pairs + pair];
      }
    }
  }
}

/* What derivatives of y have with each other. */
static void add_process(const fitter_t *f) {
  size_t d = f->d, width = f->width, size = width * f->stride;
  double n2 = tacit_aware_discrepancy_weight(f->p), *of = f->sums;
  for (size_t a = 0; a < d; a++) {
    for (size_t b = 0; b <= a; b++) {
      tacit_aware_kernel()->project(f->stride, width, width, f->by_quadratic + a * size, f->y + b * size, of);
      for (size_t i = 0, entry = 0; i < width; i++) {
        for (size_t j = 0; j <= i; j++, entry++) {
          double both = of[i * width + j] + (a == b ? 0 : of[j * width + i]);
          *place_of(f->x, 1 + d + pair_of(a, b), entry) += n2 * both;
        }
      }
    }
  }
}

static void fit(const fitter_t *f, tacit_aware_posterior_t *posterior) {
  tacit_aware_posterior_covariance(posterior, f->x->centre);
  for (size_t i = 0, entry = 0; i < f->width; i++) {
    for (size_t j = 0; j <= i; j++, entry++) {
      *place_of(f->x, 0, entry) = posterior->cov[i * f->width + j];
    }
  }
  fill_rows(f);
  fill_process(f);
  for (size_t tile = 0, i = 0, j = 0; tile < f->x->n_tiles; tile++) {
    fill_tile(f, tile, &i, &j);
  }
  add_process(f);
}

tacit_status_t tacit_expansion_fit(tacit_expansion_t *expansion, tacit_aware_posterior_t *posterior,
                                   tacit_error_t *err) {
  size_t d = expansion->d, n = expansion->n_rows, width = expansion->width, n_pairs = d * (d + 1) / 2;
  size_t nb = posterior->rounds->n_columns, stride = (nb + 15) / 16 * 16, of_sums = TILE * n_pairs;
  fitter_t f = {.x = expansion, .p = posterior, .d = d, .n = n, .width = width, .stride = stride};
  size_t of_first = width * nb > TILE * n ? width * nb : TILE * n;
  double **const arrays[] = {&f.along, &f.products,     &f.mean,      &f.variance, &f.f,      &f.lifted,
                             &f.y,     &f.by_quadratic, &f.quadratic, &f.first,    &f.second, &f.sums};
  const size_t sizes[] = {d * n,
                          n_pairs * n,
                          3 * n,
                          3 * n,
                          width * n,
                          width * n,
                          d * width * stride,
                          d * width * stride,
                          stride * stride,
                          of_first,
                          TILE * n,
                          of_sums > width * width ? of_sums : width * width};
  double *memory = tacit_alloc_arrays(sizeof sizes / sizeof sizes[0], arrays, sizes);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  fit(&f, posterior);
  tacit_free(memory);
  return TACIT_OK;
}
