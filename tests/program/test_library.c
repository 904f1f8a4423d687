/*
 * Every function of the library at points where Stan's own were computed (reference/functions.py): value and
 * derivatives within 1e-9. A file with more points can be named as an argument: those of reference/edges.py
 * are at the edges of what arguments may be.
 */
#include "testing.h"

#include <string.h>

#include "formula/model.h"
#include "program/program.h"

enum { MAX_NUMBERS = 16, LINE = 1024 };
static const char *reference = REFERENCE;
static double worst_value, worst_gradient;
static size_t n_failed;

typedef struct {
  int k[MAX_NUMBERS];
  double a[MAX_NUMBERS], value, gradient[MAX_NUMBERS];
  bool is_done;
} point_t;

typedef struct {
  char expression[LINE];
  int n_k, n_a;
  point_t *points;
  size_t n, capacity;
} function_t;

static bool read_numbers(const char *line, function_t *f) {
  if (f->n == f->capacity) {
    f->capacity = 2 * f->capacity + 16;
    f->points = realloc(f->points, f->capacity * sizeof *f->points);
    assert_non_null(f->points);
  }
  point_t *p = &f->points[f->n++];
  char *end = NULL;
  *p = (point_t){0};
  for (int i = 0; i < f->n_k; i++, line = end) {
    p->k[i] = (int)strtol(line, &end, 10);
  }
  for (int i = 0; i < 2 * f->n_a + 1; i++, line = end) {
    double x = strtod(line, &end);
    if (end == line) {
      return false;
    }
    *(i < f->n_a ? &p->a[i] : i == f->n_a ? &p->value : &p->gradient[i - f->n_a - 1]) = x;
  }
  return true;
}

/* A program whose prior is the function of parameters a1, a2, ..., and which reports it. */
static void write_program(char *text, size_t size, const function_t *f, const int *k) {
  int n = snprintf(text, size, "data { real y0; }\ntransformed data {");
  for (int i = 0; i < f->n_k; i++) {
    n += snprintf(text + n, size - (size_t)n, " int k%d = %d;", i + 1, k[i]);
  }
  n += snprintf(text + n, size - (size_t)n, " }\nparameters {");
  for (int i = 0; i < f->n_a; i++) {
    n += snprintf(text + n, size - (size_t)n, " real a%d;", i + 1);
  }
  snprintf(text + n, size - (size_t)n,
           " }\nmodel { target += %s; y0 ~ normal(a1, 1); }\ngenerated quantities { real v = %s; }\n",
           f->expression, f->expression);
}

static double error_of(double x, double expected) {
  double scale = fmax(1, fabs(expected)), error = fabs(x - expected) / scale;
  return x == expected ? 0 : error; /* infinities, too */
}

static void check_point(const function_t *f, const tacit_model_t *model, const point_t *p) {
  double gradient[MAX_NUMBERS], reported[MAX_NUMBERS + 1];
  model->parameters.log_prior(model->parameters.ctx, p->a, gradient);
  model->parameters.report(model->parameters.ctx, p->a, reported);
  double off = error_of(reported[f->n_a], p->value);
  worst_value = fmax(worst_value, off);
  for (int i = 0; i < f->n_a; i++) {
    double slope = error_of(gradient[i], p->gradient[i]);
    worst_gradient = fmax(worst_gradient, slope);
    if ((!(off <= 1e-9) || !(slope <= 1e-9)) && n_failed++ % 1000 == 0) {
      print_error("%s: k %d %d, a %.17g %.17g %.17g %.17g: value %.17g, expected %.17g; derivative %d %.17g, "
                  "expected %.17g\n",
                  f->expression, p->k[0], p->k[1], p->a[0], p->a[1], p->a[2], p->a[3], reported[f->n_a],
                  p->value, i + 1, gradient[i], p->gradient[i]);
    }
  }
}

static void check_function(function_t *f) {
  char text[4 * LINE];
  for (size_t first = 0; first < f->n; first++) {
    if (f->points[first].is_done) {
      continue;
    }
    tacit_program_t *program;
    tacit_model_t model;
    tacit_error_t err;
    write_program(text, sizeof text, f, f->points[first].k);
    assert_ok(tacit_program_parse(&program, text, strlen(text), NULL, &err), err);
    assert_ok(tacit_program_compile(program, &model, &err), err);
    assert_int_equal(model.parameters.n_reported, f->n_a + 1);
    n_failed = (n_failed + 999) / 1000 * 1000; /* the first of each function is printed */
    for (size_t i = first; i < f->n; i++) {
      if (memcmp(f->points[i].k, f->points[first].k, sizeof f->points[i].k) == 0) {
        check_point(f, &model, &f->points[i]);
        f->points[i].is_done = true;
      }
    }
    tacit_model_clear(&model);
    tacit_program_free(program);
  }
}

static void test_library_is_stans(void **state) {
  FILE *file = fopen(reference, "r");
  assert_non_null(file);
  function_t f = {0};
  char line[LINE];
  size_t n_functions = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (line[0] == '=') {
      check_function(&f);
      f.n = 0;
      int skipped = 0;
      assert_int_equal(sscanf(line, "= %d %d %n", &f.n_k, &f.n_a, &skipped), 2);
      strcpy(f.expression, line + skipped);
      f.expression[strcspn(f.expression, "\n")] = '\0';
      n_functions++;
    } else if (!read_numbers(line, &f)) {
      fail_msg("%s: %s", f.expression, line);
    }
  }
  check_function(&f);
  fclose(file);
  free(f.points);
  print_message("%zu functions; worst error of a value %.1e, of a derivative %.1e\n", n_functions,
                worst_value, worst_gradient);
  assert_true(n_functions >= (strcmp(reference, REFERENCE) == 0 ? 100 : 20));
  assert_int_equal(n_failed, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_library_is_stans)};
  reference = argc > 1 ? argv[1] : reference;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
