#ifndef TACIT_CLI_COMMANDS_H
#define TACIT_CLI_COMMANDS_H

#include "cli/cli.h"

extern const cli_command_t cli_fit, cli_summary, cli_schema_check, cli_schema_draft, cli_methods, cli_plan,
    cli_diagnose, cli_account, cli_ledger_init, cli_ledger_show, cli_ledger_export, cli_ledger_verify,
    cli_ledger_migrate, cli_infer, cli_release, cli_import, cli_predict, cli_contrast, cli_compare,
    cli_statement, cli_refit, cli_combine, cli_check, cli_synthesize, cli_model_check, cli_model_families,
    cli_model_list, cli_model_write;

#endif
