/* A file system between SQLite and the real one: every write, sync, cut and removal passes a hook, which may
 * make it fail. */
#ifndef TACIT_TESTS_LEDGER_SHIM_H
#define TACIT_TESTS_LEDGER_SHIM_H

#include <string.h>

#include <sqlite3.h>

/* Before each operation; SQLITE_OK: do it, else it fails with this code. */
static int (*shim_hook)(int failure);

typedef struct shim_file {
  sqlite3_file base;
  sqlite3_file *real;
} shim_file_t;

static sqlite3_vfs *shim_real, shim_vfs;
static sqlite3_io_methods shim_methods;

static inline sqlite3_file *shim_of(sqlite3_file *file) { return ((shim_file_t *)file)->real; }

static inline int shim_ask(int failure) { return shim_hook != NULL ? shim_hook(failure) : SQLITE_OK; }

static int shim_close(sqlite3_file *file) {
  return shim_of(file)->pMethods != NULL ? shim_of(file)->pMethods->xClose(shim_of(file)) : SQLITE_OK;
}
static int shim_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at) {
  return shim_of(file)->pMethods->xRead(shim_of(file), to, n, at);
}
static int shim_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at) {
  int code = shim_ask(SQLITE_IOERR_WRITE);
  return code != SQLITE_OK ? code : shim_of(file)->pMethods->xWrite(shim_of(file), from, n, at);
}
static int shim_truncate(sqlite3_file *file, sqlite3_int64 size) {
  int code = shim_ask(SQLITE_IOERR_TRUNCATE);
  return code != SQLITE_OK ? code : shim_of(file)->pMethods->xTruncate(shim_of(file), size);
}
static int shim_sync(sqlite3_file *file, int flags) {
  (void)file;
  int code = shim_ask(SQLITE_IOERR_FSYNC);
  (void)flags; /* what a crash of the machine would lose is not looked at here */
  return code;
}
static int shim_size(sqlite3_file *file, sqlite3_int64 *size) {
  return shim_of(file)->pMethods->xFileSize(shim_of(file), size);
}
static int shim_lock(sqlite3_file *file, int lock) {
  return shim_of(file)->pMethods->xLock(shim_of(file), lock);
}
static int shim_unlock(sqlite3_file *file, int lock) {
  return shim_of(file)->pMethods->xUnlock(shim_of(file), lock);
}
static int shim_reserved(sqlite3_file *file, int *answer) {
  return shim_of(file)->pMethods->xCheckReservedLock(shim_of(file), answer);
}
static int shim_control(sqlite3_file *file, int op, void *argument) {
  return shim_of(file)->pMethods->xFileControl(shim_of(file), op, argument);
}
static int shim_sector(sqlite3_file *file) { return shim_of(file)->pMethods->xSectorSize(shim_of(file)); }
static int shim_characteristics(sqlite3_file *file) {
  return shim_of(file)->pMethods->xDeviceCharacteristics(shim_of(file));
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
  shim_file_t *shim = (shim_file_t *)file;
  (void)vfs;
  shim->real = (sqlite3_file *)(shim + 1);
  shim->real->pMethods = NULL;
  int code = shim_real->xOpen(shim_real, name, shim->real, flags, out_flags);
  file->pMethods = code == SQLITE_OK ? &shim_methods : NULL;
  return code;
}
static int shim_delete(sqlite3_vfs *vfs, const char *name, int is_synced) {
  int code = shim_ask(SQLITE_IOERR_DELETE);
  (void)vfs;
  if (code != SQLITE_OK) {
    return code;
  }
  code = shim_real->xDelete(shim_real, name, 0);
  return code == SQLITE_OK && is_synced ? shim_ask(SQLITE_IOERR_DIR_FSYNC) : code;
}

/* From now on every database of this process is opened through it. */
static inline void shim_install(void) {
  shim_real = sqlite3_vfs_find(NULL);
  shim_vfs = *shim_real;
  shim_vfs.zName = "shim";
  shim_vfs.szOsFile = (int)sizeof(shim_file_t) + shim_real->szOsFile;
  shim_vfs.xOpen = shim_open;
  shim_vfs.xDelete = shim_delete;
  shim_methods = (sqlite3_io_methods){.iVersion = 1,
                                      .xClose = shim_close,
                                      .xRead = shim_read,
                                      .xWrite = shim_write,
                                      .xTruncate = shim_truncate,
                                      .xSync = shim_sync,
                                      .xFileSize = shim_size,
                                      .xLock = shim_lock,
                                      .xUnlock = shim_unlock,
                                      .xCheckReservedLock = shim_reserved,
                                      .xFileControl = shim_control,
                                      .xSectorSize = shim_sector,
                                      .xDeviceCharacteristics = shim_characteristics};
  sqlite3_vfs_register(&shim_vfs, 1);
}

#endif
