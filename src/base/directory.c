/*
 * A directory that appears whole or not at all: files are written and synced under a temporary name
 * beside it, then one rename gives it its own. The temporary directory is locked while its process is at work, so that what a process
 * that was killed left behind (records, perhaps) can be told apart and removed by the next.
 */
#define _DEFAULT_SOURCE /* flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_internal.h"

static tacit_status_t fail(const tacit_directory_t *dir, const char *what, int reason, tacit_error_t *err) {
  tacit_status_t status = reason == EEXIST || reason == ENOTEMPTY ? TACIT_ERR_EXISTS
                          : reason == ENOENT                      ? TACIT_ERR_MISSING
                                                                  : TACIT_ERR_IO;
  return tacit_error_set(err, status, "out", "cannot write %s (%s): %s", dir->path.data, what, strerror(reason));
}

static tacit_status_t exists(const tacit_directory_t *dir, tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_EXISTS, "out",
                         "%s exists and is not overwritten: choose another name or remove it", dir->path.data);
}

static bool is_there(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

static tacit_status_t make_temporary(tacit_directory_t *dir, tacit_error_t *err) {
  for (int attempt = 0; attempt < TACIT_MAX_ATTEMPTS; attempt++) {
    if (!tacit_temporary_name(&dir->temporary, dir->path.data, attempt)) {
      return tacit_error_memory(err);
    }
    if (mkdir(dir->temporary.data, dir->is_private ? 0700 : 0777) == 0) {
      dir->lock = open(dir->temporary.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (dir->lock >= 0) {
        (void)flock(dir->lock, LOCK_EX | LOCK_NB); /* where there are no locks, nothing is taken for left over */
      }
      return TACIT_OK;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  int reason = errno;
  dir->temporary.length = 0; /* nothing of ours to remove */
  if (reason == ENOENT) {
    return tacit_error_set(err, TACIT_ERR_MISSING, "out",
                           "cannot make %s: the folder it should stand in does not exist", dir->path.data);
  }
  if (reason == EEXIST) {
    return tacit_error_set(err, TACIT_ERR_IO, "out",
                           "cannot make %s: remove the left-over folders %s.tmp-* beside it first",
                           dir->path.data, dir->path.data);
  }
  return fail(dir, "make the folder", reason, err);
}

/* Remove the files in the open directory; false if one is left. */
static bool remove_files(int folder) {
  int fd = dup(folder);
  DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
  bool ok = entries != NULL;
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      ok = unlinkat(fd, entry->d_name, 0) == 0 && ok;
    }
  }
  if (entries != NULL) {
    closedir(entries);
  } else if (fd >= 0) {
    close(fd);
  }
  return ok;
}

/* "NAME.tmp-123" or "NAME.tmp-123-4" of a process that is no more. */
static bool is_of_the_dead(const char *entry, const char *name) {
  size_t n = strlen(name);
  static const char mark[] = ".tmp-";
  if (strncmp(entry, name, n) != 0 || strncmp(entry + n, mark, sizeof mark - 1) != 0) {
    return false;
  }
  const char *number = entry + n + sizeof mark - 1;
  char *end;
  long process = strtol(number, &end, 10);
  bool is_ours = *number >= '1' && *number <= '9' && (*end == '\0' || (*end == '-' && strspn(end + 1, "0123456789") == strlen(end + 1)));
  return is_ours && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

/* A process elsewhere (in another container) may be at work on what looks like that of a dead one: it holds the lock. */
static void remove_left_over(int parent, const char *entry) {
  int fd = openat(parent, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && remove_files(fd)) {
    unlinkat(parent, entry, AT_REMOVEDIR);
  }
  if (fd >= 0) {
    close(fd);
  }
}

static void set_file_to_parent(tacit_directory_t *dir) {
  const char *slash = strrchr(dir->path.data, '/');
  dir->file.length = 0;
  if (slash == NULL) {
    tacit_text_append(&dir->file, ".", 1);
  } else {
    tacit_text_append(&dir->file, dir->path.data, slash == dir->path.data ? 1 : (size_t)(slash - dir->path.data));
  }
}

static void sweep(tacit_directory_t *dir) {
  const char *slash = strrchr(dir->path.data, '/'), *name = slash != NULL ? slash + 1 : dir->path.data;
  set_file_to_parent(dir);
  DIR *entries = dir->file.failed ? NULL : opendir(dir->file.data);
  if (entries == NULL) {
    return;
  }
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    if (is_of_the_dead(entry->d_name, name)) {
      remove_left_over(dirfd(entries), entry->d_name);
    }
  }
  closedir(entries);
}

tacit_status_t tacit_directory_begin(tacit_directory_t *dir, const char *path, bool is_private, tacit_error_t *err) {
  *dir = tacit_directory_none;
  dir->is_private = is_private;
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') {
    n--;
  }
  if (n == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "out", "the name of the folder to write is empty");
  }
  tacit_text_append(&dir->path, path, n);
  if (dir->path.failed) {
    return tacit_error_memory(err);
  }
  if (is_there(dir->path.data)) {
    return exists(dir, err);
  }
  sweep(dir);
  return make_temporary(dir, err);
}

