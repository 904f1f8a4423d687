/* Rows of a population known by noisy margins: for each set a draw of its effects, and rows of the table that
 * they make. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "infer/margins.h"
#include "report/report_internal.h"
#include "synthesize/synthesize_internal.h"
#include "tacit/random.h"
#include "tacit/report.h"

enum { MAX_BYTES = 1 << 22 };

typedef struct synthesis {
  tacit_report_read_t post;
  tacit_margins_file_t margins;
  size_t n_rows, n_sets, n_draws, n_cells;
  uint64_t seed;
  uint16_t *rows; /* (n_rows, n_columns) */
  double *counts; /* (n_cells): rows of all sets in each cell of the margins */
  tacit_text_t csv, json, html;
} synthesis_t;

static tacit_status_t statistic_path(const char *path, tacit_text_t *text, tacit_error_t *err) {
  tacit_text_printf(text, "%s/statistic.yaml", path);
  return text->failed ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_synthesis_is_of_tables(const char *path, bool *is_so, tacit_error_t *err) {
  tacit_text_t name = {0};
  struct stat info;
  tacit_status_t status = statistic_path(path, &name, err);
  *is_so = status == TACIT_OK && stat(name.data, &info) == 0;
  tacit_text_clear(&name);
  return status;
}

/* ---- what there is ---- */

static tacit_status_t read_margins(synthesis_t *s, const char *path, tacit_error_t *err) {
  tacit_text_t name = {0};
  char *text = NULL;
  size_t n = 0;
  tacit_status_t status = statistic_path(path, &name, err);
  TACIT_THEN(status, tacit_file_read(name.data, MAX_BYTES, &text, &n, err));
  tacit_yaml_t file = {.name = name.data, .what = "a statistic", .err = err};
  TACIT_THEN(status, tacit_margins_read(&s->margins, &file, text, n));
  TACIT_THEN(status, tacit_margins_build(&s->margins, &file));
  if (status == TACIT_OK && s->margins.n_zeros > 0) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "path",
                             "rows are not made of margins with cells that cannot be (zeros:)");
  }
  tacit_yaml_close(&file);
  tacit_free(text);
  tacit_text_clear(&name);
  return status;
}

static tacit_status_t choose_size(synthesis_t *s, const tacit_synthesis_settings_t *settings,
                                  tacit_error_t *err) {
  if (settings->n_sets < 1 || settings->n_sets > TACIT_SYNTHESIS_MAX_SETS || settings->n_sets > s->n_draws) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "sets", "1 to %zu sets can be made of %zu draws, each of its own, not %zu",
        s->n_draws < TACIT_SYNTHESIS_MAX_SETS ? s->n_draws : (size_t)TACIT_SYNTHESIS_MAX_SETS, s->n_draws,
        settings->n_sets);
  }
  if (settings->n_rows == 0 && !(s->margins.n > 0)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "rows",
        "the margins do not say how many records there are: say how many rows to make, --rows N");
  }
  double n = settings->n_rows > 0 ? (double)settings->n_rows : s->margins.n;
  if (!(n <= TACIT_SYNTHESIS_MAX_ROWS)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rows", "at most %d rows of a set can be made, not %.10g",
                           (int)TACIT_SYNTHESIS_MAX_ROWS, n);
  }
  s->n_rows = (size_t)n;
  s->n_sets = settings->n_sets;
  s->seed = settings->seed;
  return TACIT_OK;
}

static tacit_status_t open_all(synthesis_t *s, const char *path, const tacit_synthesis_settings_t *settings,
                               tacit_error_t *err) {
  tacit_status_t status = read_margins(s, path, err);
  TACIT_THEN(status, tacit_report_read(&s->post, path, err));
  TACIT_THEN(status, tacit_predict_check_fit(&s->post, err));
  if (status != TACIT_OK) {
    return status;
  }
  if (!(s->margins.n > 0)) { /* --n N of the inference; 0: private */
    status = tacit_read_setting(path, "n", &s->margins.n, err);
  }
  size_t k = tacit_tables_n_effects(s->margins.tables), n = s->post.draws.n_reported;
  if (status == TACIT_OK && n < k) {
    status = tacit_error_set(
        err, TACIT_ERR_SYNTAX, "path",
        "%s: %zu quantities were drawn, where the margins in statistic.yaml have %zu effects", path, n, k);
  }
  s->n_cells = tacit_tables_n_cells(s->margins.tables);
  s->n_draws = tacit_draws_n_kept(&s->post.draws) * s->post.draws.n_chains;
  TACIT_THEN(status, choose_size(s, settings, err));
  s->rows = status == TACIT_OK ? tacit_alloc(s->n_rows, s->margins.n_columns * sizeof *s->rows) : NULL;
  s->counts = status == TACIT_OK ? tacit_alloc_zero(s->n_cells, sizeof *s->counts) : NULL;
  return status != TACIT_OK || (s->rows != NULL && s->counts != NULL) ? status : tacit_error_memory(err);
}

