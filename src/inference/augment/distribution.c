/*
 * Probabilities of cells at theta. Real records: Gauss-Kronrod panels of 15 nodes, halved until each cell's
 * probability has a relative error of 1e-9; since all have to add up to 1, mass that was missed is noticed,
 * and searched for next to where the density is highest. Whole numbers: sums. All in logarithms, so that a
 * cell has a gradient however unlikely it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"

enum {
  N_NODES = 15,
  LANES = TACIT_POPULATION_LANES,
  MAX_PANELS = 1 << 18,
  MAX_SEARCH = 400,
  MAX_ABOVE = 4,
  MAX_PASSES = 60
};
static const double TOLERANCE = 1e-9, NOT_ONE = 1e-8;

/* [Piessens1983, qk15]: abscissae on (-1, 1), weights of Kronrod's rule and of Gauss' at every other one. */
static const double abscissae[8] = {0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
                                    0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
                                    0.586087235467691130294144691645023, 0.405845151377397166906606412076961,
                                    0.207784955007898467600689403773245, 0};
static const double kronrod[8] = {0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
                                  0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
                                  0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
                                  0.204432940075298892414161999234649, 0.209482141084727828012999174891714};
static const double gauss[4] = {0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
                                0.381830050505118944950369775488975, 0.417959183673469387755102040816327};

typedef struct panel {
  double from, to;
  uint32_t combination, cell;
  double log_value, log_error, peak;  /* of its integral; the highest log density in s */
  double x[LANES], log_weight[LANES]; /* nodes; log of weight times density; -inf where there is none */
} panel_t;

struct tacit_distribution {
  const tacit_cells_t *cells;
  tacit_population_workspace_t *workspace;
  panel_t *panels;
  size_t n_panels, capacity;
  double *combinations;       /* (n_combinations, n_columns) */
  double *x;                  /* (n_columns, 16) */
  double *grad;               /* (n_parameters, 16) */
  double *theta_set;          /* (n_parameters) */
  double *log_p_set;          /* (n_cells) */
  bool has_no_number, is_set; /* is_set: panels, and log_p_set, are those of theta_set */
};

tacit_status_t tacit_distribution_new(tacit_distribution_t **distribution, const tacit_cells_t *cells,
                                      tacit_error_t *err) {
  tacit_distribution_t *made = *distribution = tacit_alloc_zero(1, sizeof *made);
  if (made == NULL) {
    return tacit_error_memory(err);
  }
  made->cells = cells;
  if (cells->table != NULL) {
    return TACIT_OK;
  }
  size_t n_parameters = tacit_population_n_parameters(cells->population);
  made->combinations = tacit_alloc_zero(cells->n_combinations * cells->n_columns, sizeof *made->combinations);
  made->x = tacit_alloc_zero(cells->n_columns * LANES, sizeof *made->x);
  made->grad = tacit_alloc_zero(n_parameters * LANES, sizeof *made->grad);
  made->theta_set = tacit_alloc_zero(n_parameters, sizeof *made->theta_set);
  made->log_p_set = tacit_alloc_zero(cells->n_cells, sizeof *made->log_p_set);
  tacit_status_t status = made->log_p_set != NULL && made->combinations != NULL && made->x != NULL &&
                                  made->grad != NULL && made->theta_set != NULL
                              ? TACIT_OK
                              : tacit_error_memory(err);
  for (size_t k = 0; status == TACIT_OK && k < cells->n_combinations; k++) {
    tacit_cells_combination(cells, k, made->combinations + k * cells->n_columns);
  }
  TACIT_THEN(status, tacit_population_workspace_new(&made->workspace, cells->population, err));
  if (status != TACIT_OK) {
    tacit_distribution_free(made);
    *distribution = NULL;
  }
  return status;
}

void tacit_distribution_free(tacit_distribution_t *distribution) {
  if (distribution != NULL) {
    tacit_free(distribution->panels);
    tacit_free(distribution->combinations);
    tacit_free(distribution->x);
    tacit_free(distribution->grad);
    tacit_free(distribution->theta_set);
    tacit_free(distribution->log_p_set);
    tacit_population_workspace_free(distribution->workspace);
    tacit_free(distribution);
  }
}

tacit_population_workspace_t *tacit_distribution_workspace(const tacit_distribution_t *distribution) {
  return distribution->workspace;
}

