/*
 * search_bounds POINTS TABLE [FOLDER]: the search of bound_search.h at length, a row of TABLE a model: those
 * of the test, a formula of each family, and the programs of FOLDER that compile, each over the ranges that
 * it declares, or that `tacit model check` takes as given, and once more with its parameters in boxes. Rows
 * that TABLE has are kept: what was stopped goes on. Exit status 1: a bound was exceeded.
 */
#include <dirent.h>
#include <errno.h>

#include "bound_search.h"

static const char HEAD[] = "| model | parameters | points | bound of the norm | largest | of the bound | "
                           "rows bounded | largest row of its bound | largest ratio of its "
                           "bound |\n"
                           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";

typedef struct listing {
  FILE *table;
  const char *before; /* what the table had */
  size_t n_points, n_exceeded;
} listing_t;

static char *text_of(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (file != NULL && text != NULL) {
    text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
  }
  if (file != NULL) {
    fclose(file);
  }
  return text;
}

static void write_share(FILE *out, bool is_bounded, double share) {
  fprintf(out, is_bounded ? " %.4f |" : " none |", share);
}

/* The parameters block of a program, from its brace to past the other; NULL: there is none. */
static const char *parameters_block(const char *text, const char **end) {
  for (const char *at = text; (at = strstr(at, "parameters")) != NULL; at++) {
    const char *brace = at + strlen("parameters"), *before = at;
    brace += strspn(brace, " \n\t");
    while (before > text && strchr(" \n\t", before[-1]) != NULL) {
      before--;
    }
    if (*brace == '{' && (*end = strchr(brace, '}')) != NULL && (before == text || before[-1] == '}')) {
      return brace;
    }
  }
  return NULL;
}

/*
 * The program with parameters in boxes: those without bounds in [-1, 1], those above 0 in [1/2, 2]; few
 * densities are bounded elsewhere. NULL: as before.
 */
static char *boxed(const char *text) {
  const char *end, *at = parameters_block(text, &end);
  char *out = calloc(1, 8 * strlen(text) + 1), *to = out;
  if (at == NULL || out == NULL) {
    free(out);
    return NULL;
  }
  to += sprintf(to, "%.*s", (int)(at - text), text);
  while (at < end) {
    size_t n = strcspn(at, " \n\t;{<[,=()"), after = n + strspn(at + n, " ");
    bool is_type = (n == 4 && strncmp(at, "real", n) == 0) || (n == 6 && strncmp(at, "vector", n) == 0) ||
                   (n == 10 && strncmp(at, "row_vector", n) == 0);
    const char *bounds = at[after] == '<' ? strchr(at + after, '>') : NULL;
    bool is_positive = bounds != NULL && (strncmp(at + after, "<lower=0>", 9) == 0 ||
                                          strncmp(at + after, "<lower = 0>", 11) == 0);
    n = n > 0 ? n : 1;
    if (is_type && (bounds == NULL || is_positive)) {
      to += sprintf(to, "%.*s<lower=%s>", (int)n, at, is_positive ? "0.5, upper=2" : "-1, upper=1");
      at = is_positive ? bounds + 1 : at + n;
    } else {
      to += sprintf(to, "%.*s", (int)n, at);
      at += n;
    }
  }
  sprintf(to, "%s", end);
  return out;
}

/* What does not compile has no row. */
static void search_as_is(listing_t *l, const char *name, const char *text,
                         const tacit_program_settings_t *settings) {
  char start[320];
  tacit_program_t *program;
  tacit_model_t model;
  snprintf(start, sizeof start, "\n| %s |", name);
  const char *row = strstr(l->before, start);
  if (row != NULL) {
    l->n_exceeded += strstr(row, "EXCEEDED") != NULL && strstr(row, "EXCEEDED") < strchr(row + 1, '\n');
    return;
  }
  if (tacit_program_parse(&program, text, strlen(text), settings, NULL) != TACIT_OK) {
    return;
  }
  if (tacit_program_compile(program, &model, NULL) == TACIT_OK) {
    const tacit_compiled_t *p = program->compiled;
    search_found_t found = search_bounds(p, l->n_points, 1);
    double bound = model.records.grad_bound;
    fprintf(l->table, "| %s | %zu | %zu |", name, model.records.dim, found.n_points);
    isfinite(bound) ? fprintf(l->table, " %.4g | %.4g |", bound, found.norm)
                    : fprintf(l->table, " none | %.4g |", found.norm);
    write_share(l->table, isfinite(bound), found.largest[SEARCHED_NORM]);
    fprintf(l->table, " %zu of %zu |", found.n_bounded_rows, p->n_rows);
    write_share(l->table, found.n_bounded_rows > 0, found.largest[SEARCHED_ROW]);
    write_share(l->table, isfinite(bound), found.largest[SEARCHED_RATIO]);
    fprintf(l->table, "%s\n", search_holds(&found) ? "" : " EXCEEDED |");
    fflush(l->table);
    if (!search_holds(&found)) {
      l->n_exceeded++;
      printf("%s: a bound was exceeded\n", name);
    }
  }
  tacit_program_free(program);
}

