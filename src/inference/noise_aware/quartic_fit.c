/*
 * The polynomial of quartic.h from values and gradients at the centre, at both ends of each axis and at both
 * ends of the diagonal of each pair of axes. Even parts of the ends tell derivatives of even order of values
 * and of odd order of gradients, and so on; all of the fourth order follow but those by four different axes,
 * which are taken to be 0 (docs/theory.md, 18.7).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/quartic.h"

enum { MAX = TACIT_AWARE_MOST_EXPANDED };

/* Where ends are, in sds of an axis. */
static const double axis_step = 2, pair_step = 1.5;

/* kappa where tails are no heavier than a normal distribution's; a first guess of it, and the least one, a
 * coordinate. */
static const double most_kappa = 1e6, first_kappa = 10, least_kappa = 2;

/* Nodes, each a value and a gradient by z (1 + d); of ends the even part less what is at the centre takes the
 * place of one, the odd part that of the other. */
typedef struct nodes {
  size_t d, n;
  double *at; /* (n, 1 + d), n = 1 + 2 d + d (d - 1) */
} nodes_t;

/* Derivatives of P at the centre, by two, three and four axes. */
typedef struct tensor {
  size_t d;
  double *ab, *abc, *aaaa, *aaab, *aabb, *aabc; /* (d, d), (d, d, d), (d), (d, d), (d, d), (d, d, d) */
} tensor_t;

static double *axis_of(const nodes_t *n, size_t a, bool is_odd) {
  return n->at + (1 + 2 * a + is_odd) * (1 + n->d);
}

static double *pair_of(const nodes_t *n, size_t a, size_t b, bool is_odd) {
  size_t high = a > b ? a : b, low = a > b ? b : a;
  return n->at + (1 + 2 * n->d + high * (high - 1) + 2 * low + is_odd) * (1 + n->d);
}

/* ---- what is known at the nodes ---- */

/* node <- value and gradient at z = along_a e_a + along_b e_b; false: they are no numbers. */
static bool look(const tacit_quartic_t *q, tacit_aware_posterior_t *p, const double *factor, size_t a,
                 size_t b, double along_a, double along_b, double *node) {
  double theta[MAX], grad[MAX] = {0};
  for (size_t i = 0; i < q->d; i++) {
    theta[i] = q->centre[i] + along_a * factor[i * q->d + a] + along_b * factor[i * q->d + b];
  }
  node[0] = tacit_aware_posterior_likelihood(p, theta, grad);
  for (size_t i = 0; i < q->d; i++) {
    for (size_t j = 0; j <= i; j++) {
      node[1 + j] += factor[i * q->d + j] * grad[i];
    }
  }
  return isfinite(node[0]);
}

static bool look_around(const tacit_quartic_t *q, tacit_aware_posterior_t *p, const double *factor,
                        const nodes_t *n) {
  const double h = axis_step, s = pair_step;
  bool ok = look(q, p, factor, 0, 0, 0, 0, n->at);
  for (size_t a = 0; a < n->d && ok; a++) {
    ok = look(q, p, factor, a, a, h, 0, axis_of(n, a, false)) &&
         look(q, p, factor, a, a, -h, 0, axis_of(n, a, true));
    for (size_t b = 0; b < a && ok; b++) {
      ok = look(q, p, factor, a, b, s, s, pair_of(n, a, b, false)) &&
           look(q, p, factor, a, b, -s, -s, pair_of(n, a, b, true));
    }
  }
  return ok;
}

/* out <- the nodes with P in the place of the logarithm, ends split into even and odd parts. */
static void bend(const nodes_t *n, double kappa, const nodes_t *out) {
  for (size_t k = 0; k < n->n; k++) {
    const double *from = n->at + k * (1 + n->d);
    double *to = out->at + k * (1 + n->d), rest = exp((n->at[0] - from[0]) / kappa);
    to[0] = kappa * (1 - rest);
    for (size_t i = 1; i <= n->d; i++) {
      to[i] = rest * from[i];
    }
  }
  for (size_t k = 1; k < out->n; k += 2) {
    double *even = out->at + k * (1 + n->d), *odd = even + 1 + n->d;
    for (size_t i = 0; i <= n->d; i++) {
      double up = even[i], down = odd[i];
      even[i] = 0.5 * (up + down) - out->at[i];
      odd[i] = 0.5 * (up - down);
    }
  }
}