/* ---- rows ---- */

static void put_header(synthesis_t *s) {
  tacit_text_printf(&s->csv, "synthetic_set");
  for (size_t j = 0; j < s->margins.n_columns; j++) {
    tacit_text_append(&s->csv, ",", 1);
    tacit_text_csv(&s->csv, s->margins.names[j]);
  }
  tacit_text_append(&s->csv, "\n", 1);
}

static void add_counts(synthesis_t *s, const uint16_t *row) {
  const tacit_margins_file_t *m = &s->margins;
  size_t first = 0;
  for (size_t i = 0; i < m->n_margins; i++) {
    size_t cell = 0, n = 1;
    for (size_t j = 0; j < m->n_columns; j++) {
      if ((m->margins[i] >> j & 1) != 0) {
        cell = cell * m->n_levels[j] + row[j];
        n *= m->n_levels[j];
      }
    }
    s->counts[first + cell]++;
    first += n;
  }
}

/* Sets take draws that are spread over the chains: one from each of n_sets equal stretches. */
static tacit_status_t put_set(synthesis_t *s, size_t set, tacit_error_t *err) {
  const tacit_draws_t *draws = &s->post.draws;
  const tacit_margins_file_t *m = &s->margins;
  unsigned char key[32];
  tacit_rng_t *rng = NULL;
  tacit_rng_key_from_seed(key, s->seed);
  tacit_status_t status = tacit_rng_new(&rng, key, set, err);
  if (status == TACIT_OK) {
    size_t n = tacit_draws_n_kept(draws), from = set * s->n_draws / s->n_sets,
           to = (set + 1) * s->n_draws / s->n_sets;
    size_t draw = from + (size_t)tacit_rng_below(rng, to - from);
    status = tacit_tables_draw(m->tables, tacit_draws_row(draws, draw / n, draws->n_warmup + draw % n),
                               s->n_rows, rng, s->rows, err);
  }
  for (size_t i = 0; i < s->n_rows && status == TACIT_OK; i++) {
    const uint16_t *row = s->rows + i * m->n_columns;
    tacit_text_printf(&s->csv, "%zu", set + 1);
    for (size_t j = 0; j < m->n_columns; j++) {
      tacit_text_append(&s->csv, ",", 1);
      tacit_text_csv(&s->csv, m->levels[j][row[j]]);
    }
    tacit_text_append(&s->csv, "\n", 1);
    add_counts(s, row);
  }
  tacit_rng_free(rng);
  return status == TACIT_OK && s->csv.failed ? tacit_error_memory(err) : status;
}

/* ---- beside what was released ---- */

typedef void (*cell_writer)(synthesis_t *s, const char *name, size_t cell, double released, double noise);

/* Shares of the records, as the margin itself has their number. */
static tacit_status_t each_cell(synthesis_t *s, cell_writer write, tacit_error_t *err) {
  const tacit_margins_file_t *m = &s->margins;
  size_t first = 0;
  for (size_t i = 0; i < m->n_margins; i++) {
    size_t n = tacit_margins_n_cells(m, m->margins[i]);
    double total = 0;
    for (size_t c = 0; c < n; c++) {
      total += isnan(m->noisy[i].values[c]) ? 0 : m->noisy[i].values[c];
    }
    total = m->n > 0 ? m->n : fmax(total, 1);
    for (size_t c = 0; c < n; c++) {
      tacit_text_t name = {0};
      tacit_margins_name_cell(m, m->margins[i], c, &name);
      if (name.failed) {
        tacit_text_clear(&name);
        return tacit_error_memory(err);
      }
      write(s, name.data, first + c, m->noisy[i].values[c] / total, m->noisy[i].scale / total);
      tacit_text_clear(&name);
    }
    first += n;
  }
  return TACIT_OK;
}

static double share_of_rows(const synthesis_t *s, size_t cell) {
  return s->counts[cell] / ((double)s->n_rows * (double)s->n_sets);
}

