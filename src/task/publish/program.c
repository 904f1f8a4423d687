/*
 * A line of a program's block 'statistic': the columns that it looks at, its bounds over all values that the
 * schema allows, and records that hold what the line sees of each row. The statistic then is the counts of
 * these numbers, or the sum of one.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/pack.h"
#include "data/records.h"
#include "publish/publish_internal.h"

enum { MAX_BYTES = 1 << 22, LANES = 16, N_PROBES = 64 };

static tacit_status_t refuse_program(tacit_error_t *err, const char *field, const char *name,
                                     const char *what) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "%s: %s", name, what);
}

/* ---- the program ---- */

static tacit_status_t read_settings(tacit_publish_t *publish, tacit_error_t *err) {
  return !tacit_publish_has(publish, "margin")
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin",
                               "--margin goes with --statistic margins, not with a program, whose lines say "
                               "what is counted");
}

static tacit_status_t parse(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_program_constants_t constants = {0};
  tacit_error_t why = {0};
  char *text = NULL;
  size_t n = 0;
  tacit_status_t status = tacit_file_read(publish->formula, MAX_BYTES, &text, &n, err);
  TACIT_THEN(status, tacit_request_constants(&publish->given, &constants, err));
  if (status == TACIT_OK) {
    status = tacit_population_parse(&publish->population, text, n, constants.items, constants.n, &why);
    if (status != TACIT_OK) {
      (void)tacit_error_set(err, status, "formula", "%s: %s", publish->formula, why.message);
    }
  }
  tacit_program_constants_clear(&constants);
  tacit_free(text);
  return status;
}

static tacit_status_t choose_line(tacit_publish_t *publish, tacit_error_t *err) {
  const char *name = tacit_publish_value(publish, "statistic");
  tacit_nearest_t nearest = {.name = name != NULL ? name : ""};
  char hint[TACIT_HINT_SIZE];
  size_t n;
  const tacit_population_statistic_t *all = tacit_population_statistics(publish->population, &n);
  publish->line = name == NULL && n == 1 ? all : NULL;
  for (size_t i = 0; i < n && name != NULL; i++) {
    publish->line = strcmp(all[i].name, name) == 0 ? &all[i] : publish->line;
    tacit_nearest_offer(&nearest, all[i].name);
  }
  if (publish->line == NULL) {
    return tacit_error_set(err, TACIT_ERR_UNKNOWN, "statistic",
                           name == NULL
                               ? "the program has several statistics: --statistic NAME says which%s%s"
                               : "the program has no statistic '%s'%s",
                           name != NULL ? name : "", name != NULL ? tacit_nearest_hint(&nearest, hint) : "");
  }
  if (publish->line->is_quantile) {
    return refuse_program(err, "statistic", publish->line->name,
                          "a quantile is not released here: release the counts, count(cut(x, {..})), which "
                          "tell every quantile");
  }
  return publish->line->is_count || publish->line->n_marks == 1
             ? TACIT_OK
             : refuse_program(err, "statistic", publish->line->name,
                              "a sum of one number is released at a time");
}

/* ---- columns ---- */

/* The value that the program calls level 0 of a column. */
static double first_of(const tacit_population_column_t *column, const tacit_column_schema_t *schema) {
  return schema->type == TACIT_COLUMN_CATEGORICAL ? column->lower : 0;
}

static double least_of(const tacit_population_column_t *c, const tacit_column_schema_t *s) {
  return s->type == TACIT_COLUMN_CATEGORICAL ? c->lower : s->lower;
}
static double most_of(const tacit_population_column_t *c, const tacit_column_schema_t *s) {
  return s->type == TACIT_COLUMN_CATEGORICAL ? c->lower + (double)s->n_levels - 1 : s->upper;
}

