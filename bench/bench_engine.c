/*
 * Record programs (src/model/program) beside the hand-written kernels of the same models, and beside the same
 * instructions printed as C and compiled by the system's compiler: a machine without dispatch, and without
 * registers in memory. Prints rows of JSON (harness.h). Ratios are of the least of many calls by turns.
 */
#define _DEFAULT_SOURCE /* mkstemps */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "curator/curator.h"
#include "data/records.h"
#include "formula/glm_kernel.h"
#include "harness.h"
#include "program/compiled.h"
#include "program/language.h"

enum { N = 65536, ROUNDS = 25, MAX_THETA = 4 };

typedef struct model {
  const char *name, *text;
  size_t d;
  tacit_family_t family; /* of the kernel beside it; as the number says, or none */
  bool has_kernel;
} model_t;

#define LINEAR(outcome, y)                                                                                   \
  "data { vector<lower=-1, upper=1>[" #outcome "] x; " y " } parameters { vector[" #outcome "] beta; "
static const model_t MODELS[] = {
    {"logistic",
     LINEAR(10, "int<lower=0, upper=1> y;") "} model { y ~ bernoulli_logit(dot_product(x, beta)); }", 10,
     TACIT_FAMILY_BERNOULLI, true},
    {"logistic",
     LINEAR(50, "int<lower=0, upper=1> y;") "} model { y ~ bernoulli_logit(dot_product(x, beta)); }", 50,
     TACIT_FAMILY_BERNOULLI, true},
    {"poisson", LINEAR(10, "int<lower=0, upper=200> k;") "} model { k ~ poisson_log(dot_product(x, beta)); }",
     10, TACIT_FAMILY_POISSON, true},
    {"poisson", LINEAR(50, "int<lower=0, upper=200> k;") "} model { k ~ poisson_log(dot_product(x, beta)); }",
     50, TACIT_FAMILY_POISSON, true},
    {"negative binomial",
     LINEAR(10, "int<lower=0, upper=200> k;") "real<lower=0> phi; } model { k ~ "
                                              "neg_binomial_2_log(dot_product(x, beta), phi); }",
     10, TACIT_FAMILY_POISSON, false},
    {"weibull, censored",
     LINEAR(10, "real<lower=0.01, upper=14> t; int<lower=0, upper=1> y;") "real<lower=0.2, upper=5> a; } "
                                                                          "model { if (y == 1) target += "
                                                                          "weibull_lpdf(t | a, "
                                                                          "exp(dot_product(x, beta))); "
                                                                          "else target += weibull_lccdf(t | "
                                                                          "a, exp(dot_product(x, beta))); }",
     10, TACIT_FAMILY_POISSON, false},
    {"ordered logit, 5 levels",
     LINEAR(10, "int<lower=1, upper=5> v;") "ordered[4] c; } model { v ~ ordered_logistic(dot_product(x, "
                                            "beta), c); }",
     10, TACIT_FAMILY_POISSON, false},
    {"student-t, nu and sigma free",
     LINEAR(10, "real<lower=0.01, upper=14> t;") "real<lower=0> sigma; real<lower=1> nu; } model { t ~ "
                                                 "student_t(nu, dot_product(x, beta), sigma); }",
     10, TACIT_FAMILY_POISSON, false},
    {"mixture of 2",
     LINEAR(10, "real<lower=0.01, upper=14> t;") "real<lower=0> sigma; real<lower=0, upper=1> w; real gap; } "
                                                 "model { target += log_mix(w, "
                                                 "normal_lpdf(t | dot_product(x, beta), sigma), "
                                                 "normal_lpdf(t | dot_product(x, beta) + gap, "
                                                 "sigma)); }",
     10, TACIT_FAMILY_POISSON, false},
    {"logistic, 1 of 200 groups",
     LINEAR(10, "int<lower=1, upper=200> g; int<lower=0, upper=1> y;") "real mu; real<lower=0> tau; "
                                                                       "vector<offset=mu, "
                                                                       "multiplier=tau>[200] alpha; } "
                                                                       "model { alpha ~ normal(mu, tau); "
                                                                       "y ~ bernoulli_logit(alpha[g] + "
                                                                       "dot_product(x, beta)); }",
     10, TACIT_FAMILY_POISSON, false},
};

