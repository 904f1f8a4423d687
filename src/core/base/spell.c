/*
 * Messages name settings as the command line does, "--epsilon E", and pages of help as its commands. Who
 * calls from another language reads them as he writes them there, "epsilon=E". What stands in quotes is the
 * user's own, and stays.
 */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "tacit/setting.h"

typedef struct phrase {
  const char *of_program, *of[2]; /* Python, R */
} phrase_t;

/* Commands that messages point to; longer ones first. */
static const phrase_t commands[] = {
    {"tacit model families", {"tacit.families()", "tacit_families()"}},
    {"tacit model write", {"tacit.model()", "tacit_model()"}},
    {"tacit schema draft", {"tacit.schema_draft()", "tacit_schema_draft()"}},
    {"tacit schema check", {"tacit.schema_check()", "tacit_schema_check()"}},
    {"tacit ledger init", {"tacit.Ledger.create()", "tacit_ledger_create()"}},
    {"tacit release --help", {"tacit.settings(\"release\")", "?tacit_release"}},
    {"tacit infer --help", {"tacit.settings(\"infer\")", "?tacit_infer"}},
    {"tacit account --help", {"help(tacit.account)", "?tacit_account"}},
    {"tacit fit --help", {"tacit.settings()", "?tacit"}},
    {"tacit summary", {".summary()", "summary()"}},
    {"tacit methods", {"tacit.plan()", "?tacit"}},
    {"tacit check --out", {"tacit.check(out=...)", "tacit_check(out = ...)"}},
};
/* Settings that have other names there. */
static const phrase_t others[] = {{"seed", {"seed_not_private", "seed_not_private"}},
                                  {"want-width", {"width", "width"}},
                                  {"yes", {"accept_poor", "accept_poor"}}};

typedef struct speller {
  tacit_text_t out;
  tacit_spelling_t as;
  const tacit_setting_t *table;
  size_t n_table;
} speller_t;

static void put(speller_t *s, const char *text) { tacit_text_append(&s->out, text, strlen(text)); }

/* The command that `text` begins with. */
static const phrase_t *command_at(const char *text) {
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    if (strncmp(text, commands[i].of_program, strlen(commands[i].of_program)) == 0) {
      return &commands[i];
    }
  }
  return NULL;
}

static bool is_flag(const speller_t *s, const char *name, size_t n) {
  for (size_t i = 0; i < s->n_table; i++) {
    if (strlen(s->table[i].name) == n && strncmp(s->table[i].name, name, n) == 0) {
      return s->table[i].value == NULL;
    }
  }
  return false;
}

static void put_name(speller_t *s, const char *name, size_t n) {
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (strlen(others[i].of_program) == n && strncmp(others[i].of_program, name, n) == 0) {
      put(s, others[i].of[s->as - TACIT_SPELLING_PYTHON]);
      return;
    }
  }
  for (size_t i = 0; i < n; i++) {
    tacit_text_append(&s->out, name[i] == '-' ? "_" : &name[i], 1);
  }
}

/* How long a text in quotes is that begins here, 0 if none does: an apostrophe is within a word or behind
 * one. */
static size_t quoted_length(const char *text, char before) {
  const char *end = text[0] == '\'' && !isalnum((unsigned char)before) ? strchr(text + 1, '\'') : NULL;
  return end != NULL ? (size_t)(end - text) + 1 : 0;
}

/*
 * How long the value is that follows a setting, 0 where prose does: a placeholder, a number, what is no plain
 * word, or a word that only values are.
 */
static size_t value_length(const char *text) {
  static const char *const words[] = {"private", "schema", "hmc",   "gibbs",  "marginal",
                                      "moments", "score",  "vcorr", "barker", "penalty"};
  if (text[0] == '\'') {
    return quoted_length(text, ' ');
  }
  size_t n = 0;
  bool is_plain = true;
  while (isalnum((unsigned char)text[n]) || (text[n] != '\0' && strchr("-_.:=@", text[n]) != NULL)) {
    n++;
  }
  while (n > 0 && (text[n - 1] == '.' || text[n - 1] == ':')) { /* of the sentence */
    n--;
  }
  for (size_t i = 0; i < n; i++) {
    is_plain = is_plain && islower((unsigned char)text[i]);
  }
  for (size_t i = 0; is_plain && i < sizeof words / sizeof words[0]; i++) {
    is_plain = strlen(words[i]) != n || strncmp(words[i], text, n) != 0;
  }
  return is_plain ? 0 : n;
}

static void put_value(speller_t *s, const char *value, size_t n) {
  bool is_quoted = value[0] == '\'', is_bare = !is_quoted;
  for (size_t i = 0; i < n; i++) {
    is_bare =
        is_bare && (isupper((unsigned char)value[i]) || isdigit((unsigned char)value[i]) || value[i] == '.');
  }
  put(s, is_bare ? "" : "\"");
  tacit_text_append(&s->out, value + is_quoted, n - 2 * (size_t)is_quoted);
  put(s, is_bare ? "" : "\"");
}

/* `text` begins with "--name"; is_named: it is the name that is spoken of. Returns what was taken of it. */
static size_t put_setting(speller_t *s, const char *text, bool is_named) {
  const char *joint = s->as == TACIT_SPELLING_R ? " = " : "=";
  size_t n = 2;
  while (islower((unsigned char)text[n]) || (text[n] == '-' && islower((unsigned char)text[n + 1]))) {
    n++;
  }
  put_name(s, text + 2, n - 2);
  if (is_flag(s, text + 2, n - 2)) {
    put(s, s->as == TACIT_SPELLING_R ? " = TRUE" : "=True");
    return n;
  }
  size_t length = is_named || text[n] != ' ' ? 0 : value_length(text + n + 1);
  tacit_text_append(&s->out, joint, length > 0 || s->as == TACIT_SPELLING_PYTHON ? strlen(joint) : 2);
  if (length > 0) {
    put_value(s, text + n + 1, length);
    n += 1 + length;
  }
  return n;
}

static bool is_setting(const char *text) {
  return text[0] == '-' && text[1] == '-' && islower((unsigned char)text[2]);
}

tacit_status_t tacit_spell(const char *text, tacit_spelling_t as, const tacit_setting_t *table,
                           size_t n_table, char **spelled, tacit_error_t *err) {
  static const char option[] = "option ";
  speller_t s = {.as = as, .table = table, .n_table = n_table};
  char before = ' ';
  tacit_text_append(&s.out, "", 0);
  if (as == TACIT_SPELLING_PROGRAM) {
    put(&s, text);
    return tacit_text_take(&s.out, TACIT_OK, spelled, err);
  }
  for (size_t at = 0; text[at] != '\0'; before = text[at - 1]) {
    const phrase_t *command = isalnum((unsigned char)before) ? NULL : command_at(text + at);
    bool is_named =
        strncmp(text + at, option, sizeof option - 1) == 0 && is_setting(text + at + sizeof option - 1);
    if (command != NULL) {
      put(&s, command->of[as - TACIT_SPELLING_PYTHON]);
      at += strlen(command->of_program);
    } else if (is_named || (is_setting(text + at) && !isalnum((unsigned char)before) && before != '-')) {
      at += is_named ? sizeof option - 1 : 0;
      at += put_setting(&s, text + at, is_named);
    } else {
      size_t quoted = quoted_length(text + at, before), n = quoted > 0 ? quoted : 1;
      tacit_text_append(&s.out, text + at, n);
      at += n;
    }
  }
  return tacit_text_take(&s.out, TACIT_OK, spelled, err);
}
