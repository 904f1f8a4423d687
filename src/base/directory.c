/*
 * A directory that appears whole or not at all: files are written and synced under a temporary name
 * beside it, then one rename gives it its own.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_internal.h"

enum { MAX_ATTEMPTS = 100 };

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

/* A name of this process; a number is added where a process of the same id once left one behind. */
static tacit_status_t make_temporary(tacit_directory_t *dir, tacit_error_t *err) {
  for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    dir->temporary.length = 0;
    tacit_text_printf(&dir->temporary, attempt == 0 ? "%s.tmp-%ld" : "%s.tmp-%ld-%d", dir->path.data,
                      (long)getpid(), attempt);
    if (dir->temporary.failed) {
      return tacit_error_memory(err);
    }
    if (mkdir(dir->temporary.data, dir->is_private ? 0700 : 0777) == 0) {
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

tacit_status_t tacit_directory_begin(tacit_directory_t *dir, const char *path, bool is_private, tacit_error_t *err) {
  *dir = (tacit_directory_t){.is_private = is_private, .fd = -1};
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
  return is_there(dir->path.data) ? exists(dir, err) : make_temporary(dir, err);
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

/* 0 or an errno. Some file systems cannot sync a directory: EINVAL is theirs to answer for. */
static int sync_folder(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return errno;
  }
  int reason = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  return reason;
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

tacit_status_t tacit_directory_commit(tacit_directory_t *dir, tacit_error_t *err) {
  int reason = sync_folder(dir->temporary.data);
  if (reason != 0) {
    return fail(dir, "sync the folder", reason, err);
  }
  set_file_to_parent(dir);
  if (dir->file.failed) {
    return tacit_error_memory(err);
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
  reason = sync_folder(dir->file.data);
  return reason == 0 ? TACIT_OK : fail(dir, "sync the folder it stands in", reason, err);
}

static void remove_tree(tacit_directory_t *dir) {
  DIR *entries = opendir(dir->temporary.data);
  if (entries != NULL) {
    int fd = dirfd(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
        unlinkat(fd, entry->d_name, 0);
      }
    }
    closedir(entries);
  }
  rmdir(dir->temporary.data);
}

void tacit_directory_clear(tacit_directory_t *dir) {
  if (dir->fd >= 0) {
    close(dir->fd);
  }
  if (dir->temporary.length > 0) {
    remove_tree(dir);
  }
  tacit_text_clear(&dir->path);
  tacit_text_clear(&dir->temporary);
  tacit_text_clear(&dir->file);
  *dir = (tacit_directory_t){.fd = -1};
}
