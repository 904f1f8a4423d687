/* What tasks are told: one table of settings, and the texts that were given for those of a task. */
#ifndef TACIT_SETTINGS_SETTINGS_H
#define TACIT_SETTINGS_SETTINGS_H

#include "tacit/setting.h"

/* Who has settings. Those of check, plan, refit and combine are handed on to a fit, but what is their own. */
typedef enum tacit_task {
  TACIT_TASK_NONE = 0,
  TACIT_TASK_FIT,
  TACIT_TASK_PLAN,
  TACIT_TASK_CHECK,
  TACIT_TASK_REFIT,
  TACIT_TASK_COMBINE,
  TACIT_TASK_RELEASE,
  TACIT_TASK_INFER,
  TACIT_TASK_PREDICT,
  TACIT_TASK_SYNTHESIZE,
  TACIT_N_TASKS
} tacit_task_t;

/* All settings of a task, shape (*n), in the order of its help. */
const tacit_setting_t *tacit_settings_of(tacit_task_t task, size_t *n);

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

/* None given; clear with tacit_settings_clear(). */
tacit_settings_t tacit_settings_for(tacit_task_t task);
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

/* "seed" as a key, or one from the system. */
TACIT_MUST_USE tacit_status_t tacit_settings_key(const tacit_settings_t *settings, unsigned char key[32],
                                                 tacit_error_t *err);
/* TACIT_ERR_EXISTS where there is already what "out" names: before anything is spent. */
TACIT_MUST_USE tacit_status_t tacit_settings_check_out(const tacit_settings_t *settings, tacit_error_t *err);

#endif
