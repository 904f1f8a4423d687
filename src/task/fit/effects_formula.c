/*
 * Groups of a formula, (1 | g), (1 + x | g), (x | g): what stands beside them, and the formula of the
 * regression that is released. There x is mapped to [-1, 1] by its bounds, as it is in the program, so that
 * effects of the intercept are those in the middle of x. (In (0 + x | g) it is only divided.)
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "fit/fit_internal.h"

/* A part of a formula, without spaces around it. */
typedef struct words {
  const char *begin, *end;
} words_t;

/* Past the quoted name, or the bracket, that begins at s; the end of the text where it never ends. */
static const char *skip(const char *s) {
  if (*s == '`') {
    const char *end = strchr(s + 1, '`');
    return end != NULL ? end + 1 : s + strlen(s);
  }
  for (int depth = 0; *s != '\0';) {
    depth += *s == '(';
    depth -= *s == ')';
    s = *s == '`' ? skip(s) : s + 1;
    if (depth == 0) {
      break;
    }
  }
  return s;
}

/* The first such character from `begin` to before `end` that is in no bracket and no name; `end`: none. */
static const char *find(const char *begin, const char *end, char wanted) {
  const char *s = begin;
  while (s < end && *s != '\0' && *s != wanted) {
    s = *s == '(' || *s == '`' ? skip(s) : s + 1;
  }
  return s < end && *s == wanted ? s : end;
}

static words_t trim(const char *begin, const char *end) {
  for (; begin < end && isspace((unsigned char)*begin); ++begin) {
  }
  for (; begin < end && isspace((unsigned char)end[-1]); --end) {
  }
  return (words_t){begin, end};
}

static bool is_text(words_t words, const char *text) {
  size_t n = (size_t)(words.end - words.begin);
  return n == strlen(text) && memcmp(words.begin, text, n) == 0;
}

static void append(tacit_text_t *text, words_t words) {
  tacit_text_append(text, words.begin, (size_t)(words.end - words.begin));
}

/* The column that words name, in backticks or not; NULL: none. */
static const tacit_column_schema_t *column_of(const tacit_schema_t *schema, words_t words) {
  bool is_quoted = words.end - words.begin > 2 && *words.begin == '`' && words.end[-1] == '`';
  tacit_text_t name = {0};
  append(&name, (words_t){words.begin + is_quoted, words.end - is_quoted});
  const tacit_column_schema_t *column = name.data != NULL ? tacit_schema_find(schema, name.data) : NULL;
  tacit_text_clear(&name);
  return column;
}

/* ---- groups ---- */

/* Takes the plus at the end of a formula back; false: something else than a plus or the tilde is there. */
static bool take_plus(tacit_text_t *text) {
  while (text->length > 0 && isspace((unsigned char)text->data[text->length - 1])) {
    text->data[--text->length] = '\0';
  }
  if (text->length > 0 && text->data[text->length - 1] == '+') {
    text->data[--text->length] = '\0';
    return true;
  }
  return text->length > 0 && text->data[text->length - 1] == '~';
}

/* x mapped to [-1, 1]. */
static void append_mapped(tacit_text_t *text, words_t name, const tacit_fit_slope_t *slope) {
  tacit_text_printf(text, "I((");
  append(text, name);
  tacit_text_printf(text, " %c %.17g) / %.17g)", slope->centre < 0 ? '+' : '-',
                    slope->centre < 0 ? -slope->centre : slope->centre, slope->half);
}

tacit_fit_slope_t *tacit_fit_find_slope(tacit_fit_effects_t *effects, const char *column) {
  for (size_t i = 0; i < effects->n_slopes; i++) {
    if (strcmp(effects->slopes[i].column, column) == 0) {
      return &effects->slopes[i];
    }
  }
  return NULL;
}

/* The place of a column among ->slopes, which it joins; MAX: there are too many. */
static size_t place_slope(tacit_fit_effects_t *effects, const tacit_column_schema_t *column) {
  const tacit_fit_slope_t *known = tacit_fit_find_slope(effects, column->name);
  size_t i = known != NULL ? (size_t)(known - effects->slopes) : effects->n_slopes;
  if (known == NULL && i < TACIT_FIT_MAX_GROUPS) {
    double lower = column->lower, upper = column->upper;
    effects->slopes[i] = (tacit_fit_slope_t){
        .column = tacit_strdup(column->name), .centre = lower / 2 + upper / 2, .half = upper / 2 - lower / 2};
    effects->n_slopes += effects->slopes[i].column != NULL;
  }
  return i < effects->n_slopes ? i : TACIT_FIT_MAX_GROUPS;
}

static bool is_number(const tacit_column_schema_t *column) {
  return (column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER ||
          column->type == TACIT_COLUMN_BINARY) &&
         column->upper > column->lower;
}

