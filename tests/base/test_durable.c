/*
 * What is on the disk when something fails there. This program's own fsync, unlink and open stand in for the
 * system's and fail on demand. Seen to catch a scratch file that kept its name, and the removal of folders
 * whose processes live.
 */
#undef _FORTIFY_SOURCE /* whose inlined open() would stand in the way of ours */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/file.h"
#include "base/mapping.h"
#include "testing.h"

static int fsync_fails, unlink_fails, tmpfile_fails; /* how many more succeed; 0: none fails */
static char folder[] = "/tmp/tacit-durable-XXXXXX";

static bool is_due(int *left) { return *left > 0 && --*left == 0; }

int fsync(int fd) {
  if (is_due(&fsync_fails)) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_fsync, fd);
}

int unlink(const char *path) {
  if (is_due(&unlink_fails)) {
    errno = EROFS;
    return -1;
  }
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int open64(const char *path, int flags, ...);
int open64(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  mode_t mode = va_arg(args, mode_t);
  va_end(args);
  if ((flags & O_TMPFILE) == O_TMPFILE && tmpfile_fails) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static size_t count_entries(const char *path) {
  DIR *entries = opendir(path);
  size_t n = 0;
  assert_non_null(entries);
  while (readdir(entries) != NULL) {
    n++;
  }
  closedir(entries);
  return n - 2;
}

static const char *in_folder(const char *name) {
  static char path[4][128];
  static size_t next;
  snprintf(path[next = (next + 1) % 4], sizeof path[0], "%s/%s", folder, name);
  return path[next];
}

static void test_a_file_is_confirmed_or_said_not_to_be(void **state) {
  tacit_error_t err;
  const char *path = in_folder("file");
  fsync_fails = 1; /* the file's own */
  assert_int_equal(tacit_file_create(path, "x", 1, &err), TACIT_ERR_IO);
  assert_int_equal(count_entries(folder), 0);
  fsync_fails = 2; /* the folder's */
  assert_int_equal(tacit_file_create(path, "x", 1, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "is there and whole, but not confirmed"));
  assert_int_equal(access(path, F_OK), 0);
  assert_int_equal(tacit_file_create(path, "y", 1, &err), TACIT_ERR_EXISTS);
  assert_int_equal(count_entries(folder), 1);
  char *text;
  size_t n;
  assert_ok(tacit_file_read(path, 9, &text, &n, &err), err);
  assert_string_equal(text, "x");
  tacit_free(text);
  assert_int_equal(unlink(path), 0);
}

static void begin(tacit_directory_t *dir) {
  tacit_error_t err;
  assert_ok(tacit_directory_begin(dir, in_folder("out"), true, &err), err);
  assert_ok(tacit_directory_append(dir, "records", "123", 3, &err), err);
}

static void test_a_directory_is_confirmed_or_said_not_to_be(void **state) {
  tacit_error_t err;
  tacit_directory_t dir;
  begin(&dir);
  fsync_fails = 2;
  assert_int_equal(tacit_directory_commit(&dir, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "out is there and whole, but not confirmed"));
  assert_true(tacit_directory_clear(&dir));
  assert_int_equal(access(in_folder("out/records"), F_OK), 0);
  assert_int_equal(unlink(in_folder("out/records")), 0);
  assert_int_equal(rmdir(in_folder("out")), 0);
}

static void test_what_the_dead_left_is_removed_and_nothing_else(void **state) {
  tacit_error_t err;
  tacit_directory_t dir, other;
  pid_t child = fork();
  if (child == 0) { /* killed at work */
    tacit_directory_t mine;
    _exit(tacit_directory_begin(&mine, in_folder("out"), true, NULL) == TACIT_OK &&
                  tacit_directory_append(&mine, "records", "123", 3, NULL) == TACIT_OK
              ? raise(SIGKILL)
              : 1);
  }
  int how;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFSIGNALED(how));
  assert_int_equal(count_entries(folder), 1);
  const char *kept[] = {"other.tmp-999999999", "out.tmp-", "out.tmp-12x", "out.tmp-1"}; /* process 1 lives */
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(mkdir(in_folder(kept[i]), 0700), 0);
  }
  /* of a process that cannot be seen from here, and holds the lock */
  assert_int_equal(mkdir(in_folder("out.tmp-999999998"), 0700), 0);
  int held = open(in_folder("out.tmp-999999998"), O_RDONLY);
  pid_t holder = fork();
  if (holder == 0) {
    tacit_directory_t mine; /* our own lock, taken as a worker takes it, on a name of a dead process */
    _exit(tacit_directory_begin(&mine, in_folder("out"), true, NULL) == TACIT_OK &&
                  rename(mine.temporary.data, in_folder("out.tmp-999999997")) == 0 && pause() == 0
              ? 0
              : 1);
  }
  while (access(in_folder("out.tmp-999999997"), F_OK) != 0) {
    usleep(1000);
  }
  begin(&dir);
  begin(&other); /* of the same process: a second name, and the first stays */
  assert_int_equal(access(in_folder("out.tmp-999999997"), F_OK), 0);
  assert_int_equal(access(in_folder("out.tmp-999999998"), F_OK), -1);
  assert_int_equal(count_entries(folder), 7);
  assert_true(tacit_directory_clear(&other));
  assert_ok(tacit_directory_commit(&dir, &err), err);
  assert_true(tacit_directory_clear(&dir));
  kill(holder, SIGKILL);
  waitpid(holder, &how, 0);
  close(held);
  assert_int_equal(tacit_directory_begin(&dir, in_folder("out"), true, &err), TACIT_ERR_EXISTS);
  tacit_directory_clear(&dir);
  assert_int_equal(unlink(in_folder("out/records")), 0);
  assert_int_equal(rmdir(in_folder("out")), 0);
  begin(&dir); /* sweeps what the holder left */
  assert_true(tacit_directory_clear(&dir));
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(rmdir(in_folder(kept[i])), 0);
  }
  assert_int_equal(count_entries(folder), 0);
}

/* Whether the file system has files without names or not, none is seen; and where the name cannot be taken
 * away nothing is written. */
static void test_scratch_has_no_name(void **state) {
  tacit_error_t err;
  tacit_mapping_t mapping;
  for (tmpfile_fails = 0; tmpfile_fails < 2; tmpfile_fails++) {
    assert_ok(tacit_mapping_scratch(&mapping, folder, 4096, &err), err);
    assert_int_equal(count_entries(folder), 0);
    memset(mapping.data, 7, 4096);
    tacit_mapping_close(&mapping);
  }
  tmpfile_fails = 1;
  unlink_fails = 1;
  assert_int_equal(tacit_mapping_scratch(&mapping, folder, 4096, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "cannot take the name from /tmp/tacit-durable-"));
  assert_null(mapping.data);
  tmpfile_fails = 0;
}

static int setup(void **state) { return mkdtemp(folder) != NULL ? 0 : -1; }

static int teardown(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_file_is_confirmed_or_said_not_to_be),
                                     cmocka_unit_test(test_a_directory_is_confirmed_or_said_not_to_be),
                                     cmocka_unit_test(test_what_the_dead_left_is_removed_and_nothing_else),
                                     cmocka_unit_test(test_scratch_has_no_name)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