static tacit_status_t check_column(const tacit_population_column_t *c, const tacit_column_schema_t *s,
                                   tacit_error_t *err) {
  bool is_whole = s->type == TACIT_COLUMN_INTEGER || s->type == TACIT_COLUMN_BINARY ||
                  s->type == TACIT_COLUMN_CATEGORICAL;
  if (s->type == TACIT_COLUMN_ID || s->missing == TACIT_MISSING_DROP) {
    return refuse_program(err, "schema", c->name,
                          s->type == TACIT_COLUMN_ID
                              ? "it says whose record it is: nothing is released of it"
                              : "missing: drop hides how many records count, and the release is read with "
                                "that number: say what a missing value counts as");
  }
  if (c->is_integer != is_whole) {
    return refuse_program(err, "schema", c->name,
                          is_whole ? "it is whole in the schema, and real in the program"
                                   : "it is numeric in the schema, and int in the program");
  }
  if (s->type == TACIT_COLUMN_CATEGORICAL &&
      (fabs(c->lower) > 1 || c->lower < 0 || fabs(c->upper - c->lower + 1 - (double)s->n_levels) > 0)) {
    return tacit_error_set(err, TACIT_ERR_SCHEMA, "schema",
                           "%s: it has %zu levels in the schema: declare it int<lower=1, upper=%zu>", c->name,
                           s->n_levels, s->n_levels);
  }
  if (least_of(c, s) < c->lower || most_of(c, s) > c->upper) {
    return tacit_error_set(err, TACIT_ERR_SCHEMA, "schema",
                           "%s: it is from %g to %g in the schema, and from %g to %g in the program, which "
                           "has to allow all of it",
                           c->name, least_of(c, s), most_of(c, s), c->lower, c->upper);
  }
  return TACIT_OK;
}

static tacit_status_t find_columns(tacit_publish_t *publish, tacit_error_t *err) {
  size_t n;
  const tacit_population_column_t *c = tacit_population_columns(publish->population, &n);
  if (n > TACIT_PUBLISH_MAX_COLUMNS) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "formula", "a release is of at most %d columns",
                           (int)TACIT_PUBLISH_MAX_COLUMNS);
  }
  tacit_status_t status = TACIT_OK;
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    const tacit_column_schema_t *s = tacit_schema_find(publish->schema, c[j].name);
    status = s != NULL ? check_column(&c[j], s, err)
                       : tacit_error_set(err, TACIT_ERR_UNKNOWN, "schema",
                                         "the schema has no column '%.60s', which the program's records have",
                                         c[j].name);
    publish->columns[j] = s;
  }
  publish->n_columns = n;
  return status;
}

/* ---- bounds ---- */

static void ranges_over(tacit_publish_t *publish, tacit_population_workspace_t *workspace, const double *box,
                        double *ranges) {
  tacit_population_mark_ranges(workspace, box, ranges);
  memmove(ranges, ranges + 2 * publish->line->first_mark, 2 * publish->line->n_marks * sizeof *ranges);
}

/* A point of the schema's box, the same for all: spread evenly by the golden ratio's multiples. */
static double probe(const tacit_population_column_t *c, const tacit_column_schema_t *s, size_t i, size_t j) {
  double low = least_of(c, s), high = most_of(c, s),
         u = (double)(i + 1) * 0.6180339887498949 * (2 * (double)j + 1);
  double x = low + (u - floor(u)) * (high - low + (c->is_integer ? 1 : 0));
  return fmin(c->is_integer ? floor(x) : x, high);
}

/* Does the line tell values of column j beyond a bound of the schema from that bound, wherever the other
 * columns are (at N_PROBES points)? */
static bool is_told(tacit_publish_t *publish, tacit_population_workspace_t *workspace, size_t j, double from,
                    double to, double *box, double *ranges) {
  size_t n;
  const tacit_population_column_t *c = tacit_population_columns(publish->population, &n);
  bool is_told = false;
  for (size_t i = 0; i < N_PROBES && from < to && !is_told; i++) {
    for (size_t k = 0; k < n; k++) {
      box[2 * k] = k == j ? from : probe(&c[k], publish->columns[k], i, k);
      box[2 * k + 1] = k == j ? to : box[2 * k];
    }
    ranges_over(publish, workspace, box, ranges);
    for (size_t k = 0; k < publish->line->n_marks; k++) {
      is_told = is_told || !(ranges[2 * k + 1] - ranges[2 * k] <=
                             1e-9 * (publish->line->is_count ? 1 : publish->upper[k] - publish->lower[k]));
    }
  }
  return is_told;
}

/* What moves a value to a bound of the schema is unknown to whoever infers: it may move no number that the
 * line sees. */