/* ---- panels ---- */

static void set_columns(tacit_distribution_t *distribution, const panel_t *panel) {
  const tacit_cells_t *cells = distribution->cells;
  const double *combination = distribution->combinations + panel->combination * cells->n_columns;
  for (size_t j = 0; j < cells->n_columns; j++) {
    for (size_t lane = 0; lane < LANES; lane++) {
      distribution->x[j * LANES + lane] = j == cells->long_column ? panel->x[lane] : combination[j];
    }
  }
}

/* Fill a panel whose range, cell and combination are set. */
static void evaluate(tacit_distribution_t *distribution, panel_t *p) {
  const tacit_cells_t *cells = distribution->cells;
  double log_lik[LANES], log_slope[LANES] = {0}, weight[LANES], lower[LANES] = {0},
                         half = 0.5 * (p->to - p->from), sum = 0, coarse = 0;
  size_t n = cells->is_real ? N_NODES : (size_t)(p->to - p->from) + 1;
  for (size_t i = 0; i < LANES; i++) {
    size_t k = i < 8 ? i : 14 - (i < n ? i : 0);
    double at = cells->is_real ? 0.5 * (p->from + p->to) + (i < 8 ? -1 : 1) * half * abscissae[i < n ? k : 7]
                               : p->from + (double)(i < n ? i : 0);
    p->x[i] = tacit_cells_stretch(cells, at, &log_slope[i]);
    weight[i] = !cells->is_real ? 1 : half * kronrod[k < 8 ? k : 7];
    lower[i] = cells->is_real && i < n && k % 2 == 1 ? half * gauss[k / 2] : 0;
  }
  set_columns(distribution, p);
  tacit_population_log_lik(distribution->workspace, distribution->theta_set, distribution->x, log_lik, NULL);
  p->peak = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    distribution->has_no_number = distribution->has_no_number || isnan(log_lik[i]) || log_lik[i] > 1e300;
    p->log_weight[i] = log_lik[i] + log_slope[i];
    p->peak = fmax(p->peak, p->log_weight[i]);
  }
  for (size_t i = n; i < LANES; i++) {
    p->log_weight[i] = -INFINITY;
  }
  if (!(p->peak > -INFINITY)) {
    p->log_value = p->log_error = -INFINITY;
    return;
  }
  for (size_t i = 0; i < n; i++) {
    double f = exp(p->log_weight[i] - p->peak);
    sum += weight[i] * f;
    coarse += lower[i] * f;
    p->log_weight[i] += log(weight[i]);
  }
  double ratio =
      cells->is_real ? fabs(sum - coarse) / sum : 0; /* of two rules; that of the finer one is far less */
  p->log_value = p->peak + log(sum);
  p->log_error = p->log_value + log(fmin(ratio, pow(200 * ratio, 1.5)));
}

static panel_t *append(tacit_distribution_t *distribution, double from, double to, uint32_t combination,
                       uint32_t cell) {
  if (distribution->n_panels == distribution->capacity) {
    size_t more = 2 * distribution->capacity + 128;
    panel_t *panels =
        more <= 2 * MAX_PANELS ? tacit_realloc(distribution->panels, more, sizeof *panels) : NULL;
    if (panels == NULL) {
      return NULL;
    }
    distribution->panels = panels;
    distribution->capacity = more;
  }
  panel_t *panel = &distribution->panels[distribution->n_panels++];
  panel->from = from;
  panel->to = to;
  panel->combination = combination;
  panel->cell = cell;
  evaluate(distribution, panel);
  return panel;
}

/* Sixteen whole numbers at a time; in a long piece until what follows is nothing, which the total confirms.
 */
static bool append_whole(tacit_distribution_t *distribution, const tacit_piece_of_range_t *piece) {
  double highest = -INFINITY, before = -INFINITY;
  for (double from = piece->from; from <= piece->to; from += LANES) {
    panel_t *panel =
        append(distribution, from, fmin(from + LANES - 1, piece->to), piece->combination, piece->cell);
    if (panel == NULL || distribution->has_no_number) {
      return panel != NULL;
    }
    highest = fmax(highest, panel->peak);
    if (panel->peak < before && panel->peak < highest - 60) {
      break;
    }
    before = panel->peak;
  }
  return true;
}

