/* Texts that were given for the settings of a table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/settings.h"

/* `name` with underscores for hyphens is that of the setting? */
static bool is_named(const tacit_setting_t *setting, const char *name) {
  size_t i = 0;
  while (name[i] != '\0' && (name[i] == setting->name[i] || (name[i] == '_' && setting->name[i] == '-'))) {
    i++;
  }
  return name[i] == '\0' && setting->name[i] == '\0';
}

static const tacit_setting_t *find_spelled(const tacit_settings_t *settings, const char *name,
                                           tacit_nearest_t *nearest) {
  for (size_t i = 0; i < settings->n_table; i++) {
    if (is_named(&settings->table[i], name)) {
      return &settings->table[i];
    }
    tacit_nearest_offer(nearest, settings->table[i].name);
  }
  return NULL;
}

static tacit_status_t check_number(const tacit_setting_t *setting, const char *text, tacit_error_t *err) {
  double value;
  char low[TACIT_NUMBER_SIZE], high[TACIT_NUMBER_SIZE];
  if (!tacit_number_parse(text, strlen(text), &value) ||
      !(value >= setting->lower && value <= setting->upper)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, setting->name,
                           "option --%s must be a number between %s and %s, not '%s'", setting->name,
                           tacit_number_format(setting->lower, low),
                           tacit_number_format(setting->upper, high), text);
  }
  if (setting->kind == TACIT_SETTING_COUNT && value > floor(value)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, setting->name,
                           "option --%s must be a whole number, not '%s'", setting->name, text);
  }
  return TACIT_OK;
}

static tacit_status_t check_choice(const tacit_setting_t *setting, const char *text, tacit_error_t *err) {
  char list[256] = "", hint[TACIT_HINT_SIZE];
  size_t length = 0;
  tacit_nearest_t nearest = {.name = text};
  for (size_t i = 0; setting->choices[i] != NULL; i++) {
    if (strcmp(setting->choices[i], text) == 0) {
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, setting->choices[i]);
    const char *joint = i == 0 ? "" : setting->choices[i + 1] != NULL ? ", " : " or ";
    int n = snprintf(list + length, sizeof list - length, "%s%s", joint, setting->choices[i]);
    length = length + (size_t)n < sizeof list ? length + (size_t)n : sizeof list - 1;
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, setting->name, "option --%s must be %s, not '%s'%s",
                         setting->name, list, text, tacit_nearest_hint(&nearest, hint));
}

static tacit_status_t check_text(const tacit_setting_t *setting, const char *text, tacit_error_t *err) {
  switch (setting->kind) {
  case TACIT_SETTING_PROGRAM:
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, setting->name, "option --%s is of the program alone",
                           setting->name);
  case TACIT_SETTING_FLAG:
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0
               ? TACIT_OK
               : tacit_error_set(err, TACIT_ERR_ARGUMENT, setting->name,
                                 "option --%s is true or false, not '%s'", setting->name, text);
  case TACIT_SETTING_BOUND:
    return strcmp(text, "private") == 0 ? TACIT_OK : check_number(setting, text, err);
  case TACIT_SETTING_NUMBER:
  case TACIT_SETTING_COUNT:
    return check_number(setting, text, err);
  case TACIT_SETTING_CHOICE:
    return check_choice(setting, text, err);
  default:
    return TACIT_OK;
  }
}

/* A flag that is taken back was never given. */
static void forget(tacit_settings_t *settings, const tacit_setting_t *setting) {
  size_t n = 0;
  for (size_t i = 0; i < settings->n_given; i++) {
    if (settings->given[i].setting == setting) {
      tacit_free(settings->given[i].text);
    } else {
      settings->given[n++] = settings->given[i];
    }
  }
  settings->n_given = n;
}

