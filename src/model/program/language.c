#include "program/language.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <string.h>

#include "program/bind.h"
#include "program/compile.h"
#include "program/graph_internal.h"

/* The statements of a block, in its own scope, which stays open. */
static void run_block(tacit_lower_t *lower, tacit_block_t block,
                      void (*run)(tacit_lower_t *, const tacit_stmt_t *)) {
  const tacit_stmt_t *stmt = lower->source->blocks[block];
  lower->block = block;
  for (size_t i = 0; stmt != NULL && i < stmt->n_body && lower->status == TACIT_OK; i++) {
    run(lower, stmt->body[i]);
  }
}

static void run_statement(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  tacit_flow_t flow = tacit_lower_statement(lower, stmt);
  (void)flow; /* errors are in lower->status */
}

/* Generated quantities may be senseless here, where they look at records: what cannot be computed is left
 * out, and said. */
static void run_generated(tacit_lower_t *lower) {
  size_t first = lower->n_variables;
  tacit_error_t *err = lower->err, own = {0};
  lower->is_generated = true;
  lower->err = &own;
  run_block(lower, TACIT_BLOCK_GENERATED, run_statement);
  lower->err = err;
  if (lower->status != TACIT_OK && lower->status != TACIT_ERR_MEMORY && lower->was_mark) {
    lower->status = TACIT_OK;
    void **notes = (void **)lower->notes;
    char *note = tacit_arena_printf(lower->arena, "generated quantities from here on are not computed\n%s",
                                    own.message);
    tacit_list_append(lower->arena, &notes, &lower->n_notes, note);
    lower->notes = (char **)notes;
  } else if (lower->status != TACIT_OK && err != NULL) {
    *err = own;
  }
  tacit_lower_report(lower, first);
}

static bool has_record_term(const tacit_graph_t *graph) {
  return (tacit_graph_rate(graph, graph->record) & TACIT_RATE_PARAMETER) != 0;
}

void tacit_lower_program(tacit_lower_t *lower) {
  run_block(lower, TACIT_BLOCK_DATA, tacit_lower_data);
  run_block(lower, TACIT_BLOCK_TRANSFORMED_DATA, run_statement);
  size_t first = lower->n_variables;
  run_block(lower, TACIT_BLOCK_PARAMETERS, tacit_lower_parameter);
  run_block(lower, TACIT_BLOCK_TRANSFORMED_PARAMETERS, run_statement);
  if (lower->status == TACIT_OK) {
    tacit_lower_report(lower, first);
  }
  size_t n_variables = lower->n_variables;
  run_block(lower, TACIT_BLOCK_MODEL, run_statement);
  lower->n_variables = n_variables;
  if (lower->status == TACIT_OK && !has_record_term(lower->graph)) {
    tacit_lower_fail(
        lower, lower->source->blocks[TACIT_BLOCK_MODEL]->offset,
        "no statement of the model holds both a parameter and a datum of records: there is nothing to learn");
  }
  if (lower->has_statistics) {
    run_block(lower, TACIT_BLOCK_STATISTIC, tacit_lower_statistic);
  }
  if (lower->status == TACIT_OK) {
    run_generated(lower);
  }
}

static const char *copy(tacit_program_t *program, const char *text) {
  return tacit_arena_text(&program->arena, text, strlen(text));
}

/* The place of a reported value from `first` on; n_reported: there is none. */
static size_t find_reported(const tacit_graph_t *graph, size_t first, const char *name) {
  size_t i = first;
  while (i < graph->n_reported && strcmp(graph->reported[i].name, name) != 0) {
    i++;
  }
  return i;
}

static tacit_status_t relabel(tacit_graph_reported_t *reported, const char *label, tacit_error_t *err) {
  char *own = tacit_strdup(label);
  if (own == NULL) {
    return tacit_error_memory(err);
  }
  tacit_free(reported->label);
  reported->label = own;
  return TACIT_OK;
}