/* Pieces are cut at 0, 1, 2, 4, .. on either side: panels are as wide as x is large. */
static bool append_real(tacit_distribution_t *distribution, const tacit_piece_of_range_t *piece) {
  double from = piece->from;
  while (from < piece->to) {
    double next = from >= 0    ? (from < 1 ? 1 : 2 * pow(2, floor(log2(from))))
                  : from >= -1 ? 0
                               : -pow(2, ceil(log2(-from)) - 1);
    double to = next < piece->to && next > from ? next : piece->to;
    if (append(distribution, from, to, piece->combination, piece->cell) == NULL) {
      return false;
    }
    from = to;
  }
  return true;
}

static void add_log(double *to, double x) {
  double high = fmax(*to, x), low = fmin(*to, x);
  *to = low > -INFINITY ? high + log1p(exp(low - high)) : high;
}

static void add_up(const tacit_distribution_t *distribution, double *log_p) {
  for (size_t c = 0; c < distribution->cells->n_cells; c++) {
    log_p[c] = -INFINITY;
  }
  for (size_t i = 0; i < distribution->n_panels; i++) {
    add_log(&log_p[distribution->panels[i].cell], distribution->panels[i].log_value);
  }
}

/* Two halves in its place. */
static bool halve(tacit_distribution_t *distribution, size_t i) {
  panel_t *p = &distribution->panels[i];
  double to = p->to, middle = 0.5 * (p->from + p->to);
  p->to = middle;
  evaluate(distribution, p);
  return append(distribution, middle, to, distribution->panels[i].combination,
                distribution->panels[i].cell) != NULL;
}

static bool can_halve(const panel_t *p) { return p->to - p->from > 1e-13 * fmax(1, fabs(p->from)); }

static bool refine(tacit_distribution_t *distribution, double *log_p) {
  for (int pass = 0; pass < MAX_PASSES; pass++) {
    size_t n = distribution->n_panels;
    bool is_fine = true;
    add_up(distribution, log_p);
    for (size_t i = 0; i < n; i++) {
      const panel_t *p = &distribution->panels[i];
      if (p->log_error > fmax(log_p[p->cell], -70) + log(TOLERANCE) - 2 && can_halve(p)) {
        is_fine = false;
        if (!halve(distribution, i)) {
          return false;
        }
      }
    }
    if (is_fine || distribution->has_no_number) {
      return true;
    }
  }
  return false;
}

static double total_of(const double *log_p, size_t n) {
  double total = -INFINITY;
  for (size_t c = 0; c < n; c++) {
    add_log(&total, log_p[c]);
  }
  return exp(total);
}

/* More than all was found: somewhere two rules agree by chance. Every panel with something in it. */
static bool halve_all(tacit_distribution_t *distribution) {
  for (size_t i = 0, n = distribution->n_panels; i < n; i++) {
    if (distribution->panels[i].log_value > log(1e-12) && can_halve(&distribution->panels[i]) &&
        !halve(distribution, i)) {
      return false;
    }
  }
  return true;
}

static int compare_place(const void *a, const void *b) {
  const panel_t *p = a, *q = b;
  return p->combination != q->combination
             ? (p->combination > q->combination) - (p->combination < q->combination)
             : (p->from > q->from) - (p->from < q->from);
}

/*
 * Halve what is much wider than a panel next to it where there is something: a mode at a border, nearer to it
 * than any node, is found from one side of it alone.
 */
static bool even_out(tacit_distribution_t *distribution, size_t *n_halved) {
  size_t n = distribution->n_panels;
  double highest = -INFINITY;
  qsort(distribution->panels, n, sizeof *distribution->panels, compare_place);
  for (size_t i = 0; i < n; i++) {
    highest = fmax(highest, distribution->panels[i].log_value);
  }
  *n_halved = 0;
  for (size_t i = 0; i + 1 < n; i++) {
    const panel_t *p = &distribution->panels[i], *q = &distribution->panels[i + 1];
    double p_width = p->to - p->from, q_width = q->to - q->from;
    const panel_t *narrow = p_width < q_width ? p : q, *wide = narrow == p ? q : p;
    bool is_border = p->combination == q->combination && p->to == q->from;
    if (is_border && fmax(p_width, q_width) > 4 * fmin(p_width, q_width) &&
        narrow->log_value > highest - 70 && can_halve(wide)) {
      if (!halve(distribution, (size_t)(wide - distribution->panels))) {
        return false;
      }
      ++*n_halved;
    }
  }
  return true;
}

