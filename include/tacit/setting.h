/**
 * @file setting.h
 * Settings as name and text: one table feeds command lines, help, manual pages, completion and the
 * documentation of other languages.
 */
#ifndef TACIT_SETTING_H
#define TACIT_SETTING_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the text of a setting must be. */
typedef enum tacit_setting_kind {
  TACIT_SETTING_TEXT = 0, /**< anything, or as the help says */
  TACIT_SETTING_FLAG,     /**< "true" or "false"; NULL means "true" */
  TACIT_SETTING_NUMBER,   /**< a number in [lower, upper] */
  TACIT_SETTING_COUNT,    /**< a whole number in [lower, upper] */
  TACIT_SETTING_BOUND,    /**< "private", or a number in [lower, upper] */
  TACIT_SETTING_CHOICE,   /**< one of the choices */
  TACIT_SETTING_PROGRAM   /**< of the program alone: a flag that tacit_fit_set() refuses */
} tacit_setting_kind_t;

/** One setting: what command lines, help, manual pages and the documentation of other languages are made of.
 */
typedef struct tacit_setting {
  const char *name;     /**< "clip-grad" */
  const char *value;    /**< what stands for its value in help: "FILE"; NULL for flags */
  const char *fallback; /**< the default; NULL if there is none, or as the help says */
  const char *help;     /**< sentences */
  const char *group;    /**< "model", "privacy", "chains", "releases", "sampler", "running" */
  tacit_setting_kind_t kind;
  double lower, upper;        /**< of a number, count or bound */
  const char *const *choices; /**< ended by NULL */
} tacit_setting_t;

/** Where somebody reads a message. */
typedef enum tacit_spelling {
  TACIT_SPELLING_PROGRAM = 0, /**< "--epsilon E", "--exposed" */
  TACIT_SPELLING_PYTHON,      /**< "epsilon=E", "exposed=True" */
  TACIT_SPELLING_R            /**< "epsilon = E", "exposed = TRUE" */
} tacit_spelling_t;

/**
 * A message, plan or advice of the library with settings, and commands to look something up with, as they are
 * written in another language. What stands in quotes is the user's own and stays as it is.
 * @param[in] table     settings, shape (n_table), which tell flags from others, as tacit_fit_settings().
 * @param[out] spelled  returns owned; free with tacit_free(). NULL on failure.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_spell(const char *text, tacit_spelling_t as,
                                                    const tacit_setting_t *table, size_t n_table,
                                                    char **spelled, tacit_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