static const char *schema_text(void) {
  static char text[8192];
  size_t n = (size_t)snprintf(
      text, sizeof text,
      "columns:\n  y: {type: binary}\n  k: {type: integer, lower: 0, upper: 200}\n"
      "  g: {type: integer, lower: 1, upper: 200}\n  v: {type: integer, lower: 1, upper: 5}\n"
      "  t: {type: numeric, lower: 0.01, upper: 14}\n");
  for (int j = 1; j <= 50; j++) {
    n += (size_t)snprintf(text + n, sizeof text - n, "  x%d: {type: numeric, lower: -1, upper: 1}\n", j);
  }
  return text;
}

/* ---- the same instructions as C ---- */

static void print_operand(FILE *out, uint32_t which) {
  uint32_t number = which & TACIT_OPERAND_NUMBER;
  switch (which & ~TACIT_OPERAND_NUMBER) {
  case TACIT_OPERAND_UNIFORM:
    fprintf(out, "set((double)uniforms[%u])", number * 16);
    break;
  case TACIT_OPERAND_CONSTANT:
    fprintf(out, "k%u", number);
    break;
  case TACIT_OPERAND_COLUMN:
    fprintf(out, "vfloat_load(x + %u)", number * 16);
    break;
  default:
    fprintf(out, "r%u", number / TACIT_CHUNK_BLOCKS);
  }
}

/* One operation of the machine's source, text and all, so that both compute the same. */
static const char *const EXPRESSIONS[TACIT_MACHINE_COPY + 1] = {
    [TACIT_OP_ADD] = "$a + $b",
    [TACIT_OP_SUB] = "$a - $b",
    [TACIT_OP_MUL] = "$a * $b",
    [TACIT_OP_DIV] = "$a / $b",
    [TACIT_OP_NEG] = "-$a",
    [TACIT_MACHINE_MUL_ADD] = "$a * $b + $c",
    [TACIT_MACHINE_MUL_SUB] = "$a * $b - $c",
    [TACIT_MACHINE_SUB_MUL] = "$c - $a * $b",
    [TACIT_MACHINE_NEG_MUL] = "-($a * $b)",
    [TACIT_MACHINE_COPY] = "$a",
    [TACIT_OP_EXP] = "lanes_exp($a)",
    [TACIT_OP_LOG] = "lanes_log($a)",
    [TACIT_OP_LOG1P] = "lanes_log1p($a)",
    [TACIT_OP_LOG1P_EXP] = "lanes_log1p_exp($a)",
    [TACIT_OP_INV_LOGIT] = "lanes_inv_logit($a)",
    [TACIT_OP_EXPM1] = "lanes_expm1($a)",
    [TACIT_OP_LOG1M_EXP] = "lanes_log1m_exp($a)",
    [TACIT_OP_SELECT] = "choose_where($a, $b, $c)",
    [TACIT_OP_EQUAL] = "truth($a == $b)",
    [TACIT_OP_LESS] = "truth($a < $b)",
    [TACIT_OP_AT_MOST] = "truth($a <= $b)",
    [TACIT_OP_RATIO1] = "$a / ($a * $a + (real)1)",
    [TACIT_OP_RATIO2] = "($a * $a) / ($a * $a + (real)1)",
    [TACIT_OP_SQRT] = "root($a)",
    [TACIT_OP_POW] = "lanes_pow($a, $b)",
    [TACIT_OP_DIGAMMA] = "lanes_digamma($a)",
    [TACIT_OP_ABS] = "size_of($a)"};

