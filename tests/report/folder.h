/* A scratch folder for a test, and looking into what was written there. */
#ifndef TACIT_TESTS_REPORT_FOLDER_H
#define TACIT_TESTS_REPORT_FOLDER_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "report/support.h"

static inline char *folder_new(char path[64]) {
  snprintf(path, 64, "%s", "/tmp/tacit-report-XXXXXX");
  assert_non_null(mkdtemp(path));
  return path;
}

static inline void folder_remove(const char *path) {
  DIR *entries = opendir(path);
  if (entries == NULL) {
    unlink(path);
    return;
  }
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      char inner[512];
      int n = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
      assert_in_range(n, 1, sizeof inner - 1);
      folder_remove(inner);
    }
  }
  closedir(entries);
  rmdir(path);
}

static inline size_t folder_count(const char *path) {
  size_t n = 0;
  DIR *entries = opendir(path);
  assert_non_null(entries);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  }
  closedir(entries);
  return n;
}

/* Owned text of folder/name. */
static inline char *file_text(const char *folder, const char *name) {
  char path[512];
  char *bytes = NULL;
  size_t n = 0;
  tacit_error_t err;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_ok(tacit_file_read(path, SIZE_MAX / 2, &bytes, &n, &err), err);
  assert_int_equal(strlen(bytes), n);
  char *text = tacit_strdup(bytes);
  tacit_free(bytes);
  assert_non_null(text);
  return text;
}

static inline void assert_contains(const char *text, const char *part) {
  if (text == NULL || strstr(text, part) == NULL) {
    fail_msg("\"%s\" is missing in:\n%.3000s", part, text != NULL ? text : "(nothing)");
  }
}

static inline void assert_lacks(const char *text, const char *part) {
  if (text == NULL || strstr(text, part) != NULL) {
    fail_msg("\"%s\" must not be in:\n%.3000s", part, text != NULL ? text : "(nothing)");
  }
}

#endif