/* The panel next to which there is most to be found: where the density is highest for its width. */
static bool search(tacit_distribution_t *distribution) {
  size_t best = SIZE_MAX, n_halved;
  double highest = -INFINITY;
  if (!even_out(distribution, &n_halved)) {
    return false;
  }
  if (n_halved > 0) {
    return true;
  }
  for (size_t i = 0; i < distribution->n_panels; i++) {
    const panel_t *p = &distribution->panels[i];
    double promise = p->peak + log(p->to - p->from);
    if (promise > highest && can_halve(p)) {
      highest = promise;
      best = i;
    }
  }
  return best != SIZE_MAX && halve(distribution, best);
}

tacit_distribution_outcome_t tacit_distribution_set(tacit_distribution_t *distribution, const double *theta,
                                                    double *log_p, double *total) {
  const tacit_cells_t *cells = distribution->cells;
  if (cells->table != NULL) {
    tacit_table_set(cells->table, theta, log_p);
    *total = 1;
    return TACIT_DISTRIBUTION_OK;
  }
  size_t size = tacit_population_n_parameters(cells->population) * sizeof *theta;
  bool ok = true;
  if (distribution->is_set && memcmp(distribution->theta_set, theta, size) == 0) {
    memcpy(log_p, distribution->log_p_set, cells->n_cells * sizeof *log_p);
    return TACIT_DISTRIBUTION_OK;
  }
  memcpy(distribution->theta_set, theta, size);
  distribution->n_panels = 0;
  distribution->has_no_number = false;
  for (size_t i = 0; i < cells->n_pieces && ok && !distribution->has_no_number; i++) {
    ok = cells->is_real ? append_real(distribution, &cells->pieces[i])
                        : append_whole(distribution, &cells->pieces[i]);
  }
  *total = NAN;
  for (int i = 0, n_above = 0; i < MAX_SEARCH && ok && !distribution->has_no_number; i++) {
    if (cells->is_real) {
      ok = refine(distribution, log_p);
    } else {
      add_up(distribution, log_p);
    }
    *total = total_of(log_p, cells->n_cells);
    bool is_done = fabs(*total - 1) <= NOT_ONE || !cells->is_real;
    if (is_done ||
        (*total > 1 ? n_above++ >= MAX_ABOVE || !halve_all(distribution) : !search(distribution))) {
      break;
    }
  }
  *total = ok ? *total : NAN; /* too many panels: sums of what is not resolved bound nothing */
  distribution->is_set = ok && !distribution->has_no_number && fabs(*total - 1) <= NOT_ONE;
  if (distribution->is_set) {
    memcpy(distribution->log_p_set, log_p, cells->n_cells * sizeof *log_p);
  }
  return distribution->is_set          ? TACIT_DISTRIBUTION_OK
         : distribution->has_no_number ? TACIT_DISTRIBUTION_NO_NUMBER
                                       : TACIT_DISTRIBUTION_NOT_ONE;
}

void tacit_distribution_add_grad(tacit_distribution_t *distribution, const double *counts,
                                 const double *log_p, double *grad) {
  if (distribution->cells->table != NULL) {
    tacit_table_add_grad(distribution->cells->table, counts, log_p, grad);
    return;
  }
  size_t dim = tacit_population_n_parameters(distribution->cells->population);
  for (size_t i = 0; i < distribution->n_panels; i++) {
    const panel_t *p = &distribution->panels[i];
    double log_lik[LANES], weight[LANES], most = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
      weight[lane] = counts[p->cell] > 0 && p->log_weight[lane] > -INFINITY
                         ? counts[p->cell] * exp(p->log_weight[lane] - log_p[p->cell])
                         : 0;
      most = fmax(most, weight[lane]);
    }
    if (!(most > 1e-14 * counts[p->cell])) {
      continue;
    }
    set_columns(distribution, p);
    tacit_population_log_lik(distribution->workspace, distribution->theta_set, distribution->x, log_lik,
                             distribution->grad);
    for (size_t j = 0; j < dim; j++) {
      for (size_t lane = 0; lane < LANES; lane++) {
        grad[j] += weight[lane] > 0 ? weight[lane] * distribution->grad[j * LANES + lane] : 0;
      }
    }
  }
}
