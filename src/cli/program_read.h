/* A program's file and the public numbers given with it, as commands read them. */
#ifndef TACIT_CLI_PROGRAM_READ_H
#define TACIT_CLI_PROGRAM_READ_H

#include "cli/cli.h"
#include "program/program.h"

/*
 * Read the file and what --set, --constants and --records say, for a schema (NULL: the language alone). err
 * is filled where the program or what is given with it is at fault.
 */
TACIT_MUST_USE tacit_status_t cli_program_read(tacit_program_t **program, const cli_args_t *args,
                                               const char *path, const struct tacit_schema *schema,
                                               tacit_error_t *err);
/* Write the program of the formula that is the first argument, for --family and --schema, to a file (NULL:
 * standard output). */
int cli_formula_write(const cli_args_t *args, const char *out);

#endif