/* The program, and with its parameters in boxes. */
static void search_program(listing_t *l, const char *name, const char *text,
                           const tacit_program_settings_t *settings) {
  char other[300], *in_boxes = boxed(text);
  snprintf(other, sizeof other, "%s, boxed", name);
  search_as_is(l, name, text, settings);
  if (in_boxes != NULL && strcmp(in_boxes, text) != 0) {
    search_as_is(l, other, in_boxes, settings);
  }
  free(in_boxes);
}

static void search_families(listing_t *l, const tacit_schema_t *schema) {
  static const char *const responses[][2] = {{"bernoulli", "y"},
                                             {"gaussian", "r"},
                                             {"student", "r"},
                                             {"lognormal", "t | cens(y)"},
                                             {"weibull", "t | cens(y)"},
                                             {"exponential", "t | cens(y)"},
                                             {"gamma", "t"},
                                             {"beta", "s"},
                                             {"poisson", "k"},
                                             {"negbinomial", "k"},
                                             {"binomial", "k | trials(n)"},
                                             {"beta_binomial", "k | trials(n)"},
                                             {"cumulative", "c"},
                                             {"zero_inflated_poisson", "k"},
                                             {"zero_inflated_negbinomial", "k"},
                                             {"zero_inflated_binomial", "k | trials(n)"},
                                             {"hurdle_poisson", "k"},
                                             {"hurdle_negbinomial", "k"},
                                             {"hurdle_lognormal", "x3"},
                                             {"hurdle_gamma", "x3"},
                                             {"categorical", "c"}};
  for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++) {
    for (int is_grouped = 0; is_grouped < 2; is_grouped++) {
      char formula[100], name[140], *text;
      tacit_error_t err;
      snprintf(formula, sizeof formula, "%s ~ x1 + x2%s", responses[i][1],
               is_grouped ? " + (1 + x1 | h)" : "");
      snprintf(name, sizeof name, "%s, %s random effects", responses[i][0], is_grouped ? "with" : "without");
      if (tacit_program_of_formula(&text, formula, responses[i][0], schema, &err) != TACIT_OK) {
        fail_msg("%s: %s", formula, err.message);
      }
      search_program(l, name, text, &(tacit_program_settings_t){.schema = schema, .records = ""});
      tacit_free(text);
    }
  }
}

static int is_program(const struct dirent *entry) {
  size_t n = strlen(entry->d_name);
  return n > 5 && strcmp(entry->d_name + n - 5, ".stan") == 0;
}

static void search_folder(listing_t *l, const char *folder) {
  struct dirent **entries;
  int n = scandir(folder, &entries, is_program, alphasort);
  for (int i = 0; i < n; i++) {
    char path[4096], name[256];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    snprintf(name, sizeof name, "%.*s", (int)strlen(entries[i]->d_name) - 5, entries[i]->d_name);
    char *text = text_of(path);
    search_program(l, name, text, &(tacit_program_settings_t){.schema = NULL});
    free(text);
    free(entries[i]);
  }
  if (n >= 0) {
    free(entries);
  }
}

int main(int argc, char **argv) {
  tacit_schema_t *schema;
  if (argc < 3 || atof(argv[1]) < 1) {
    fprintf(stderr, "usage: search_bounds POINTS TABLE [FOLDER]\n");
    return 2;
  }
  char *before = text_of(argv[2]);
  listing_t l = {.table = fopen(argv[2], "a"), .before = before, .n_points = (size_t)atof(argv[1])};
  if (l.table == NULL || before == NULL ||
      tacit_schema_parse(&schema, BOUNDED_SCHEMA, strlen(BOUNDED_SCHEMA), "schema", NULL) != TACIT_OK) {
    fprintf(stderr, "search_bounds: %s: %s\n", argv[2], strerror(errno));
    return 2;
  }
  if (before[0] == '\0') {
    fputs(HEAD, l.table);
  }
  for (size_t i = 0; i < N_BOUNDED; i++) {
    search_program(&l, BOUNDED[i].name, BOUNDED[i].text, &(tacit_program_settings_t){.schema = schema});
  }
  search_families(&l, schema);
  if (argc > 3) {
    search_folder(&l, argv[3]);
  }
  tacit_schema_free(schema);
  fclose(l.table);
  free(before);
  printf("%zu models exceed their bounds\n", l.n_exceeded);
  return l.n_exceeded > 0 ? 1 : 0;
}