tacit_status_t tacit_directory_name(tacit_directory_t *dir, const char *name, tacit_error_t *err) {
  dir->file.length = 0;
  tacit_text_printf(&dir->file, "%s/%s", dir->temporary.data, name);
  return dir->file.failed ? tacit_error_memory(err) : TACIT_OK;
}

static tacit_status_t open_file(tacit_directory_t *dir, const char *name, int flags, tacit_error_t *err) {
  tacit_status_t status = tacit_directory_name(dir, name, err);
  if (status != TACIT_OK) {
    return status;
  }
  dir->fd = open(dir->file.data, O_WRONLY | O_CLOEXEC | flags, dir->is_private ? 0600 : 0666);
  return dir->fd >= 0 ? TACIT_OK : fail(dir, name, errno, err);
}

tacit_status_t tacit_directory_open(tacit_directory_t *dir, const char *name, tacit_error_t *err) {
  return open_file(dir, name, O_CREAT | O_EXCL, err);
}

static tacit_status_t write_bytes(const tacit_directory_t *dir, const char *bytes, size_t n, tacit_error_t *err) {
  while (n > 0) {
    ssize_t written = write(dir->fd, bytes, n);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return fail(dir, strrchr(dir->file.data, '/') + 1, written < 0 ? errno : EIO, err);
    }
    bytes += written;
    n -= (size_t)written;
  }
  return TACIT_OK;
}

tacit_status_t tacit_directory_put(tacit_directory_t *dir, tacit_text_t *text, tacit_error_t *err) {
  tacit_status_t status = text->failed ? tacit_error_memory(err) : write_bytes(dir, text->data, text->length, err);
  text->length = status == TACIT_OK ? 0 : text->length;
  return status;
}

tacit_status_t tacit_directory_append(tacit_directory_t *dir, const char *name, const void *bytes, size_t n,
                                      tacit_error_t *err) {
  tacit_status_t status = open_file(dir, name, O_CREAT | O_APPEND, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = write_bytes(dir, bytes, n, err);
  int fd = dir->fd;
  dir->fd = -1;
  return close(fd) == 0 || status != TACIT_OK ? status : fail(dir, name, errno, err);
}

tacit_status_t tacit_directory_sync(tacit_directory_t *dir, const char *name, tacit_error_t *err) {
  tacit_status_t status = open_file(dir, name, 0, err);
  return status == TACIT_OK ? tacit_directory_close(dir, err) : status;
}

tacit_status_t tacit_directory_close(tacit_directory_t *dir, tacit_error_t *err) {
  const char *name = strrchr(dir->file.data, '/') + 1;
  int fd = dir->fd;
  dir->fd = -1;
  if (fsync(fd) != 0) {
    int reason = errno;
    close(fd);
    return fail(dir, name, reason, err);
  }
  return close(fd) == 0 ? TACIT_OK : fail(dir, name, errno, err);
}

tacit_status_t tacit_directory_commit(tacit_directory_t *dir, tacit_error_t *err) {
  int reason = tacit_folder_sync(dir->temporary.data);
  if (reason != 0) {
    return fail(dir, "sync the folder", reason, err);
  }
  /* rename would replace an empty directory that appeared meanwhile. */
  if (is_there(dir->path.data)) {
    return exists(dir, err);
  }
  if (rename(dir->temporary.data, dir->path.data) != 0) {
    return errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR ? exists(dir, err)
                                                                     : fail(dir, "rename", errno, err);
  }
  dir->temporary.length = 0;
  return tacit_file_confirm(dir->path.data, err);
}

bool tacit_directory_clear(tacit_directory_t *dir) {
  bool ok = true;
  if (dir->fd >= 0) {
    close(dir->fd);
  }
  if (dir->temporary.length > 0) {
    int fd = dir->lock >= 0 ? dir->lock : open(dir->temporary.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok = fd >= 0 && remove_files(fd) && rmdir(dir->temporary.data) == 0;
    dir->lock = fd;
  }
  if (dir->lock >= 0) {
    close(dir->lock);
  }
  tacit_text_clear(&dir->path);
  tacit_text_clear(&dir->temporary);
  tacit_text_clear(&dir->file);
  *dir = tacit_directory_none;
  return ok;
}