/* ---- derivatives ---- */

/* aaaa, aa and aab: at step h along a the even part of values is h^2 P_aa / 2 + h^4 P_aaaa / 24, the odd one
 * of slopes h P_aa + h^3 P_aaaa / 6, the even one of gradients h^2 P_aab / 2. */
static void take_axis(const nodes_t *n, tensor_t *t, size_t a) {
  const double h = axis_step, *even = axis_of(n, a, false), *odd = axis_of(n, a, true);
  size_t d = n->d;
  t->aaaa[a] = 24 * (0.5 * h * odd[1 + a] - even[0]) / pow(h, 4);
  t->ab[a * d + a] = odd[1 + a] / h - h * h / 6 * t->aaaa[a];
  for (size_t b = 0; b < d; b++) {
    double third = 2 * even[1 + b] / (h * h);
    t->abc[(b * d + a) * d + a] = t->abc[(a * d + b) * d + a] = t->abc[(a * d + a) * d + b] = third;
  }
}

/* ab, aaab, abbb and aabb: the same along both at once, and the odd part of each axis's gradient by the
 * other. */
static void take_pair(const nodes_t *n, tensor_t *t, size_t a, size_t b) {
  const double h = axis_step, s = pair_step, *odd = pair_of(n, a, b, true);
  size_t d = n->d, ab = a * d + b, ba = b * d + a;
  double slope = odd[1 + a] + odd[1 + b];
  double fourth = 24 * (0.5 * s * slope - pair_of(n, a, b, false)[0]) / pow(s, 4);
  double second = slope / s - s * s / 6 * fourth;
  t->ab[ab] = t->ab[ba] = 0.5 * (second - t->ab[a * d + a] - t->ab[b * d + b]);
  t->aaab[ab] = 6 * (axis_of(n, a, true)[1 + b] / h - t->ab[ab]) / (h * h);
  t->aaab[ba] = 6 * (axis_of(n, b, true)[1 + a] / h - t->ab[ab]) / (h * h);
  t->aabb[ab] = t->aabb[ba] = (fourth - t->aaaa[a] - t->aaaa[b] - 4 * (t->aaab[ab] + t->aaab[ba])) / 6;
}

/* P_abc, and P_aabc + P_abbc by P_c along the pair a, b. */
static double third_along(const nodes_t *n, const tensor_t *t, size_t a, size_t b, size_t c) {
  size_t d = n->d;
  double even = pair_of(n, a, b, false)[1 + c] / (pair_step * pair_step);
  return even - 0.5 * (t->abc[(a * d + a) * d + c] + t->abc[(b * d + b) * d + c]);
}

static double fourth_along(const nodes_t *n, const tensor_t *t, size_t a, size_t b, size_t c) {
  size_t d = n->d;
  double odd = pair_of(n, a, b, true)[1 + c] / pair_step - t->ab[a * d + c] - t->ab[b * d + c];
  return (6 * odd / (pair_step * pair_step) - t->aaab[a * d + c] - t->aaab[b * d + c]) / 3;
}

/* abc, aabc, abbc and abcc of three axes: each pair tells the first, and the sum of two of the others. */
static void take_triple(const nodes_t *n, tensor_t *t, size_t a, size_t b, size_t c) {
  size_t d = n->d;
  const size_t axes[] = {a, b, c};
  double third = 0, sums[3];
  for (size_t l = 0; l < 3; l++) {
    third += third_along(n, t, axes[(l + 1) % 3], axes[(l + 2) % 3], axes[l]) / 3;
    sums[l] = fourth_along(n, t, axes[(l + 1) % 3], axes[(l + 2) % 3], axes[l]);
  }
  for (size_t l = 0; l < 3; l++) {
    size_t i = axes[l], j = axes[(l + 1) % 3], k = axes[(l + 2) % 3];
    t->abc[(i * d + j) * d + k] = t->abc[(i * d + k) * d + j] = third;
    t->aabc[(i * d + j) * d + k] = t->aabc[(i * d + k) * d + j] =
        0.5 * (sums[(l + 1) % 3] + sums[(l + 2) % 3] - sums[l]);
  }
}

/* All but those of three axes; returns the sum of P_aabb over all a and b, by which tails are heavier than a
 * normal distribution's. */