static bool print_c(FILE *out, const tacit_code_t *code, size_t n_columns, size_t n_rows) {
  fprintf(
      out,
      "#define TACIT_LANES_DOUBLE 0\n#include \"program/lanes.h\"\nvoid rows(const float *block, size_t "
      "n_blocks, const float *uniforms, "
      "const float *scalars, float *out);\nvoid rows(const float *block, size_t n_blocks, const float "
      "*uniforms, const float *scalars, float "
      "*out) {\n"
      "for (size_t i = 0; i < n_blocks; i++) for (size_t lane = 0; lane < 16; lane += LANES) {\n"
      "const float *x = block + i * %zu + lane; float *o = out + i * %zu + lane; vreal s[4]; vwhole at;\n",
      n_columns * 16, n_rows * 16);
  for (size_t i = 0; i < code->n_constants; i++) {
    fprintf(out, "vreal k%zu = set(%a);\n", i, code->constants[i * 16]);
  }
  for (size_t i = 0; i < code->n_registers; i++) {
    fprintf(out, "vreal r%zu;\n", i);
  }
  for (size_t k = 0; k < code->n_instructions; k++) {
    const tacit_instruction_t *in = &code->instructions[k];
    char to[64];
    bool is_out = (in->d & TACIT_OPERAND_OUTPUT) != 0;
    snprintf(to, sizeof to, is_out ? "vreal d%zu" : "r%zu", is_out ? k : (size_t)in->d / TACIT_CHUNK_BLOCKS);
    if (in->op == TACIT_OP_DOT) {
      fprintf(out,
              "s[0] = s[1] = s[2] = s[3] = set(0); for (size_t j = 0; j < %u; j++) s[j %% 4] += "
              "vfloat_load(x + (%u + j) * 16) * scalars[%u + j];\n"
              "%s = (s[0] + s[1]) + (s[2] + s[3]);\n",
              in->n, in->a, in->b, to);
    } else if (in->op == TACIT_MACHINE_LOAD) {
      fprintf(out, "%s = vfloat_load(x + %u);\n", to, in->a * 16);
    } else if (in->op == TACIT_OP_LOOKUP) {
      fprintf(out, "at = __builtin_convertvector(greater(lesser(");
      print_operand(out, in->a);
      fprintf(out,
              " - %af, set(%u)), set(0)), vwhole); { real t[LANES]; for (size_t j = 0; j < LANES; j++) t[j] "
              "= scalars[%u + at[j]]; s[0] = load(t); } "
              "%s = s[0];\n",
              (double)in->first, in->n - 1, in->b, to);
    } else if (in->op > TACIT_MACHINE_COPY || EXPRESSIONS[in->op] == NULL) {
      return false;
    } else {
      fprintf(out, "%s = ", to);
      for (const char *p = EXPRESSIONS[in->op]; *p != '\0'; p++) {
        if (*p == '$') {
          p++;
          print_operand(out, *p == 'a' ? in->a : *p == 'b' ? in->b : in->c);
        } else {
          fputc(*p, out);
        }
      }
      fprintf(out, ";\n");
    }
    if (is_out) {
      fprintf(out, "store(o + %u, d%zu);\n", (in->d & TACIT_OPERAND_NUMBER) * 16, k);
    }
  }
  fprintf(out, "} }\n");
  return true;
}

typedef void (*compiled_rows)(const float *block, size_t n_blocks, const float *uniforms,
                              const float *scalars, float *out);

static compiled_rows compile_c(const tacit_compiled_t *p) {
  char source[] = "/tmp/tacit-bench-XXXXXX.c", object[64], command[1024];
  int fd = mkstemps(source, 2);
  FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (out == NULL) {
    return NULL;
  }
  bool ok = print_c(out, &p->kernels[TACIT_ROLE_ROWS].each, p->layout.n_columns, p->n_rows);
  fclose(out);
  snprintf(object, sizeof object, "%s.so", source);
  snprintf(command, sizeof command,
           "cc -O3 -std=gnu17 -ffp-contract=off -fno-math-errno -march=native -w -shared -fPIC "
           "-I%s/src/core -I%s/src/model -o %s %s",
           TACIT_SOURCE, TACIT_SOURCE, object, source);
  void *library = ok && system(command) == 0 ? dlopen(object, RTLD_NOW) : NULL;
  unlink(object);
  unlink(source);
  compiled_rows rows = NULL;
  if (library != NULL) {
    *(void **)&rows = dlsym(library, "rows");
  }
  return rows;
}

/* ---- measuring ---- */

typedef struct bench {
  tacit_model_t model;
  const tacit_compiled_t *program;
  tacit_records_t *records, *copy;
  tacit_record_model_t kernel; /* hand-written */
  tacit_glm_kernel_t ctx;
  tacit_curator_t *engine, *beside;
  compiled_rows rows;
  double theta[MAX_THETA * 512], prop[MAX_THETA * 512], out[MAX_THETA * 512], noise_sd[MAX_THETA];
  float theta_float[MAX_THETA * 512], *uniforms, *scalars;
  float results[16 * MAX_THETA * 64 * 16];
  size_t n_theta;
} bench_t;

