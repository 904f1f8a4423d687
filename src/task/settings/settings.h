/* What tasks are told: one table of settings for all of them. */
#ifndef TACIT_SETTINGS_SETTINGS_H
#define TACIT_SETTINGS_SETTINGS_H

#include "base/settings.h"

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

/* None given; clear with tacit_settings_clear(). */
tacit_settings_t tacit_settings_for(tacit_task_t task);
/* TACIT_ERR_EXISTS where there is already what "out" names, TACIT_ERR_IO where nothing can be made there,
 * TACIT_ERR_ARGUMENT where it names a folder and results are one file: before anything is spent. */
TACIT_MUST_USE tacit_status_t tacit_settings_check_out(const tacit_settings_t *settings, bool is_folder,
                                                       tacit_error_t *err);

#endif
