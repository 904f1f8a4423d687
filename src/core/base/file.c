#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

static tacit_status_t write_all(int fd, const char *bytes, size_t n) {
  while (n > 0) {
    ssize_t written = write(fd, bytes, n);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return TACIT_ERR_IO;
    }
    bytes += written;
    n -= (size_t)written;
  }
  return TACIT_OK;
}

bool tacit_file_exists(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

bool tacit_temporary_name(tacit_text_t *name, const char *path, int attempt) {
  name->length = 0;
  tacit_text_printf(name, attempt == 0 ? "%s.tmp-%ld" : "%s.tmp-%ld-%d", path, (long)getpid(), attempt);
  return !name->failed;
}

/* Some file systems cannot sync a directory: EINVAL is theirs to answer for. */
int tacit_folder_sync(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return errno;
  }
  int reason = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  return reason;
}

tacit_status_t tacit_file_confirm(const char *path, tacit_error_t *err) {
  const char *slash = strrchr(path, '/');
  char folder[PATH_MAX]; /* no memory to be had is no reason not to know */
  size_t n = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
  snprintf(folder, sizeof folder, "%.*s", n < sizeof folder ? (int)n : 0, slash == NULL ? "." : path);
  int reason = tacit_folder_sync(folder);
  return reason == 0 ? TACIT_OK
                     : tacit_error_set(err, TACIT_ERR_IO, path,
                                       "%s is there and whole, but not confirmed to outlast a power failure: "
                                       "the folder it stands in "
                                       "could not be synced: %s",
                                       path, strerror(reason));
}

/* Give a file its name; 0 or an errno. A link, unlike a rename, never replaces: EEXIST. */
static int give_name(const char *temporary, const char *path, bool may_replace) {
  if (!may_replace && link(temporary, path) == 0) {
    unlink(temporary);
    return 0;
  }
  if (!may_replace && (errno == EEXIST || tacit_file_exists(path))) { /* else a file system without links */
    return EEXIST;
  }
  return rename(temporary, path) == 0 ? 0 : errno;
}

static int write_and_close(int fd, const char *bytes, size_t n) {
  int reason = write_all(fd, bytes, n) != TACIT_OK ? (errno != 0 ? errno : EIO) : fsync(fd) != 0 ? errno : 0;
  return close(fd) == 0 || reason != 0 ? reason : errno;
}

/* A new file of this process beside path: its descriptor, or -1 and errno. */
static int open_temporary(const char *path, tacit_text_t *temporary) {
  int fd = -1;
  errno = EEXIST;
  for (int attempt = 0; fd < 0 && errno == EEXIST && attempt < TACIT_MAX_ATTEMPTS; attempt++) {
    fd = tacit_temporary_name(temporary, path, attempt)
             ? open(temporary->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
             : (errno = ENOMEM, -1);
  }
  return fd;
}

static tacit_status_t write_file(const char *path, const char *bytes, size_t n, bool may_replace,
                                 tacit_error_t *err) {
  tacit_text_t temporary = {0};
  int fd = open_temporary(path, &temporary);
  int reason = fd >= 0 ? write_and_close(fd, bytes, n) : errno;
  if (reason == 0) {
    reason = give_name(temporary.data, path, may_replace);
  }
  if (reason != 0 && fd >= 0) {
    unlink(temporary.data);
  }
  tacit_text_clear(&temporary);
  if (reason == ENOMEM) {
    return tacit_error_memory(err);
  }
  if (reason == EEXIST && fd >= 0) {
    return tacit_error_set(err, TACIT_ERR_EXISTS, path,
                           "%s exists and is not overwritten: choose another name or remove it", path);
  }
  return reason == 0
             ? tacit_file_confirm(path, err)
             : tacit_error_set(err, TACIT_ERR_IO, path, "cannot write %s: %s", path, strerror(reason));
}

tacit_status_t tacit_file_write(const char *path, const char *bytes, size_t n, tacit_error_t *err) {
  return write_file(path, bytes, n, true, err);
}

tacit_status_t tacit_file_create(const char *path, const char *bytes, size_t n, tacit_error_t *err) {
  return write_file(path, bytes, n, false, err);
}

bool tacit_file_has_ending(const char *path, const char *ending) {
  size_t n = strlen(path), n_ending = strlen(ending);
  return n > n_ending && strcmp(path + n - n_ending, ending) == 0;
}

tacit_status_t tacit_file_read(const char *path, size_t max_bytes, char **bytes, size_t *n,
                               tacit_error_t *err) {
  *bytes = NULL;
  *n = 0;
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return tacit_error_set(err, errno == ENOENT ? TACIT_ERR_MISSING : TACIT_ERR_IO, path,
                           "cannot open %s: %s", path, strerror(errno));
  }
  struct stat info;
  if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
    fclose(file);
    return tacit_error_set(err, TACIT_ERR_IO, path, "cannot read %s: it is a directory", path);
  }
  tacit_text_t text = {0};
  tacit_status_t status = TACIT_OK;
  char chunk[8192];
  size_t got;
  while ((got = fread(chunk, 1, sizeof chunk, file)) > 0) {
    tacit_text_append(&text, chunk, got);
    if (text.length > max_bytes) {
      status = tacit_error_set(err, TACIT_ERR_IO, path, "%s is larger than the %zu bytes expected here", path,
                               max_bytes);
      break;
    }
  }
  if (status == TACIT_OK && ferror(file)) {
    status = tacit_error_set(err, TACIT_ERR_IO, path, "cannot read %s: %s", path, strerror(errno));
  }
  fclose(file);
  tacit_text_append(&text, "", 0);
  *n = status == TACIT_OK && !text.failed ? text.length : 0;
  return tacit_text_take(&text, status, bytes, err);
}
