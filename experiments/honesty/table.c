/* Runs, one a line, become a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "honesty.h"

enum { MAX_CELLS = 512, MAX_LINE = 4096 };

/* A kind at a budget, or at all of them: epsilon 0. */
typedef struct cell {
  char kind[MAX_NAME];
  double epsilon, n, n_refused, n_flagged, n_failed, seconds;
  size_t n_terms;
  double covered[MAX_TERMS], counted[MAX_TERMS], width[MAX_TERMS]; /* of fits without a problem */
  double log_ratio[MAX_TERMS]; /* of gaussians: sd over the non-private one */
  double sigma_covered, sigma_counted;
} cell_t;

static cell_t *cell_of(cell_t *cells, size_t *n, const char *kind, double epsilon) {
  for (size_t i = 0; i < *n; i++) {
    if (strcmp(cells[i].kind, kind) == 0 && fabs(cells[i].epsilon - epsilon) < 1e-12) {
      return &cells[i];
    }
  }
  if (*n == MAX_CELLS) {
    return NULL;
  }
  cell_t *cell = &cells[(*n)++];
  *cell = (cell_t){.epsilon = epsilon};
  snprintf(cell->kind, sizeof cell->kind, "%.23s", kind);
  return cell;
}

enum { N_FIELDS = 8 };

/* A fit's line, cut into fields, is counted. */
static void count(cell_t *cell, char *const *fields) {
  bool is_refused = strcmp(fields[3], "refused") == 0, is_good = fields[3][0] == '\0';
  char terms[MAX_LINE];
  snprintf(terms, sizeof terms, "%s", fields[7]);
  cell->n += !is_refused;
  cell->n_refused += is_refused;
  cell->seconds += is_refused ? 0 : atof(fields[6]);
  cell->n_failed += strncmp(fields[3], "FAILED", 6) == 0;
  cell->n_flagged += !is_refused && !is_good;
  size_t j = 0;
  for (char *term = strtok(terms, ";"); term != NULL && j < MAX_TERMS; term = strtok(NULL, ";"), j++) {
    double truth, mean, sd, q5, q95, share, exact = NAN;
    bool is_there =
        sscanf(term, "%lf:%lf:%lf:%lf:%lf:%lf:%lf", &truth, &mean, &sd, &q5, &q95, &share, &exact) >= 6 &&
        is_good;
    if (is_there && strstr(term, ":sigma") != NULL) {
      cell->sigma_covered += q5 <= truth && truth <= q95;
      cell->sigma_counted++;
    } else if (is_there) {
      cell->log_ratio[j] += log(sd / exact);
      cell->covered[j] += q5 <= truth && truth <= q95;
      cell->width[j] += sd;
      cell->counted[j]++;
      cell->n_terms = j + 1 > cell->n_terms ? j + 1 : cell->n_terms;
    }
  }
}

/*
 * kind,epsilon,run,problems,warnings,statistics,seconds,terms; terms are truth:mean:sd:q5:q95:share joined by
 * ;, of a gaussian with :sd of the non-private posterior, and the last one, sigma, with :sigma
 */
static void add_line(cell_t *cells, size_t *n, char *line) {
  char *fields[N_FIELDS], *at = line;
  for (int i = 0; i < N_FIELDS; i++) {
    fields[i] = at;
    at = strchr(at, i + 1 < N_FIELDS ? ',' : '\n');
    if (at == NULL) {
      return; /* cut off by a crash: it is run again */
    }
    *at++ = '\0';
  }
  const double budgets[] = {atof(fields[1]), 0};
  for (int i = 0; i < 2; i++) {
    cell_t *cell = cell_of(cells, n, fields[0], budgets[i]);
    if (cell != NULL) {
      count(cell, fields);
    }
  }
}

/* Median over coefficients of the mean log ratio. */
static double median_ratio(const cell_t *c) {
  double ratios[MAX_TERMS];
  for (size_t j = 0; j < c->n_terms; j++) {
    double ratio = c->log_ratio[j] / c->counted[j];
    size_t at = j;
    for (; at > 0 && ratios[at - 1] > ratio; at--) {
      ratios[at] = ratios[at - 1];
    }
    ratios[at] = ratio;
  }
  return 0.5 * (ratios[c->n_terms / 2] + ratios[(c->n_terms - 1) / 2]);
}

static void write_cell(const cell_t *c, FILE *to) {
  double least = 1, sum = 0, n = 0;
  for (size_t j = 0; j < c->n_terms; j++) {
    double share = c->covered[j] / c->counted[j];
    least = fmin(least, share);
    sum += share;
    n++;
  }
  bool is_few = c->counted[0]<30, is_short = n> 0 && (least < 0.8 || sum / n < 0.86),
       is_wide = n > 0 && sum / n > 0.94;
  char epsilon[32] = "all";
  if (c->epsilon > 0) {
    snprintf(epsilon, sizeof epsilon, "%g", c->epsilon);
  }
  fprintf(to, "| %s | %s | %.0f | %.0f | %.0f | %.3f |", c->kind, epsilon, c->n, c->n_refused, c->n_failed,
          c->n_flagged / fmax(c->n, 1));
  if (n > 0) {
    fprintf(to, " %.3f | %.3f | %.3g |", sum / n, least,
            c->width[c->n_terms - 1] / c->counted[c->n_terms - 1]);
  } else {
    fprintf(to, " | | |");
  }
  fprintf(to, " %s | %.2f |",
          c->n_flagged > 0.5 * c->n ? "flagged"
          : c->n < 1                ? "refused"
          : is_few                  ? "few"
          : is_short                ? "short"
          : is_wide                 ? "wide"
                                    : "",
          c->seconds / fmax(c->n, 1));
  if (c->sigma_counted > 0) {
    fprintf(to, " %.3f | %.2f |\n", c->sigma_covered / c->sigma_counted, exp(median_ratio(c)));
  } else {
    fprintf(to, " | |\n");
  }
}

bool table_write(const char *runs, FILE *to) {
  FILE *file = fopen(runs, "r");
  cell_t *cells = calloc(MAX_CELLS, sizeof *cells);
  static char line[MAX_LINE];
  size_t n = 0;
  if (file == NULL || cells == NULL) {
    free(cells);
    if (file != NULL) {
      fclose(file);
    }
    return false;
  }
  while (fgets(line, sizeof line, file) != NULL) {
    add_line(cells, &n, line);
  }
  fclose(file);
  fprintf(to, "| kind | epsilon | runs | refused | failed | problems | coverage, mean | worst coefficient | "
              "sd, last coefficient | | seconds | sigma | sd "
              "ratio |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (size_t i = 0; i < 2 * n; i++) { /* all budgets last */
    const cell_t *cell = &cells[i % n];
    if ((cell->epsilon > 0) == (i < n)) {
      write_cell(cell, to);
    }
  }
  free(cells);
  return true;
}