static void json_cell(synthesis_t *s, const char *name, size_t cell, double released, double noise) {
  tacit_text_printf(&s->json, "%s\n    {\"cell\": ", cell > 0 ? "," : "");
  tacit_text_json_string(&s->json, name);
  tacit_text_json_field(&s->json, "released_share", released);
  tacit_text_json_field(&s->json, "noise_sd", noise);
  tacit_text_json_field(&s->json, "rows_share", share_of_rows(s, cell));
  tacit_text_append(&s->json, "}", 1);
}

static tacit_status_t put_json(synthesis_t *s, tacit_error_t *err) {
  tacit_text_printf(&s->json,
                    "{\n  \"format\": \"tacit synthetic rows\",\n  \"version\": 1,\n  \"synthetic\": true,\n "
                    " \"note\": \"Nobody's records: rows of the table of largest entropy with noisy margins. "
                    "Interactions that no margin shows are not in these rows.\",\n  \"private\": %s,\n  "
                    "\"rows\": %zu,\n  \"sets\": %zu,\n  \"seed\": %llu,\n"
                    "  \"cells\": [",
                    s->post.is_private ? "true" : "false", s->n_rows, s->n_sets, (unsigned long long)s->seed);
  tacit_status_t status = each_cell(s, json_cell, err);
  tacit_text_printf(&s->json, "\n  ]\n}\n");
  return status;
}

static void html_cell(synthesis_t *s, const char *name, size_t cell, double released, double noise) {
  tacit_text_printf(&s->html, "<tr><td>");
  tacit_text_html(&s->html, name);
  const double numbers[] = {released, noise, share_of_rows(s, cell)};
  for (size_t i = 0; i < 3; i++) {
    tacit_text_printf(&s->html, "</td><td>");
    tacit_text_fixed(&s->html, numbers[i], 4);
  }
  tacit_text_printf(&s->html, "</td></tr>\n");
}

static tacit_status_t put_page(synthesis_t *s, tacit_error_t *err) {
  tacit_page_head("Synthetic rows: ", "a table known by its margins", "", &s->html);
  tacit_text_printf(
      &s->html,
      "<div class=\"banner%s\"><strong>Synthetic: these rows are nobody's</strong>%zu set%s of %zu rows "
      "(seed %llu), made of noisy margins and of nothing else: no record was read, %s.</div>\n",
      s->post.is_private ? "" : " exposed", s->n_sets, s->n_sets == 1 ? "" : "s", s->n_rows,
      (unsigned long long)s->seed,
      s->post.is_private ? "and they cost no privacy beyond the release's"
                         : "but the release was seeded and is NOT PRIVATE, and so are they");
  tacit_text_printf(
      &s->html,
      "<p>They hold the interactions that a margin shows, as far as its noise leaves them, and no others: of "
      "all tables with such margins they are of that with the largest entropy. An analysis of columns that "
      "are in no margin together finds them independent given what connects them.</p>\n"
      "<h2>Beside what was released</h2>\n<div class=\"scroll\"><table>\n<tr><th>Cell</th><th>Share "
      "released</th><th>sd of its noise</th><th>of rows</th></tr>\n");
  tacit_status_t status = each_cell(s, html_cell, err);
  tacit_text_printf(&s->html, "</table></div>\n");
  tacit_synthesis_rules(s->n_sets, &s->html);
  tacit_text_printf(&s->html, "</p>\n");
  tacit_page_foot(&s->html);
  return status;
}

tacit_status_t tacit_synthesize_tables(const char *path, const tacit_synthesis_settings_t *settings,
                                       tacit_text_t *csv, tacit_text_t *json, tacit_text_t *html,
                                       tacit_error_t *err) {
  synthesis_t s = {.n_rows = 0};
  tacit_status_t status = open_all(&s, path, settings, err);
  if (status == TACIT_OK) {
    put_header(&s);
  }
  for (size_t set = 0; set < s.n_sets && status == TACIT_OK; set++) {
    status = put_set(&s, set, err);
  }
  TACIT_THEN(status, put_json(&s, err));
  status = status == TACIT_OK && html != NULL ? put_page(&s, err) : status;
  if (status == TACIT_OK && (s.csv.failed || s.json.failed || s.html.failed)) {
    status = tacit_error_memory(err);
  }
  tacit_margins_clear(&s.margins);
  tacit_report_read_clear(&s.post);
  tacit_free(s.rows);
  tacit_free(s.counts);
  *csv = s.csv;
  *json = s.json;
  if (html != NULL) {
    *html = s.html;
  }
  return status;
}
