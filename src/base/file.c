#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_internal.h"

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

tacit_status_t tacit_file_write(const char *path, const char *bytes, size_t n, tacit_error_t *err) {
  tacit_text_t temporary = {0};
  tacit_text_printf(&temporary, "%s.tmp-%ld", path, (long)getpid());
  if (temporary.failed) {
    tacit_text_clear(&temporary);
    return tacit_error_memory(err);
  }
  tacit_status_t status = TACIT_OK;
  int fd = open(temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    status = tacit_error_set(err, TACIT_ERR_IO, path, "cannot write %s: %s", path, strerror(errno));
  } else {
    bool ok = write_all(fd, bytes, n) == TACIT_OK && fsync(fd) == 0;
    int reason = errno;
    if (close(fd) != 0 && ok) {
      ok = false;
      reason = errno;
    }
    if (ok && rename(temporary.data, path) != 0) {
      ok = false;
      reason = errno;
    }
    if (!ok) {
      unlink(temporary.data);
      status = tacit_error_set(err, TACIT_ERR_IO, path, "cannot write %s: %s", path, strerror(reason));
    }
  }
  tacit_text_clear(&temporary);
  return status;
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
      status = tacit_error_set(err, TACIT_ERR_IO, path, "%s is larger than the %zu bytes expected here",
                               path, max_bytes);
      break;
    }
  }
  if (status == TACIT_OK && ferror(file)) {
    status = tacit_error_set(err, TACIT_ERR_IO, path, "cannot read %s: %s", path, strerror(errno));
  }
  fclose(file);
  tacit_text_append(&text, "", 0);
  if (status == TACIT_OK && text.failed) {
    status = tacit_error_memory(err);
  }
  if (status != TACIT_OK) {
    tacit_text_clear(&text);
    return status;
  }
  *bytes = text.data;
  *n = text.length;
  return TACIT_OK;
}