/* What has labels of its own comes first, in their order; what would share one has it in parentheses. */
static tacit_status_t label_reported(tacit_graph_t *graph, const tacit_program_settings_t *settings,
                                     tacit_error_t *err) {
  size_t n = 0;
  tacit_status_t status = TACIT_OK;
  for (size_t k = 0; k < settings->n_labels && status == TACIT_OK; k++) {
    size_t i = find_reported(graph, n, settings->labels[k].name);
    if (i < graph->n_reported) {
      const tacit_graph_reported_t found = graph->reported[i];
      memmove(graph->reported + n + 1, graph->reported + n, (i - n) * sizeof found);
      graph->reported[n] = found;
      status = relabel(&graph->reported[n++], settings->labels[k].label, err);
    }
  }
  for (size_t i = n; i < graph->n_reported && status == TACIT_OK; i++) {
    bool is_taken = false;
    for (size_t k = 0; k < n && !is_taken; k++) {
      is_taken = strcmp(graph->reported[i].label, graph->reported[k].label) == 0;
    }
    tacit_text_t label = {0};
    tacit_text_printf(&label, "(%s)", graph->reported[i].label);
    status = label.failed ? tacit_error_memory(err)
             : is_taken   ? relabel(&graph->reported[i], label.data, err)
                          : status;
    tacit_text_clear(&label);
  }
  return status;
}

/* What is said of the graph, before it is given away. */
static void describe(tacit_program_t *program) {
  const tacit_graph_t *graph = program->graph;
  tacit_arena_t *arena = &program->arena;
  program->n_parameters = graph->n_parameters;
  program->n_reported = graph->n_reported;
  program->parameters = tacit_arena_alloc(arena, graph->n_parameters, sizeof *program->parameters);
  program->labels = tacit_arena_alloc(arena, graph->n_reported, sizeof *program->labels);
  program->names = tacit_arena_alloc(arena, graph->n_reported, sizeof *program->names);
  program->columns = tacit_arena_alloc(arena, graph->n_columns, sizeof *program->columns);
  if (arena->failed) {
    return;
  }
  for (size_t j = 0; j < graph->n_parameters; j++) {
    program->parameters[j] = copy(program, graph->parameters[j].name);
  }
  for (size_t i = 0; i < graph->n_reported; i++) {
    program->labels[i] = copy(program, graph->reported[i].label);
    program->names[i] = copy(program, graph->reported[i].name);
  }
  for (size_t i = 0; i < graph->n_columns; i++) { /* each once */
    bool is_new = true;
    for (size_t k = 0; k < i && is_new; k++) {
      is_new = strcmp(graph->columns[k].source, graph->columns[i].source) != 0;
    }
    if (is_new) {
      program->columns[program->n_columns++] = copy(program, graph->columns[i].source);
    }
  }
}

tacit_status_t tacit_axis_choose(tacit_lower_t *lower, const tacit_program_settings_t *settings) {
  lower->axis = tacit_axis_find(lower->source);
  if (settings->records == NULL) {
    return TACIT_OK;
  }
  const tacit_stmt_t *declaration = tacit_axis_declaration(lower->source, settings->records);
  if (settings->records[0] == '\0') {
    lower->axis = NULL;
  } else if (declaration == NULL || declaration->type.kind != TACIT_TYPE_INT ||
             declaration->type.n_sizes != 0) {
    return tacit_error_set(lower->err, TACIT_ERR_UNKNOWN, "records",
                           "the program has no datum 'int %s' that could count records", settings->records);
  } else {
    lower->axis = declaration->name;
  }
  return TACIT_OK;
}

/* A program has one kind of record: outcomes of others would be numbers that anybody may see, and are let
 * through if that was said. */
