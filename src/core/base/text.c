#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

static bool reserve(tacit_text_t *text, size_t extra) {
  if (text->failed) {
    return false;
  }
  size_t needed = text->length + extra + 1;
  if (needed <= text->capacity) {
    return true;
  }
  size_t capacity = text->capacity < 128 ? 256 : text->capacity * 2;
  if (capacity < needed) {
    capacity = needed;
  }
  char *data = tacit_realloc(text->data, capacity, 1);
  if (data == NULL) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void tacit_text_append(tacit_text_t *text, const char *bytes, size_t n) {
  if (!reserve(text, n)) {
    return;
  }
  memcpy(text->data + text->length, bytes, n);
  text->length += n;
  text->data[text->length] = '\0';
}

void tacit_text_vprintf(tacit_text_t *text, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (n < 0 || !reserve(text, (size_t)n)) {
    text->failed = true;
    return;
  }
  vsnprintf(text->data + text->length, (size_t)n + 1, format, args);
  text->length += (size_t)n;
}

void tacit_text_printf(tacit_text_t *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tacit_text_vprintf(text, format, args);
  va_end(args);
}

void tacit_text_clear(tacit_text_t *text) {
  tacit_free(text->data);
  *text = (tacit_text_t){0};
}

tacit_status_t tacit_text_take(tacit_text_t *text, tacit_status_t status, char **out, tacit_error_t *err) {
  *out = NULL;
  if (status == TACIT_OK && text->failed) {
    status = tacit_error_memory(err);
  }
  if (status != TACIT_OK) {
    tacit_text_clear(text);
    return status;
  }
  *out = text->data;
  return TACIT_OK;
}

void tacit_text_put_path(tacit_text_t *text, const char *path) {
  char folder[4096];
  if (path[0] != '\0' && path[0] != '/' && getcwd(folder, sizeof folder) != NULL) {
    tacit_text_printf(text, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
  }
  tacit_text_printf(text, "%s", path);
}
