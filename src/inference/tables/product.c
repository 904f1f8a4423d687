/*
 * Sums over all cells of the population by passes over the tree: towards the root each clique's distribution
 * given its separator, back from it the margins; and how they change as theta does, by the same two passes on
 * differentials.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tables/tables_internal.h"

tacit_status_t tacit_tables_workspace_init(tacit_tables_workspace_t *workspace, const tacit_tables_t *t,
                                           tacit_error_t *err) {
  *workspace = (tacit_tables_workspace_t){0};
  double **arrays[] = {&workspace->given,
                       &workspace->p,
                       &workspace->tangent,
                       &workspace->separator,
                       &workspace->tangent_separator,
                       &workspace->message,
                       &workspace->cells,
                       &workspace->mean,
                       &workspace->load,
                       &workspace->move};
  size_t sizes[] = {
      t->n_clique_cells,    t->n_clique_cells, t->n_clique_cells, t->n_separator_cells, t->n_separator_cells,
      t->n_separator_cells, t->n_cells,        t->n_effects,      t->n_cells,           t->n_cells};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  return TACIT_OK;
}

void tacit_tables_workspace_clear(tacit_tables_workspace_t *workspace) {
  double *arrays[] = {workspace->given,
                      workspace->p,
                      workspace->tangent,
                      workspace->separator,
                      workspace->tangent_separator,
                      workspace->message,
                      workspace->cells,
                      workspace->mean,
                      workspace->load,
                      workspace->move};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  *workspace = (tacit_tables_workspace_t){0};
}

/* to (n_clique_cells) <- for each cell of a clique the sum of its margins' loads. */
static void spread_loads(const tacit_tables_t *t, const double *load, double *to) {
  memset(to, 0, t->n_clique_cells * sizeof *to);
  for (size_t i = 0; i < t->n_margins; i++) {
    const tacit_margin_t *m = &t->margins[i];
    const tacit_clique_t *c = &t->cliques[m->clique];
    for (size_t k = 0; k < c->n_cells; k++) {
      to[c->first + k] += load[m->first + m->to_margin[k]];
    }
  }
}

static void gather_margins(const tacit_tables_t *t, const double *p, double *cells) {
  memset(cells, 0, t->n_cells * sizeof *cells);
  for (size_t i = 0; i < t->n_margins; i++) {
    const tacit_margin_t *m = &t->margins[i];
    const tacit_clique_t *c = &t->cliques[m->clique];
    for (size_t k = 0; k < c->n_cells; k++) {
      cells[m->first + m->to_margin[k]] += p[c->first + k];
    }
  }
}

/* The parent's cells += what the child says of the separator. */
static void hand_up(const tacit_tables_t *t, const tacit_clique_t *child, const double *message,
                    double *all) {
  const tacit_clique_t *parent = &t->cliques[child->parent];
  for (size_t k = 0; child->from_parent != NULL && k < parent->n_cells; k++) {
    all[parent->first + k] += message[child->from_parent[k]];
  }
}

static void hand_down(const tacit_tables_t *t, const tacit_clique_t *child, const double *all, double at_root,
                      double *separator) {
  const tacit_clique_t *parent = &t->cliques[child->parent];
  memset(separator, 0, child->n_separator * sizeof *separator);
  if (child->from_parent == NULL) {
    separator[0] = at_root;
    return;
  }
  for (size_t k = 0; k < parent->n_cells; k++) {
    separator[child->from_parent[k]] += all[parent->first + k];
  }
}

/* given: log potentials of a clique, then its probabilities given the separator; message <- log of the sums.
 */
static void sum_out(const tacit_clique_t *c, double *given, double *sums, double *message) {
  for (size_t s = 0; s < c->n_separator; s++) {
    message[s] = -INFINITY;
    sums[s] = 0;
  }
  for (size_t k = 0; k < c->n_cells; k++) {
    message[c->to_separator[k]] = fmax(message[c->to_separator[k]], given[k]);
  }
  for (size_t k = 0; k < c->n_cells; k++) {
    given[k] = exp(given[k] - message[c->to_separator[k]]);
    sums[c->to_separator[k]] += given[k];
  }
  for (size_t k = 0; k < c->n_cells; k++) {
    given[k] /= sums[c->to_separator[k]];
  }
  for (size_t s = 0; s < c->n_separator; s++) {
    message[s] += log(sums[s]);
  }
}

void tacit_tables_product(const tacit_tables_t *t, tacit_tables_workspace_t *workspace, const double *theta) {
  tacit_sparse_times(&t->loads, t->n_cells, theta, workspace->load);
  spread_loads(t, workspace->load, workspace->given);
  for (size_t i = t->n_cliques; i-- > 0;) {
    const tacit_clique_t *c = &t->cliques[i];
    double *message = workspace->message + c->first_separator;
    sum_out(c, workspace->given + c->first, workspace->separator + c->first_separator, message);
    hand_up(t, c, message, workspace->given);
  }
  workspace->log_partition = workspace->message[0];
  for (size_t i = 0; i < t->n_cliques; i++) {
    const tacit_clique_t *c = &t->cliques[i];
    double *separator = workspace->separator + c->first_separator;
    hand_down(t, c, workspace->p, 1, separator);
    for (size_t k = 0; k < c->n_cells; k++) {
      workspace->p[c->first + k] = workspace->given[c->first + k] * separator[c->to_separator[k]];
    }
  }
  gather_margins(t, workspace->p, workspace->cells);
  tacit_sparse_turned(&t->loads, t->n_cells, t->n_effects, workspace->cells, workspace->mean);
}

void tacit_tables_covariance_times(const tacit_tables_t *t, tacit_tables_workspace_t *workspace,
                                   const double *v, double *out) {
  tacit_sparse_times(&t->loads, t->n_cells, v, workspace->load);
  spread_loads(t, workspace->load, workspace->tangent);
  for (size_t i = t->n_cliques; i-- > 0;) {
    const tacit_clique_t *c = &t->cliques[i];
    double *message = workspace->message + c->first_separator;
    memset(message, 0, c->n_separator * sizeof *message);
    for (size_t k = 0; k < c->n_cells; k++) {
      message[c->to_separator[k]] += workspace->given[c->first + k] * workspace->tangent[c->first + k];
    }
    hand_up(t, c, message, workspace->tangent);
  }
  for (size_t i = 0; i < t->n_cliques; i++) {
    const tacit_clique_t *c = &t->cliques[i];
    double *message = workspace->message + c->first_separator,
           *change = workspace->tangent_separator + c->first_separator;
    const double *given = workspace->given + c->first, *separator = workspace->separator + c->first_separator;
    hand_down(t, c, workspace->tangent, 0, change);
    for (size_t k = 0; k < c->n_cells; k++) {
      size_t s = c->to_separator[k];
      workspace->tangent[c->first + k] =
          given[k] * (change[s] + separator[s] * (workspace->tangent[c->first + k] - message[s]));
    }
  }
  gather_margins(t, workspace->tangent, workspace->move);
  tacit_sparse_turned(&t->loads, t->n_cells, t->n_effects, workspace->move, out);
}

void tacit_tables_covariance(const tacit_tables_t *t, tacit_tables_workspace_t *workspace, double *unit,
                             double *out) {
  memset(unit, 0, t->n_effects * sizeof *unit);
  for (size_t j = 0; j < t->n_effects; j++) {
    unit[j] = 1;
    tacit_tables_covariance_times(t, workspace, unit, out + j * t->n_effects);
    unit[j] = 0;
  }
}