static tacit_status_t check_outcomes(tacit_lower_t *lower, const tacit_program_settings_t *settings) {
  const tacit_stmt_t *other = lower->axis != NULL ? tacit_axis_other(lower->source, lower->axis) : NULL;
  for (size_t i = 0; i < settings->n_constants && other != NULL; i++) {
    other = strcmp(settings->constants[i].name, other->name) == 0 && settings->constants[i].is_public ? NULL
                                                                                                      : other;
  }
  if (other != NULL) {
    tacit_lower_fail(lower, other->offset,
                     "'%.36s' has a density and is not declared for the %.36s records: a program has one "
                     "kind of record. Write one row a person, and "
                     "censored_right(x, event) ~ ... for who is censored (docs/language.md); --public %.36s "
                     "if its numbers are public; --records "
                     "SIZE if the records are others",
                     other->name, lower->axis, other->name);
  }
  return lower->status;
}

/* Unroll once, with sizes that are not known assumed. *is_size: the error may be one of these. */
static tacit_status_t lower_program(tacit_program_t *program, const tacit_source_t *source,
                                    const tacit_source_t *library, const tacit_program_settings_t *settings,
                                    double assumed_size, bool *is_size, tacit_error_t *err) {
  tacit_lower_t lower = {.arena = &program->arena,
                         .graph = program->graph,
                         .source = source,
                         .library = library,
                         .err = err,
                         .status = TACIT_OK};
  tacit_bind_t bind;
  tacit_status_t status = tacit_axis_choose(&lower, settings);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_bind_init(&bind, &lower, settings, assumed_size);
  lower.outside = &bind.outside;
  if (check_outcomes(&lower, settings) != TACIT_OK) {
    return lower.status;
  }
  tacit_lower_program(&lower);
  *is_size = lower.was_size;
  if (lower.status == TACIT_OK && program->arena.failed) {
    return tacit_error_memory(err);
  }
  status = lower.status == TACIT_OK ? tacit_graph_status(program->graph, err) : lower.status;
  program->records =
      lower.axis != NULL ? tacit_arena_text(&program->arena, lower.axis, strlen(lower.axis)) : NULL;
  program->notes = lower.notes;
  program->n_notes = lower.n_notes;
  return status;
}

/* Behind the first line of an error that sizes had to do with, one or another of each that was tried: the
 * right one may lead to none. */
static void say_sizes(tacit_error_t *error) {
  static const char said[] = " (sizes that are not said were tried as 1, 2, 3 and 5: --set NAME=SIZE)";
  char *end = error->message + strcspn(error->message, "\n");
  if (strlen(error->message) + sizeof said <= sizeof error->message) {
    memmove(end + sizeof said - 1, end, strlen(end) + 1);
    memcpy(end, said, sizeof said - 1);
  }
}

/* Without a schema a program is all right if it is for some sizes. */
static tacit_status_t try_sizes(tacit_program_t *program, const tacit_source_t *source,
                                const tacit_source_t *library, const tacit_program_settings_t *settings,
                                tacit_error_t *err) {
  static const double sizes[] = {3, 2, 1, 5};
  size_t n = settings->schema == NULL ? sizeof sizes / sizeof sizes[0] : 1;
  tacit_status_t status = TACIT_OK;
  tacit_error_t first = {0};
  for (size_t i = 0; i < n; i++) {
    bool is_size = false;
    tacit_graph_free(program->graph);
    program->graph = tacit_graph_new();
    tacit_error_t error = {0};
    status = program->graph != NULL
                 ? lower_program(program, source, library, settings, sizes[i], &is_size, &error)
                 : tacit_error_memory(&error);
    if (status == TACIT_OK) {
      return TACIT_OK;
    }
    if (i == 0 || !is_size) {
      first = error;
    }
    if (!is_size) {
      break;
    }
    if (i == n - 1 && strcmp(error.message, first.message) != 0) {
      say_sizes(&first);
    }
  }
  if (err != NULL) {
    *err = first;
  }
  return first.status;
}