static const float *block_of(const bench_t *b, size_t i) { return tacit_records_block(b->records, i); }

static void machine_rows(void *user) {
  bench_t *b = user;
  for (size_t i = 0; i < N / 16; i += 16) {
    b->model.records.rows(b->model.records.ctx, block_of(b, i), 16, b->n_theta, b->theta_float, b->results);
  }
}

static void hand_rows(void *user) {
  bench_t *b = user;
  for (size_t i = 0; i < N / 16; i++) {
    b->kernel.residual(b->kernel.ctx, block_of(b, i), b->n_theta, b->theta_float, b->results);
  }
}

static void c_rows(void *user) {
  bench_t *b = user;
  for (size_t i = 0; i < N / 16; i += 16) {
    b->rows(block_of(b, i), 16, b->uniforms, b->scalars, b->results);
  }
}

static void pass(bench_t *b, tacit_curator_t *curator) {
  tacit_error_t err;
  bench_require(tacit_curator_release_gradient(curator, b->n_theta, b->theta, 0, b->out, &err), &err);
}
static void engine_pass(void *user) { pass(user, ((bench_t *)user)->engine); }
static void beside_pass(void *user) { pass(user, ((bench_t *)user)->beside); }

static void ratios(bench_t *b, tacit_curator_t *curator) {
  tacit_error_t err;
  for (size_t i = 0; i < b->n_theta * b->model.records.dim; i++) {
    b->prop[i] = b->theta[i] + 0.01;
    b->theta[i] += 0x1p-30;
  }
  bench_require(
      tacit_curator_release_log_ratio(curator, b->n_theta, b->theta, b->prop, 0, b->out, b->noise_sd, &err),
      &err);
}
static void engine_ratios(void *user) { ratios(user, ((bench_t *)user)->engine); }
static void beside_ratios(void *user) { ratios(user, ((bench_t *)user)->beside); }

static void by_turns(bench_call first, bench_call second, void *user, double least[2]) {
  least[0] = least[1] = INFINITY;
  for (int round = 0; round < ROUNDS; round++) {
    for (int which = 0; which < 2; which++) {
      bench_call call = which == 0 ? first : second;
      double before = bench_cpu_seconds();
      if (call != NULL) {
        call(user);
        least[which] = fmin(least[which], bench_cpu_seconds() - before);
      }
    }
  }
}

static void print(const model_t *m, size_t n_theta, const char *what, double seconds, double other,
                  const char *beside, double target) {
  char name[160];
  snprintf(name, sizeof name, "engine, %s, d=%zu K=%zu: %s", m->name, m->d, n_theta, what);
  bench_print_value(name, "ns/record", seconds * 1e9 / N, 0, 0, true);
  if (other < INFINITY) {
    snprintf(name, sizeof name, "engine, %s, d=%zu K=%zu: %s / %s", m->name, m->d, n_theta, what, beside);
    bench_print_value(name, "ratio", seconds / other, 0, target, true);
  }
}

