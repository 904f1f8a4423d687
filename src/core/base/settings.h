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
/* Keep a text as it is. */
TACIT_MUST_USE tacit_status_t tacit_settings_add(tacit_settings_t *settings, const tacit_setting_t *setting,
                                                 const char *text, tacit_error_t *err);
void tacit_settings_clear(tacit_settings_t *settings);
/* Of that very name; NULL: none. */
const tacit_setting_t *tacit_settings_find(const tacit_settings_t *settings, const char *name);
bool tacit_settings_has(const tacit_settings_t *settings, const char *name);
/* Last text given, else the default, else NULL. */
const char *tacit_settings_text(const tacit_settings_t *settings, const char *name);
/* Is that text a number, where there is one, within the setting's range? Those that were set are. */
TACIT_MUST_USE tacit_status_t tacit_settings_check(const tacit_settings_t *settings, const char *name,
                                                   tacit_error_t *err);
/* The same as the number or whole number that it is; *x stays as it is where there is no text. */
void tacit_settings_number(const tacit_settings_t *settings, const char *name, double *x);
void tacit_settings_count(const tacit_settings_t *settings, const char *name, size_t *n);
/* The place of the text among the choices of its setting. */
size_t tacit_settings_choice(const tacit_settings_t *settings, const char *name);
/* Of a setting that may be repeated: the next text from place *i on, which moves behind it; NULL: no more. */
const char *tacit_settings_next(const tacit_settings_t *settings, const char *name, size_t *i);

#endif