tacit_status_t tacit_program_parse(tacit_program_t **program, const char *text, size_t n,
                                   const tacit_program_settings_t *settings, tacit_error_t *err) {
  static const tacit_program_settings_t none = {0};
  *program = NULL;
  tacit_program_t *made = tacit_alloc_zero(1, sizeof *made);
  if (made == NULL) {
    return tacit_error_memory(err);
  }
  tacit_source_t source, library;
  tacit_status_t status = tacit_source_parse(&source, &made->arena, text, n, false, err);
  TACIT_THEN(status,
             tacit_source_parse(&library, &made->arena, tacit_library, tacit_library_size, true, err));
  TACIT_THEN(status, try_sizes(made, &source, &library, settings != NULL ? settings : &none, err));
  if (status == TACIT_OK && settings != NULL && settings->n_labels > 0) {
    status = label_reported(made->graph, settings, err);
  }
  if (status == TACIT_OK) {
    describe(made);
    status = made->arena.failed ? tacit_error_memory(err) : TACIT_OK;
  }
  if (status == TACIT_OK && settings != NULL) {
    made->graph->keeps_responses = settings->keeps_responses;
    made->graph->keeps_columns = settings->keeps_columns;
    made->graph->is_followed_to_bound = settings->is_followed_to_bound;
  }
  if (status != TACIT_OK) {
    tacit_program_free(made);
    return status;
  }
  *program = made;
  return TACIT_OK;
}

tacit_status_t tacit_program_read(tacit_program_t **program, const char *path,
                                  const tacit_program_settings_t *settings, tacit_error_t *err) {
  char *text;
  size_t n;
  tacit_error_t why;
  *program = NULL;
  tacit_status_t status = tacit_file_read(path, TACIT_PROGRAM_MAX_TEXT, &text, &n, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_program_parse(program, text, n, settings, &why);
  tacit_free(text);
  return status == TACIT_OK ? status : tacit_error_set(err, status, why.field, "%s: %s", path, why.message);
}

tacit_status_t tacit_program_compile(tacit_program_t *program, struct tacit_model *model,
                                     tacit_error_t *err) {
  if (program->compiled == NULL) {
    tacit_graph_t *graph = program->graph;
    if (graph == NULL) {
      return tacit_error_set(err, TACIT_ERR_STATE, NULL, "this program could not be compiled before");
    }
    program->graph = NULL;
    tacit_status_t status = tacit_compile(&program->compiled, graph, "program", err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  *model = tacit_compiled_model(program->compiled);
  return TACIT_OK;
}

size_t tacit_program_packed(const tacit_program_t *program, const char *column, size_t most, size_t *columns,
                            double *factors, double *offset) {
  return program->compiled != NULL
             ? tacit_compiled_packed(program->compiled, column, most, columns, factors, offset)
             : 0;
}

tacit_status_t tacit_program_pack_part(struct tacit_records **records, const tacit_program_t *program,
                                       const struct tacit_table *table, size_t part, size_t n_parts,
                                       size_t n_threads, const char *scratch, tacit_error_t *err) {
  return tacit_compiled_pack_part(records, program->compiled, table, part, n_parts, n_threads, scratch, err);
}

void tacit_program_free(tacit_program_t *program) {
  if (program != NULL) {
    tacit_graph_free(program->graph);
    tacit_compiled_free(program->compiled);
    tacit_arena_clear(&program->arena);
    tacit_free(program);
  }
}

const char *tacit_program_records(const tacit_program_t *program) { return program->records; }
size_t tacit_program_n_parameters(const tacit_program_t *program) { return program->n_parameters; }
const char *tacit_program_parameter(const tacit_program_t *program, size_t j) {
  return program->parameters[j];
}
size_t tacit_program_n_reported(const tacit_program_t *program) { return program->n_reported; }
const char *tacit_program_label(const tacit_program_t *program, size_t i) { return program->labels[i]; }
const char *tacit_program_name(const tacit_program_t *program, size_t i) { return program->names[i]; }
const char *const *tacit_program_columns(const tacit_program_t *program, size_t *n) {
  *n = program->n_columns;
  return program->columns;
}
size_t tacit_program_n_notes(const tacit_program_t *program) { return program->n_notes; }
const char *tacit_program_note(const tacit_program_t *program, size_t i) { return program->notes[i]; }