static void warn_of_moved(tacit_publish_t *publish, tacit_population_workspace_t *workspace, double *box,
                          double *ranges) {
  size_t n;
  const tacit_population_column_t *c = tacit_population_columns(publish->population, &n);
  for (size_t j = 0; j < n; j++) {
    double low = least_of(&c[j], publish->columns[j]), high = most_of(&c[j], publish->columns[j]);
    if (is_told(publish, workspace, j, c[j].lower, low, box, ranges) ||
        is_told(publish, workspace, j, high, c[j].upper, box, ranges)) {
      tacit_text_printf(&publish->warnings,
                        "warning: values of '%s' beyond the schema's bounds are moved to them before '%s' "
                        "looks at them, and tacit infer would not know: let the program move them, "
                        "fmin(fmax(%s, %g), %g), or give its bounds to the data\n",
                        c[j].name, publish->line->name, c[j].name, low, high);
    }
  }
}

/* The statistic that is released, of numbers that a row is packed as. */
static tacit_status_t set_statistic(tacit_publish_t *publish, const double *ranges, tacit_error_t *err) {
  const tacit_population_statistic_t *line = publish->line;
  tacit_statistic_t *s = &publish->statistic;
  bool is_discrete =
      s->noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN || s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE;
  s->kind = line->is_count ? TACIT_STATISTIC_COUNTS : TACIT_STATISTIC_SUM;
  s->n_columns = line->n_marks;
  if (s->n_columns > TACIT_PUBLISH_MAX_COLUMNS) {
    return refuse_program(err, "statistic", line->name, "a table of more numbers than a release may have");
  }
  for (size_t k = 0; k < line->n_marks; k++) {
    double low = ranges[2 * k], high = ranges[2 * k + 1];
    if (line->is_count && !(low >= line->first[k] && high <= line->first[k] + (double)line->extents[k] - 1)) {
      return refuse_program(err, "statistic", line->name,
                            "a number of its cells can be beyond what it is declared to be");
    }
    if (!line->is_count && !(isfinite(low) && isfinite(high) && low < high)) {
      return refuse_program(err, "statistic", line->name,
                            "one record can add any number, or always the same one, by the bounds of the "
                            "schema: clamp it, fmin(fmax(x, 0), 10)");
    }
    publish->lower[k] = line->is_integer ? nearbyint(low) : low;
    publish->upper[k] = line->is_integer ? nearbyint(high) : high;
    publish->n_levels[k] = line->is_count ? line->extents[k] : 0;
  }
  if (!line->is_count && is_discrete && !line->is_integer) {
    return refuse_program(err, "mechanism", line->name,
                          "discrete noise goes with counts and sums of ints: take gaussian or laplace");
  }
  s->step = !line->is_count && is_discrete ? 1 : 0;
  return TACIT_OK;
}

static tacit_status_t find_bounds(tacit_publish_t *publish, tacit_error_t *err) {
  size_t n, n_marks = tacit_population_n_marks(publish->population);
  const tacit_population_column_t *c = tacit_population_columns(publish->population, &n);
  tacit_population_workspace_t *workspace = NULL;
  double *box = tacit_alloc(2 * n, sizeof *box), *ranges = tacit_alloc(2 * n_marks, sizeof *ranges);
  tacit_status_t status = box != NULL && ranges != NULL
                              ? tacit_population_workspace_new(&workspace, publish->population, err)
                              : tacit_error_memory(err);
  if (status == TACIT_OK) {
    for (size_t j = 0; j < n; j++) {
      box[2 * j] = least_of(&c[j], publish->columns[j]);
      box[2 * j + 1] = most_of(&c[j], publish->columns[j]);
    }
    ranges_over(publish, workspace, box, ranges);
    status = set_statistic(publish, ranges, err);
  }
  if (status == TACIT_OK) {
    warn_of_moved(publish, workspace, box, ranges);
  }
  tacit_population_workspace_free(workspace);
  tacit_free(box);
  tacit_free(ranges);
  return status;
}

