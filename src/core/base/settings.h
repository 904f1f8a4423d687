/* Texts that were given for the settings of a table. */
#ifndef TACIT_BASE_SETTINGS_H
#define TACIT_BASE_SETTINGS_H

#include "tacit/setting.h"

typedef struct tacit_given {
  const tacit_setting_t *setting;
  char *text; /* of a flag "true" */
} tacit_given_t;

typedef struct tacit_settings {
  const tacit_setting_t *table;
  size_t n_table;
  tacit_given_t *given; /* in the order in which they were given */
  size_t n_given;
} tacit_settings_t;

/* Check a text by the table and keep it. */
TACIT_MUST_USE tacit_status_t tacit_settings_set(tacit_settings_t *settings, const char *name,
                                                 const char *text, tacit_error_t *err);
void tacit_settings_clear(tacit_settings_t *settings);
bool tacit_settings_has(const tacit_settings_t *settings, const char *name);
/* Last text given, else the default, else NULL. */
const char *tacit_settings_text(const tacit_settings_t *settings, const char *name);
/* The same as the number or whole number that it is; *x stays as it is where there is no text. */
void tacit_settings_number(const tacit_settings_t *settings, const char *name, double *x);
void tacit_settings_count(const tacit_settings_t *settings, const char *name, size_t *n);
/* The place of the text among the choices of its setting. */
size_t tacit_settings_choice(const tacit_settings_t *settings, const char *name);

/* Rows of a table: one of any text; the ledger in which `what` is reserved, and what it says of `whom`. */
#define TACIT_TEXT_SETTING(name, value, group, help)                                                         \
  { name, value, NULL, help, group, TACIT_SETTING_TEXT, 0, 0, NULL }
#define TACIT_LEDGER_SETTINGS(what, whom)                                                                    \
  TACIT_TEXT_SETTING("ledger", "FILE", "privacy",                                                            \
                     "Ledger of these data (tacit ledger init): " what " is reserved there first."),         \
      TACIT_TEXT_SETTING("data-id", "NAME", "privacy", "Refuse if the ledger is of another data set."),      \
      TACIT_TEXT_SETTING("purpose", "TEXT", "privacy", "What the ledger shall say of " whom " if not said.")

/* Without "ledger": refuse "data-id" and "purpose", which speak of it. */
TACIT_MUST_USE tacit_status_t tacit_settings_check_ledger(const tacit_settings_t *settings,
                                                          tacit_error_t *err);

#endif
