#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/program_read.h"
#include "formula/model.h"
#include "tacit/data.h"

/* ---- tacit model check ---- */

/* How often the name of parameter j stands there from j on. */
static size_t repeats(const tacit_program_t *program, size_t j) {
  size_t n = 1;
  while (j + n < tacit_program_n_parameters(program) &&
         strcmp(tacit_program_parameter(program, j), tacit_program_parameter(program, j + n)) == 0) {
    n++;
  }
  return n;
}

static void print_check(const tacit_program_t *program, const char *path, double bound) {
  size_t n_columns, n_parameters = tacit_program_n_parameters(program);
  const char *const *columns = tacit_program_columns(program, &n_columns);
  const char *records = tacit_program_records(program);
  printf("ok: %s\n", path);
  printf("records     %s%s\n", records != NULL ? "arrays over " : "a program of one record",
         records != NULL ? records : "");
  printf("columns    ");
  for (size_t i = 0; i < n_columns; i++) {
    printf(" %s", columns[i]);
  }
  printf("\nparameters  %zu unconstrained:", n_parameters);
  for (size_t j = 0; j < n_parameters; j += repeats(program, j)) {
    size_t n = repeats(program, j);
    printf(n > 1 ? " %s (%zu)" : " %s", tacit_program_parameter(program, j), n);
  }
  printf("\nreported    %zu", tacit_program_n_reported(program));
  for (size_t i = 0; i < tacit_program_n_reported(program) && i < 20; i++) {
    printf("%s %s", i == 0 ? ":" : "", tacit_program_label(program, i));
  }
  printf(tacit_program_n_reported(program) > 20 ? " ...\n" : "\n");
  if (isfinite(bound)) {
    printf("gradients   of a record's term are at most %.4g (L2), whatever the record and the parameters: "
           "nothing has to be clipped\n",
           bound);
  } else if (!isnan(bound)) {
    printf("gradients   of a record's term have no bound that is known: method noise-aware, the default "
           "where it applies (tacit plan says whether), needs\n"
           "            none; chains (dp-hmc, dp-penalty ...) need --clip-grad or --clip-ratio or both, or "
           "private for them, and what is clipped bends\n"
           "            their posterior\n");
  }
}

static json_t *texts(size_t n, const char *(*get)(const tacit_program_t *, size_t),
                     const tacit_program_t *program) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++) {
    json_array_append_new(list, json_string(get(program, i)));
  }
  return list;
}

static int print_json(const cli_args_t *args, json_t *root) {
  char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;
  json_decref(root);
  if (text == NULL) {
    cli_error(args, "out of memory");
    return CLI_FAILURE;
  }
  puts(text);
  json_free_t release;
  json_get_alloc_funcs(NULL, &release);
  release(text);
  return CLI_OK;
}

static json_t *describe(const tacit_program_t *program, double bound) {
  size_t n_columns;
  const char *const *columns = tacit_program_columns(program, &n_columns),
                    *records = tacit_program_records(program);
  json_t *list = json_array();
  for (size_t i = 0; i < n_columns; i++) {
    json_array_append_new(list, json_string(columns[i]));
  }
  return json_pack("{s:b, s:s?, s:o, s:o, s:o, s:o, s:o}", "ok", 1, "records", records, "columns", list,
                   "parameters", texts(tacit_program_n_parameters(program), tacit_program_parameter, program),
                   "reported", texts(tacit_program_n_reported(program), tacit_program_label, program),
                   "notes", texts(tacit_program_n_notes(program), tacit_program_note, program), "grad_bound",
                   isfinite(bound) ? json_real(bound) : json_null());
}

static int check_program(const cli_args_t *args, const tacit_schema_t *schema) {
  const char *path = args->positionals[0];
  bool as_json = cli_is_given(args, "json");
  tacit_program_t *program;
  tacit_error_t err;
  tacit_status_t read = cli_program_read(&program, args, path, schema, &err);
  int status = CLI_OK;
  double bound = NAN; /* without a schema nothing is known of the columns */
  tacit_model_t model;
  if (read == TACIT_OK && schema != NULL) {
    read = tacit_program_compile(program, &model, &err);
    bound = read == TACIT_OK ? model.records.grad_bound : bound;
  }
  if (read != TACIT_OK && as_json && read != TACIT_ERR_MEMORY) {
    status = print_json(args, json_pack("{s:b, s:s}", "ok", 0, "error", err.message));
    status = status == CLI_OK ? CLI_BAD_DATA : status;
  } else if (read != TACIT_OK) {
    status = cli_fail(args, &err);
  } else if (as_json) {
    status = print_json(args, describe(program, bound));
  } else {
    print_check(program, path, bound);
  }
  for (size_t i = 0; read == TACIT_OK && !as_json && i < tacit_program_n_notes(program); i++) {
    fprintf(stderr, "note: %s\n", tacit_program_note(program, i));
  }
  tacit_program_free(program);
  return status;
}