static tacit_status_t choose(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_status_t (*const steps[])(tacit_publish_t *, tacit_error_t *) = {parse, choose_line, find_columns,
                                                                         find_bounds};
  tacit_status_t status = TACIT_OK;
  if (tacit_publish_has(publish, "column") || tacit_publish_has(publish, "step")) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "column",
        "--column and --step do not go with a program, whose block 'statistic' says what is released");
  }
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TACIT_OK; i++) {
    status = steps[i](publish, err);
  }
  return status;
}

/* ---- records ---- */

typedef struct packing {
  const tacit_publish_t *publish;
  const tacit_population_column_t *about;
  const double *columns[TACIT_PUBLISH_MAX_COLUMNS];
  tacit_records_t *records;
  size_t begin;
  tacit_population_workspace_t **workspaces; /* (n_threads) */
  double *work;                              /* (n_threads, n_columns + n_marks, 16) */
  size_t n_work;
} packing_t;

static void pack_range(void *user, size_t from, size_t to, size_t thread) {
  const packing_t *p = user;
  const tacit_publish_t *publish = p->publish;
  const tacit_population_statistic_t *line = publish->line;
  double *x = p->work + thread * p->n_work, *marks = x + publish->n_columns * LANES;
  for (size_t first = from; first < to; first += LANES) {
    size_t n = to - first < LANES ? to - first : LANES;
    for (size_t i = 0; i < publish->n_columns * LANES; i++) {
      const tacit_column_schema_t *s = publish->columns[i / LANES];
      const tacit_population_column_t *c = &p->about[i / LANES];
      double value =
          p->columns[i / LANES][p->begin + first + (i % LANES < n ? i % LANES : 0)] + first_of(c, s);
      x[i] = fmin(fmax(value, least_of(c, s)), most_of(c, s));
    }
    tacit_population_marks(p->workspaces[thread], x, marks);
    for (size_t k = 0; k < line->n_marks; k++) {
      double *mark = marks + (line->first_mark + k) * LANES;
      for (size_t lane = 0; lane < n; lane++) {
        mark[lane] -= line->is_count ? line->first[k] : 0;
      }
      tacit_records_set_column(p->records, first, n, k, mark);
    }
  }
}

static tacit_status_t make_workspaces(packing_t *p, size_t n_threads, tacit_error_t *err) {
  p->n_work = (p->publish->n_columns + tacit_population_n_marks(p->publish->population)) * LANES;
  p->workspaces = tacit_alloc_zero(n_threads, sizeof(tacit_population_workspace_t *));
  p->work = tacit_alloc(n_threads * p->n_work, sizeof *p->work);
  tacit_status_t status = p->workspaces != NULL && p->work != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t t = 0; t < n_threads && status == TACIT_OK; t++) {
    status = tacit_population_workspace_new(&p->workspaces[t], p->publish->population, err);
  }
  return status;
}

static tacit_status_t pack(const tacit_publish_t *publish, const tacit_table_t *table,
                           tacit_records_t **records, tacit_error_t *err) {
  size_t n, n_threads = publish->limits.n_threads;
  packing_t p = {.publish = publish, .about = tacit_population_columns(publish->population, &n)};
  const tacit_pack_share_t share = {.n_parts = 1,
                                    .n_threads = n_threads,
                                    .n_columns = publish->line->n_marks,
                                    .scratch = tacit_publish_value(publish, "scratch"),
                                    .columns = publish->names,
                                    .n_table_columns = publish->n_columns};
  *records = NULL;
  tacit_status_t status = make_workspaces(&p, n_threads, err);
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    p.columns[j] = tacit_table_column(table, publish->names[j]);
    status = p.columns[j] != NULL
                 ? TACIT_OK
                 : tacit_error_set(err, TACIT_ERR_UNKNOWN, publish->names[j],
                                   "the table was read without column '%.64s'", publish->names[j]);
  }
  TACIT_THEN(status, tacit_pack_share(&p.records, &p.begin, table, &share, pack_range, &p, err));
  for (size_t t = 0; p.workspaces != NULL && t < n_threads; t++) {
    tacit_population_workspace_free(p.workspaces[t]);
  }
  tacit_free(p.workspaces);
  tacit_free(p.work);
  *records = p.records;
  return status;
}

const tacit_publish_kind_t tacit_publish_of_program = {.read = read_settings, .choose = choose, .pack = pack};