tacit_status_t tacit_settings_set(tacit_settings_t *settings, const char *name, const char *text,
                                  tacit_error_t *err) {
  tacit_nearest_t nearest = {.name = name};
  char hint[TACIT_HINT_SIZE];
  const tacit_setting_t *setting = find_spelled(settings, name, &nearest);
  if (setting == NULL) {
    return tacit_error_set(err, TACIT_ERR_UNKNOWN, name, "no setting '%s'%s", name,
                           tacit_nearest_hint(&nearest, hint));
  }
  bool is_flag = setting->kind == TACIT_SETTING_FLAG;
  if (text == NULL && !is_flag && setting->kind != TACIT_SETTING_PROGRAM) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, setting->name, "option --%s needs a value: --%s %s",
                           setting->name, setting->name, setting->value);
  }
  text = text != NULL ? text : "true";
  tacit_status_t status = check_text(setting, text, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (is_flag && strcmp(text, "false") == 0) {
    forget(settings, setting);
    return TACIT_OK;
  }
  return tacit_settings_add(settings, setting, text, err);
}

tacit_status_t tacit_settings_add(tacit_settings_t *settings, const tacit_setting_t *setting,
                                  const char *text, tacit_error_t *err) {
  tacit_given_t *grown = tacit_realloc(settings->given, settings->n_given + 1, sizeof *grown);
  if (grown == NULL) {
    return tacit_error_memory(err);
  }
  settings->given = grown;
  grown[settings->n_given] = (tacit_given_t){.setting = setting, .text = tacit_strdup(text)};
  if (grown[settings->n_given].text == NULL) {
    return tacit_error_memory(err);
  }
  settings->n_given++;
  return TACIT_OK;
}

void tacit_settings_clear(tacit_settings_t *settings) {
  for (size_t i = 0; i < settings->n_given; i++) {
    tacit_free(settings->given[i].text);
  }
  tacit_free(settings->given);
  *settings = (tacit_settings_t){0};
}

const tacit_setting_t *tacit_settings_find(const tacit_settings_t *settings, const char *name) {
  for (size_t i = 0; i < settings->n_table; i++) {
    if (strcmp(settings->table[i].name, name) == 0) {
      return &settings->table[i];
    }
  }
  return NULL;
}

/* The last text given; NULL: none. */
static const char *given_text(const tacit_settings_t *settings, const char *name) {
  for (size_t i = settings->n_given; i-- > 0;) {
    if (strcmp(settings->given[i].setting->name, name) == 0) {
      return settings->given[i].text;
    }
  }
  return NULL;
}

bool tacit_settings_has(const tacit_settings_t *settings, const char *name) {
  return given_text(settings, name) != NULL;
}

const char *tacit_settings_text(const tacit_settings_t *settings, const char *name) {
  const char *text = given_text(settings, name);
  const tacit_setting_t *setting = text == NULL ? tacit_settings_find(settings, name) : NULL;
  return setting != NULL ? setting->fallback : text;
}

const char *tacit_settings_next(const tacit_settings_t *settings, const char *name, size_t *i) {
  while (*i < settings->n_given) {
    const tacit_given_t *given = &settings->given[(*i)++];
    if (strcmp(given->setting->name, name) == 0) {
      return given->text;
    }
  }
  return NULL;
}

tacit_status_t tacit_settings_check(const tacit_settings_t *settings, const char *name, tacit_error_t *err) {
  const char *text = tacit_settings_text(settings, name);
  return text != NULL ? check_number(tacit_settings_find(settings, name), text, err) : TACIT_OK;
}

void tacit_settings_number(const tacit_settings_t *settings, const char *name, double *x) {
  const char *text = tacit_settings_text(settings, name);
  double value;
  if (text != NULL && tacit_number_parse(text, strlen(text), &value)) { /* always: the table checked it */
    *x = value;
  }
}

void tacit_settings_count(const tacit_settings_t *settings, const char *name, size_t *n) {
  double value = NAN;
  tacit_settings_number(settings, name, &value);
  *n = isnan(value) ? *n : (size_t)value;
}

size_t tacit_settings_choice(const tacit_settings_t *settings, const char *name) {
  const char *text = tacit_settings_text(settings, name);
  const char *const *choices = tacit_settings_find(settings, name)->choices;
  size_t k = 0;
  while (text != NULL && choices[k] != NULL && strcmp(choices[k], text) != 0) {
    k++;
  }
  return text != NULL && choices[k] != NULL ? k : 0; /* the table checked it */
}
