/* Marked lines as wrapped plain text and as HTML. */
#include <string.h>

#include "report/report_internal.h"

enum { WIDTH = 78 };

/* Lines that are kept as they are: commands, a schema. */
static bool is_verbatim(const char *line) { return strncmp(line, "    ", 4) == 0; }

/* Length of the marker, which is also the indent of the lines below. */
static size_t marker(const char *line) {
  return strncmp(line, "- ", 2) == 0 || strncmp(line, "# ", 2) == 0 ? 2 : 0;
}

/* Code points; close enough to columns for wrapping. */
static size_t word_width(const char *word, size_t n) {
  size_t width = 0;
  uint32_t code;
  for (size_t i = 0; i < n; i += tacit_utf8_decode(word + i, &code)) {
    width++;
  }
  return width;
}

static void wrap(const char *s, size_t n, size_t indent, tacit_text_t *text) {
  size_t column = indent;
  bool is_first = true;
  for (size_t i = 0; i < n;) {
    if (s[i] == ' ') {
      i++;
      continue;
    }
    const char *space = memchr(s + i, ' ', n - i);
    size_t length = space != NULL ? (size_t)(space - (s + i)) : n - i;
    size_t width = word_width(s + i, length);
    if (!is_first && column + 1 + width > WIDTH) {
      tacit_text_printf(text, "\n%*s", (int)indent, "");
      column = indent;
    } else if (!is_first) {
      tacit_text_append(text, " ", 1);
      column++;
    }
    tacit_text_append(text, s + i, length);
    column += width;
    i += length;
    is_first = false;
  }
  tacit_text_append(text, "\n", 1);
}

static const char *line_end(const char *s) {
  const char *end = strchr(s, '\n');
  return end != NULL ? end : s + strlen(s);
}

static void underline(tacit_text_t *text, size_t width, char with) {
  for (size_t i = 0; i < width; i++) {
    tacit_text_append(text, &with, 1);
  }
  tacit_text_append(text, "\n", 1);
}

void tacit_statement_text(const char *lines, tacit_text_t *text) {
  bool is_first = true, was_item = false, was_kept = false;
  for (const char *s = lines, *end; *s != '\0'; s = *end != '\0' ? end + 1 : end) {
    end = line_end(s);
    size_t mark = marker(s), n = (size_t)(end - s) - mark;
    bool is_item = *s == '-' && mark > 0, is_heading = *s == '#' && mark > 0, is_kept = is_verbatim(s);
    if (!is_first && !(is_item && was_item) && !(is_kept && was_kept)) {
      tacit_text_append(text, "\n", 1);
    }
    if (is_item) {
      tacit_text_append(text, "- ", 2);
    }
    if (is_kept) {
      tacit_text_append(text, s, n);
      tacit_text_append(text, "\n", 1);
    } else {
      wrap(s + mark, n, is_item ? 2 : 0, text);
    }
    if (is_heading) {
      underline(text, word_width(s + mark, n), is_first ? '=' : '-');
    }
    is_first = false;
    was_item = is_item;
    was_kept = is_kept;
  }
}

static void html_words(tacit_text_t *text, const char *s, size_t n) {
  tacit_text_t copy = {0};
  tacit_text_append(&copy, s, n);
  if (!copy.failed) {
    tacit_text_html(text, copy.data);
  }
  text->failed = text->failed || copy.failed;
  tacit_text_clear(&copy);
}

static void html_line(tacit_text_t *text, const char *tag, const char *s, size_t n) {
  tacit_text_printf(text, "<%s>", tag);
  html_words(text, s, n);
  tacit_text_printf(text, "</%s>\n", tag);
}

void tacit_statement_html(const char *lines, const char *heading, tacit_text_t *text) {
  bool in_list = false, in_kept = false;
  for (const char *s = lines, *end; *s != '\0'; s = *end != '\0' ? end + 1 : end) {
    end = line_end(s);
    size_t mark = marker(s), n = (size_t)(end - s) - mark;
    bool is_item = *s == '-' && mark > 0, is_heading = *s == '#' && mark > 0, is_kept = is_verbatim(s);
    if (in_kept && !is_kept) {
      tacit_text_printf(text, "</pre>\n");
    }
    if (is_item != in_list) {
      tacit_text_printf(text, is_item ? "<ul>\n" : "</ul>\n");
      in_list = is_item;
    }
    if (is_kept) {
      tacit_text_printf(text, in_kept ? "\n" : "<pre>");
      html_words(text, s + 4, n - 4);
    } else {
      html_line(text, is_item ? "li" : is_heading ? heading : "p", s + mark, n);
    }
    in_kept = is_kept;
  }
  if (in_kept) {
    tacit_text_printf(text, "</pre>\n");
  }
  if (in_list) {
    tacit_text_printf(text, "</ul>\n");
  }
}

tacit_status_t tacit_statement_hand_over(tacit_status_t status, tacit_text_t *lines, tacit_text_t *text,
                                         char **out, tacit_error_t *err) {
  text->failed = text->failed || lines->failed;
  tacit_text_clear(lines);
  return tacit_text_take(text, status, out, err);
}