static void open_bench(bench_t *b, const model_t *m, tacit_program_t *program) {
  tacit_error_t err;
  uint64_t state = 7;
  const tacit_compiled_t *p = b->program = program->compiled;
  size_t n_raw = p->graph->n_columns, n_columns = p->layout.n_columns;
  double *raw = malloc(n_raw * N * sizeof *raw), *packed = malloc(n_columns * N * sizeof *packed);
  for (size_t i = 0; raw != NULL && i < n_raw * N; i++) {
    const tacit_graph_column_t *c = &p->graph->columns[i / N];
    double u = bench_uniform(&state);
    raw[i] = c->is_integer
                 ? floor(c->lower +
                         u * (fmin(c->upper, c->lower == 0 && c->upper == 200 ? 6 : c->upper) - c->lower + 1))
                 : c->lower + u * (c->upper - c->lower);
  }
  tacit_compiled_derive(p, N, raw, packed);
  tacit_records_t **records[2] = {&b->records, &b->copy};
  for (int k = 0; k < 2; k++) {
    bench_require(tacit_records_new(records[k], N, n_columns, &err), &err);
    for (size_t j = 0; j < n_columns; j++) {
      tacit_records_set_column(*records[k], 0, N, j, packed + j * N);
    }
  }
  free(raw);
  free(packed);
  for (size_t i = 0; i < MAX_THETA * 512; i++) {
    b->theta[i] = 0.02 * (double)(i % 7) - 0.06;
    b->theta_float[i] = (float)b->theta[i];
  }
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = settings.clip_bound_ratio = 2 * sqrt((double)b->model.records.dim);
  bench_require(tacit_curator_new_exposed(&b->engine, b->records, &b->model.records, &settings, &err), &err);
  if (m->has_kernel) {
    b->ctx = (tacit_glm_kernel_t){m->family, m->d, 1, 0, 0.5, false};
    b->kernel = (tacit_record_model_t){.name = "kernel",
                                       .dim = m->d,
                                       .n_columns = m->d + 1,
                                       .grad_bound = INFINITY,
                                       .log_lik = tacit_glm_functions()->log_lik,
                                       .log_lik_blocks = tacit_glm_functions()->log_lik_blocks,
                                       .n_linear = 1,
                                       .n_features = m->d,
                                       .residual = tacit_glm_functions()->residual,
                                       .residual_blocks = tacit_glm_functions()->residual_blocks,
                                       .ctx = &b->ctx};
    bench_require(tacit_curator_new_exposed(&b->beside, b->copy, &b->kernel, &settings, &err), &err);
  }
}

static void measure(const model_t *m, tacit_schema_t *schema) {
  bench_t *b = calloc(1, sizeof *b);
  tacit_program_t *program;
  tacit_error_t err;
  tacit_program_settings_t settings = {.schema = schema};
  if (b == NULL) {
    return;
  }
  bench_require(tacit_program_parse(&program, m->text, strlen(m->text), &settings, &err), &err);
  bench_require(tacit_program_compile(program, &b->model, &err), &err);
  open_bench(b, m, program);
  double rows[2], passes[2], single = 0;
  b->rows = compile_c(b->program);
  for (b->n_theta = 1; b->n_theta <= MAX_THETA; b->n_theta += 3) {
    by_turns(machine_rows, m->has_kernel ? hand_rows : NULL, b, rows);
    print(m, b->n_theta, "rows", rows[0], rows[1], "hand-written", 1.2);
    by_turns(engine_pass, m->has_kernel ? beside_pass : NULL, b, passes);
    print(m, b->n_theta, "pass", passes[0], passes[1], "hand-written", 1.1);
    if (b->n_theta == 1) {
      single = passes[0];
      bool is_spare;
      tacit_workspace_t *workspace = tacit_workspace_take(b->program, 1, &is_spare);
      b->uniforms = tacit_work_uniforms(workspace->work[TACIT_ROLE_ROWS]);
      b->scalars = tacit_work_scalars(workspace->work[TACIT_ROLE_ROWS]);
      tacit_workspace_give_back(b->program, is_spare);
      by_turns(machine_rows, b->rows != NULL ? c_rows : NULL, b, rows);
      print(m, 1, "rows", rows[0], rows[1], "the same as C", 1.4);
    } else {
      print(m, b->n_theta, "pass", passes[0], single, "K = 1", m->d >= 50 ? 3 : 4);
    }
  }
  b->n_theta = 1;
  by_turns(engine_ratios, m->has_kernel ? beside_ratios : NULL, b, passes);
  print(m, 1, "log ratios", passes[0], passes[1], "hand-written", 1.1);
  tacit_curator_free(b->engine);
  tacit_curator_free(b->beside);
  if (!m->has_kernel) {
    tacit_records_free(b->copy);
  }
  tacit_program_free(program);
  free(b);
}

int main(int argc, char **argv) {
  tacit_schema_t *schema;
  tacit_error_t err;
  (void)argv;
  bench_require(tacit_schema_parse(&schema, schema_text(), strlen(schema_text()), "bench", &err), &err);
  bench_begin();
  for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0] && argc <= 4; i++) {
    measure(&MODELS[i], schema);
  }
  bench_end();
  tacit_schema_free(schema);
  return 0;
}
