#include "cli/program_read.h"
#include "base/error.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

#include "request/request.h"
#include "tacit/data.h"

tacit_status_t cli_program_read(tacit_program_t **program, const cli_args_t *args, const char *path,
                                const struct tacit_schema *schema, tacit_error_t *err) {
  tacit_program_constants_t constants = {0};
  const char *records = cli_value(args, "records");
  *program = NULL;
  tacit_status_t status = tacit_request_constants(&args->given, &constants, err);
  if (status == TACIT_OK) {
    tacit_program_settings_t settings = {.schema = schema,
                                         .records =
                                             records != NULL && strcmp(records, "none") == 0 ? "" : records,
                                         .constants = constants.items,
                                         .n_constants = constants.n};
    status = tacit_program_read(program, path, &settings, err);
  }
  tacit_program_constants_clear(&constants);
  return status;
}

int cli_formula_write(const cli_args_t *args, const char *out) {
  static const char *const required[] = {"family", "schema"};
  tacit_schema_t *schema;
  tacit_error_t err;
  char *text;
  if (!cli_require(args, required, 2)) {
    return CLI_USAGE;
  }
  if (tacit_schema_read(&schema, cli_value(args, "schema"), &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  tacit_status_t status =
      tacit_program_of_formula(&text, args->positionals[0], cli_value(args, "family"), schema, &err);
  if (status == TACIT_OK && out != NULL) {
    status = tacit_file_create(out, text, strlen(text), &err);
  } else if (status == TACIT_OK) {
    fputs(text, stdout);
  }
  tacit_free(text);
  tacit_schema_free(schema);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}