static int check_model(const cli_args_t *args) {
  const char *path = cli_value(args, "schema");
  tacit_schema_t *schema = NULL;
  tacit_error_t err;
  if (path != NULL && tacit_schema_read(&schema, path, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  int status = check_program(args, schema);
  tacit_schema_free(schema);
  return status;
}

static const tacit_setting_t check_options[] = {
    {"schema", "FILE", NULL,
     "YAML: what is publicly known of each column. Without it the language alone is checked, and sizes and "
     "public data are taken as given.",
     CLI_TEXT},
    {"records", "NAME", NULL,
     "The int that counts records; the first size of what has a density if not said; none: the data are one "
     "record's.",
     CLI_TEXT},
    {"set", "NAME=V", NULL,
     "A public number of the program, or several: --set D=10, --set knots=1,2,3; or in place of a function "
     "of all records: --set 'mean(x)=5.2'. May be repeated.",
     CLI_TEXT},
    {"constants", "FILE", NULL, "Public numbers of the program: a JSON object. May be repeated.", CLI_TEXT},
    {"public", "NAME", NULL, "The numbers given as NAME are public, as in tacit fit. May be repeated.",
     CLI_TEXT},
    {"json", NULL, NULL, "Print JSON.", CLI_FLAG},
    {0}};

const cli_command_t cli_model_check = {
    .name = "model check",
    .positionals = "PROGRAM",
    .n_positionals = 1,
    .summary = "check a model written in Stan's language",
    .description =
        "Says what is wrong with a program, with its line and a caret, or what it has: the records' columns, "
        "the parameters, and what is reported. No record is read. docs/language.md describes the language.",
    .examples =
        "  tacit model check visits.stan\n  tacit model check visits.stan --schema clinic.yaml --json\n",
    .options = check_options,
    .run = check_model};

/* ---- tacit model write ---- */

static int write(const cli_args_t *args) { return cli_formula_write(args, cli_value(args, "out")); }

static const tacit_setting_t write_options[] = {
    {"family", "NAME", NULL, "One of tacit model families.", CLI_TEXT},
    {"schema", "FILE", NULL, "YAML: what is publicly known of each column.", CLI_TEXT},
    {"out", "FILE", NULL,
     "Write here instead of standard output; must not exist. tacit fit FILE.stan fits it, as it is or "
     "edited.",
     CLI_TEXT},
    {0}};

const cli_command_t cli_model_write = {
    .name = "model write",
    .positionals = "FORMULA",
    .n_positionals = 1,
    .summary = "write the program that a formula stands for",
    .description =
        "Beside columns, a:b, a*b, log(x) and I(x^2) a formula may have (a + b)^2, '.', - x, poly(x, 2), "
        "ns(x, 4), bs(x, 5), scale(x), relevel(g, \"b\"), factor(k), offset(log(t)), (1 | g) and (1 + x | "
        "g); and a response may be 'y | cens(c)', 'y | trials(n)', 'y | weights(w)'. docs/language.md says "
        "what they mean where bounds are public and data private.",
    .examples =
        "  tacit model write 'visits ~ age + sex + (1 | ward)' --family negbinomial --schema clinic.yaml\n",
    .options = write_options,
    .run = write};

/* ---- tacit model families ---- */

static int families(const cli_args_t *args) {
  bool as_json = cli_is_given(args, "json");
  for (size_t i = 0; tacit_program_family_about(i) != NULL; i++) {
    const tacit_family_about_t *family = tacit_program_family_about(i);
    if (as_json) { /* texts of ours, which hold nothing to escape */
      printf("%s{\"name\": \"%s\", \"response\": \"%s\", \"link\": \"%s\", \"summary\": \"%s\"}",
             i > 0 ? ",\n " : "[", family->name, family->response, family->link, family->summary);
    } else {
      printf("%-26s %-32s %-22s %s\n", family->name, family->response, family->link, family->summary);
    }
  }
  printf(as_json ? "]\n"
                 : "\nname, what the response is, link, what it is for; tacit model write prints the program "
                   "behind one.\n");
  return CLI_OK;
}

static const tacit_setting_t families_options[] = {{"json", NULL, NULL, "Print JSON.", CLI_FLAG}, {0}};

const cli_command_t cli_model_families = {
    .name = "model families",
    .positionals = "",
    .summary = "list the families of regressions",
    .description = "Lists what may stand behind --family: the name, what the schema must say of the "
                   "response, the link, and what it is for.",
    .examples = "  tacit model families\n  tacit model families --json\n",
    .options = families_options,
    .run = families};

/* ---- tacit model list ---- */

static int list(const cli_args_t *args) {
  tacit_program_library_t library;
  tacit_error_t err;
  bool as_json = cli_is_given(args, "json");
  if (tacit_program_library_init(&library, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  json_t *root = as_json ? json_array() : NULL;
  for (size_t i = 0; i < library.n; i++) {
    const tacit_program_entry_t *entry = &library.entries[i];
    if (as_json) {
      json_array_append_new(root, json_pack("{s:s, s:s, s:s, s:b}", "name", entry->name, "arguments",
                                            entry->arguments, "summary", entry->summary, "distribution",
                                            entry->is_distribution));
    } else {
      char head[96];
      snprintf(head, sizeof head, "%s%s(%s)", entry->is_distribution ? "~ " : "  ", entry->name,
               entry->arguments);
      printf(entry->summary[0] != '\0' ? "%-52s %s\n" : "%s\n", head, entry->summary);
    }
  }
  int status = as_json ? print_json(args, root) : CLI_OK;
  tacit_program_library_clear(&library);
  return status;
}

static const tacit_setting_t list_options[] = {{"json", NULL, NULL, "Print JSON.", CLI_FLAG}, {0}};

const cli_command_t cli_model_list = {
    .name = "model list",
    .positionals = "",
    .summary = "list the distributions and functions of the language",
    .description =
        "Distributions stand after ~: 'y ~ normal(mu, sigma)'; they are functions too: normal_lpdf(y | mu, "
        "sigma). Many have normal_lcdf and normal_lccdf beside them, for censored and truncated outcomes.",
    .examples = "  tacit model list\n  tacit model list --json\n",
    .options = list_options,
    .run = list};
