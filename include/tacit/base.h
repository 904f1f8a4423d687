/**
 * @file base.h
 * Status codes, error details, version and allocation contract shared by every
 * module of tacit.
 *
 * Every call that can fail returns a tacit_status_t (0 is success, negative is
 * an error) and takes an optional, caller-owned tacit_error_t that receives one
 * sentence for a person: what, where, what was expected, how to mend it.
 *
 * Pointers. Every pointer that a function takes must point to what its type and documented shape say, for the
 * whole call, and no object that it writes may be one that it reads, unless the function says otherwise. NULL
 * may be passed only
 * - as `tacit_error_t *err`, everywhere: nothing is said then but the status;
 * - to functions named ..._free and ..._close, which do nothing then (..._clear take an object, zeroed or
 * initialised, also after failure);
 * - for an array whose documented shape has no elements;
 * - as `user`, which is handed to the caller's own function and not looked at;
 * - where the function, the member or the header says what NULL means.
 * NULL elsewhere is a fault of the caller: it is not looked for, and what happens is undefined, most often a
 * crash. It is never a release: what is spent is charged before anything is released. Members of structures
 * and elements of arrays follow the same rule.
 */
#ifndef TACIT_BASE_H
#define TACIT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TACIT_API __attribute__((visibility("default")))
#define TACIT_MUST_USE __attribute__((warn_unused_result))
#define TACIT_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define TACIT_API
#define TACIT_MUST_USE
#define TACIT_PRINTF(f, a)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What a call can return. Families have gaps so that codes can be added. */
typedef enum tacit_status {
  TACIT_OK = 0,

  TACIT_ERR_MEMORY = -1,      /**< an allocation failed */
  TACIT_ERR_ARGUMENT = -2,    /**< an argument is outside its documented range */
  TACIT_ERR_STATE = -3,       /**< the object cannot do this in its present state */
  TACIT_ERR_INTERRUPTED = -4, /**< a progress callback asked to stop */

  TACIT_ERR_SYNTAX = -100,  /**< a text (CSV, YAML, formula, option) does not parse */
  TACIT_ERR_SCHEMA = -101,  /**< the public schema is inconsistent or incomplete */
  TACIT_ERR_DATA = -102,    /**< a record breaks the schema's rules */
  TACIT_ERR_UNKNOWN = -103, /**< a name is not known (column, level, family, method) */

  TACIT_ERR_NUMERIC = -200, /**< a computation left its domain or did not converge */

  TACIT_ERR_BUDGET = -300,      /**< the privacy budget refuses the release; nothing was computed */
  TACIT_ERR_NOISE = -301,       /**< privacy noise could not be drawn; nothing was released */
  TACIT_ERR_SENSITIVITY = -302, /**< no bound on a record's influence is known */

  TACIT_ERR_IO = -400,     /**< reading or writing a file failed */
  TACIT_ERR_EXISTS = -401, /**< refuses to overwrite something that exists */
  TACIT_ERR_MISSING = -402 /**< a file or directory does not exist */
} tacit_status_t;

/** Details of an error; owned by the caller, never allocated. */
typedef struct tacit_error {
  tacit_status_t status;
  char field[64];    /**< the argument, option, column or key at fault; may be "" */
  char message[768]; /**< one sentence, no newline at its end; a caret line may follow a newline */
} tacit_error_t;

/** Return the general sentence for a status; total: any integer has a text. Never NULL. */
TACIT_API const char *tacit_status_string(int status);

/** Free what the library returned with the words "freed with tacit_free()"; NULL is allowed. */
TACIT_API void tacit_free(void *p);

/** Return the library's version, "MAJOR.MINOR.PATCH". */
TACIT_API const char *tacit_version(void);
/** The commit that the library was built of, as `git describe --always --dirty` has it; "unknown" outside of
 * a repository. */
TACIT_API const char *tacit_commit(void);

/** How neighbouring data sets differ. */
typedef enum tacit_relation {
  TACIT_RELATION_SUBSTITUTE = 0, /**< one unit's records replaced; the number of units is public */
  TACIT_RELATION_ADD_REMOVE = 1  /**< one unit added or removed; the number of units is private */
} tacit_relation_t;

/** Return "substitute" or "add-remove". */
TACIT_API const char *tacit_relation_string(tacit_relation_t relation);
/** "substitute" or "add-remove"; false for anything else. */
TACIT_API bool tacit_relation_parse(const char *text, tacit_relation_t *relation);

/**
 * Several processes that share the records: rank r holds those that follow rank r - 1's. All ranks make the
 * same calls with the same arguments, keys included (tacit_noise_new_with_key(),
 * tacit_sampler_settings_t.key), on machines of one kind; all of them are behind the privacy boundary, and so
 * is what they tell each other. Every rank then gets the same releases, to the last bit those of a single
 * process that holds all records.
 */
typedef struct tacit_ranks {
  size_t rank, n_ranks; /**< rank < n_ranks <= 2^20 */
  /** Replace each of n numbers by its sum over the ranks, on all of them; does not return if it cannot. */
  void (*sum)(void *user, size_t n, int64_t *numbers);
  void *user;
} tacit_ranks_t;

#ifdef __cplusplus
}
#endif
#endif