static double take_pairs(const nodes_t *n, tensor_t *t) {
  double excess = 0;
  for (size_t a = 0; a < n->d; a++) {
    take_axis(n, t, a);
    excess += t->aaaa[a];
  }
  for (size_t a = 0; a < n->d; a++) {
    for (size_t b = 0; b < a; b++) {
      take_pair(n, t, a, b);
      excess += 2 * t->aabb[a * n->d + b];
    }
  }
  return excess;
}

/*
 * The kappa whose P has no such excess, about: that of P falls by something over kappa. With the logarithm of
 * a t of nu degrees of freedom it is (nu + d) / 2, and P is a parabola.
 */
static double choose_kappa(const nodes_t *n, const nodes_t *bent, tensor_t *t) {
  double d = (double)n->d, first = first_kappa * d;
  bend(n, most_kappa, bent);
  double excess = take_pairs(bent, t);
  bend(n, first, bent);
  double fallen = (excess - take_pairs(bent, t)) * first;
  return excess > 0 && fallen > 0 ? fmin(fmax(fallen / excess, least_kappa * d), most_kappa) : most_kappa;
}

/* ---- the polynomial ---- */

/* What z_a z_b z_c z_e is multiplied by, a >= b >= c >= e. */
static double fourth_factor(const tensor_t *t, size_t a, size_t b, size_t c, size_t e) {
  size_t d = t->d;
  if (a == e) {
    return t->aaaa[a] / 24;
  }
  if (a == c || b == e) {
    return (a == c ? t->aaab[a * d + e] : t->aaab[e * d + a]) / 6;
  }
  if (a == b && c == e) {
    return t->aabb[a * d + c] / 4;
  }
  return (a == b   ? t->aabc[(a * d + c) * d + e]
          : b == c ? t->aabc[(b * d + a) * d + e]
          : c == e ? t->aabc[(c * d + a) * d + b]
                   : 0) /
         2;
}

static void fill_terms(tacit_quartic_t *q, const tensor_t *t) {
  size_t d = q->d;
  for (size_t a = 0; a < d; a++) {
    for (size_t b = 0; b <= a; b++) {
      double *factor = q->terms + tacit_quartic_pair(a, b);
      factor[0] = t->ab[a * d + b] / (a == b ? 2 : 1);
      for (size_t c = 0; c <= b; c++) {
        double third = t->abc[(a * d + b) * d + c];
        factor[(1 + c) * q->stride] = third / (a == c ? 6 : a == b || b == c ? 2 : 1);
        for (size_t e = 0; e <= c; e++) {
          factor[(1 + d + tacit_quartic_pair(c, e)) * q->stride] = fourth_factor(t, a, b, c, e);
        }
      }
    }
  }
}

static void fit(tacit_quartic_t *q, const nodes_t *n, const nodes_t *bent, tensor_t *t) {
  q->constant = n->at[0];
  q->kappa = choose_kappa(n, bent, t);
  bend(n, q->kappa, bent);
  memcpy(q->slope, bent->at + 1, q->d * sizeof *q->slope);
  (void)take_pairs(bent, t);
  for (size_t a = 0; a < q->d; a++) {
    for (size_t b = 0; b < a; b++) {
      for (size_t c = 0; c < b; c++) {
        take_triple(bent, t, a, b, c);
      }
    }
  }
  fill_terms(q, t);
}

tacit_status_t tacit_quartic_fit(tacit_quartic_t *quartic, tacit_aware_posterior_t *posterior,
                                 const double *factor, tacit_error_t *err) {
  size_t d = quartic->d, n_nodes = 1 + 2 * d + d * (d - 1), n_each = n_nodes * (1 + d), d2 = d * d;
  double *memory = tacit_alloc_zero(2 * n_each + d + 3 * d2 + 2 * d2 * d, sizeof *memory);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  const nodes_t nodes = {d, n_nodes, memory}, bent = {d, n_nodes, memory + n_each};
  double *rest = memory + 2 * n_each;
  tensor_t tensor = {d,
                     rest,
                     rest + d2,
                     rest + d2 + d2 * d,
                     rest + d2 + d2 * d + d,
                     rest + 2 * d2 + d2 * d + d,
                     rest + 3 * d2 + d2 * d + d};
  if (look_around(quartic, posterior, factor, &nodes)) {
    fit(quartic, &nodes, &bent, &tensor);
  } else {
    quartic->constant = -INFINITY; /* and so is what is compared with it */
  }
  tacit_free(memory);
  return TACIT_OK;
}
