/*
 * Ledgers of queries: the hash of the query is a part of the data id, which the chain begins with.
 */
#include <string.h>

#include "base/error.h"
#include "ledger/ledger_internal.h"

static const char mark[] = " (query sha256:";
enum { n_mark = sizeof mark - 1, n_hash = 64 };

/* Where the hash begins, or NULL. */
static const char *find_hash(const char *data_id) {
  size_t n = strlen(data_id);
  if (n <= n_mark + n_hash + 1 || data_id[n - 1] != ')') {
    return NULL;
  }
  const char *at = data_id + n - n_hash - 1;
  return strncmp(at - n_mark, mark, n_mark) == 0 ? at : NULL;
}

char *tacit_ledger_query_id(const char *name, const char *query_hash) {
  tacit_text_t text = {0};
  tacit_text_printf(&text, "%s%s%s)", name, mark, query_hash);
  if (text.failed) {
    tacit_text_clear(&text);
    return NULL;
  }
  return text.data;
}

void tacit_ledger_text_free(char *text) { tacit_free(text); }

bool tacit_ledger_is_data_id(const char *data_id, const char *wanted) {
  const char *hash = find_hash(data_id);
  size_t n = hash != NULL ? (size_t)(hash - data_id) - n_mark : 0;
  return strcmp(data_id, wanted) == 0 ||
         (hash != NULL && strlen(wanted) == n && memcmp(data_id, wanted, n) == 0);
}

tacit_status_t tacit_ledger_check_query(const char *data_id, const char *query_hash, tacit_error_t *err) {
  const char *hash = find_hash(data_id);
  bool has_query = query_hash != NULL && query_hash[0] != '\0';
  if (!has_query) {
    return hash == NULL
               ? TACIT_OK
               : tacit_error_set(err, TACIT_ERR_DATA, "query",
                                 "the ledger is of the rows of a query, and these records are from none");
  }
  if (hash == NULL) {
    return tacit_error_set(err, TACIT_ERR_DATA, "query",
                           "the ledger is of no query: make one for the rows that this query selects, with "
                           "tacit ledger init --query");
  }
  return strncmp(hash, query_hash, n_hash) == 0
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_DATA, "query",
                               "the ledger is of another query: a ledger counts what is released of one "
                               "selection of rows; use its query, or a "
                               "ledger of this one (persons in both are protected by both budgets together)");
}