static bool add_factor(tacit_fit_effects_t *effects, size_t n_levels, size_t slope_of) {
  if (effects->aware.n == TACIT_FIT_MAX_GROUPS) {
    return false;
  }
  effects->slope_of[effects->aware.n] = slope_of;
  effects->factors[effects->aware.n++].n_levels = n_levels;
  return true;
}

/* What (... | g), from begin to end, adds to the factors and to ->regression; false: it is another group. */
static bool add_group(tacit_fit_effects_t *effects, const tacit_schema_t *schema, const char *begin,
                      const char *bar, const char *end) {
  words_t name = trim(bar + 1, end - 1);
  const tacit_column_schema_t *group = column_of(schema, name);
  bool ok = group != NULL && group->n_levels >= 2;
  tacit_text_t slopes = {0};
  size_t slope_of[TACIT_FIT_MAX_GROUPS], n = 0;
  for (const char *s = begin + 1, *plus; s < bar && ok; s = plus + 1) {
    plus = find(s, bar, '+');
    words_t term = trim(s, plus);
    if (is_text(term, "1")) {
      continue;
    }
    const tacit_column_schema_t *column = column_of(schema, term);
    size_t i = column != NULL && is_number(column) && n < TACIT_FIT_MAX_GROUPS ? place_slope(effects, column)
                                                                               : TACIT_FIT_MAX_GROUPS;
    ok = i < TACIT_FIT_MAX_GROUPS;
    if (ok) {
      slope_of[n++] = i + 1;
      tacit_text_append(&slopes, " + ", 3);
      append_mapped(&slopes, term, &effects->slopes[i]);
      tacit_text_append(&slopes, ":", 1);
      append(&slopes, name);
    }
  }
  if (ok) {
    ok = add_factor(effects, group->n_levels, 0);
    tacit_text_append(&effects->regression, " + ", 3);
    append(&effects->regression, name);
  }
  for (size_t i = 0; i < n && ok; i++) {
    ok = add_factor(effects, group->n_levels, slope_of[i]);
  }
  ok = ok && !slopes.failed;
  tacit_text_append(&effects->regression, slopes.data != NULL ? slopes.data : "", slopes.length);
  tacit_text_clear(&slopes);
  return ok;
}

/* ---- the rest ---- */

/* to <- the formula with each term that is a column with effects on its slope mapped. */
static void map_terms(tacit_fit_effects_t *effects, const tacit_schema_t *schema, const char *formula,
                      tacit_text_t *to) {
  const char *end = formula + strlen(formula), *tilde = find(formula, end, '~');
  append(to, (words_t){formula, tilde < end ? tilde + 1 : end});
  for (const char *s = tilde < end ? tilde + 1 : end, *plus; s < end; s = plus + 1) {
    plus = find(s, end, '+');
    words_t term = trim(s, plus);
    const tacit_column_schema_t *column = column_of(schema, term);
    const tacit_fit_slope_t *slope = column != NULL ? tacit_fit_find_slope(effects, column->name) : NULL;
    tacit_text_append(to, " ", 1);
    if (slope != NULL) {
      append_mapped(to, term, slope);
    } else {
      append(to, term);
    }
    tacit_text_append(to, " +", plus < end ? 2 : 0);
  }
}

bool tacit_fit_split_effects(tacit_fit_effects_t *effects, const char *formula,
                             const tacit_schema_t *schema) {
  for (const char *s = formula; *s != '\0';) {
    bool is_bracket = *s == '(' && strchr("+~ \t\n", s > formula ? s[-1] : '(') != NULL;
    const char *end = *s == '(' || *s == '`' ? skip(s) : s + 1,
               *bar = is_bracket ? find(s + 1, end, '|') : end;
    if (bar == end) {
      append(&effects->fixed, (words_t){s, end});
    } else if (!take_plus(&effects->fixed) || !add_group(effects, schema, s, bar, end)) {
      return false;
    }
    s = end;
  }
  const char *last = effects->fixed.data != NULL ? strrchr(effects->fixed.data, '~') : NULL;
  bool is_empty = last != NULL && last[1 + strspn(last + 1, " \t\n")] == '\0';
  tacit_text_append(&effects->fixed, " 1", is_empty ? 2 : 0);
  if (effects->aware.n == 0 || last == NULL || effects->fixed.failed) {
    return false;
  }
  tacit_text_t groups = effects->regression;
  effects->regression = (tacit_text_t){0};
  map_terms(effects, schema, effects->fixed.data, &effects->regression);
  tacit_text_append(&effects->regression, groups.data != NULL ? groups.data : "", groups.length);
  effects->regression.failed = effects->regression.failed || groups.failed;
  tacit_text_clear(&groups);
  return !effects->regression.failed;
}
