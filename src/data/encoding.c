#include "base/error.h"
#include "base/memory.h"
#include "data/encoding.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <string.h>

struct tacit_recoder {
  iconv_t to_utf8;
  bool is_flushed;
  size_t n;
  char bytes[TACIT_RECODER_ROOM]; /* read, and not converted yet */
};

static bool is_known(const char *encoding) {
  for (const char *c = encoding; *c != '\0'; c++) {
    if (!isalnum((unsigned char)*c) && strchr("-_.:", *c) == NULL) {
      return false;
    }
  }
  iconv_t to_utf8 = encoding[0] != '\0' ? iconv_open("UTF-8", encoding) : (iconv_t)-1;
  return to_utf8 != (iconv_t)-1 && iconv_close(to_utf8) == 0;
}

tacit_status_t tacit_encoding_check(const char *encoding, tacit_error_t *err) {
  return is_known(encoding) ? TACIT_OK
                            : tacit_error_set(err, TACIT_ERR_ARGUMENT, "encoding",
                                              "--encoding '%s' is not known here: expected a name such as "
                                              "latin1, windows-1252 or utf-16; iconv -l lists them",
                                              encoding);
}

tacit_recoder_t *tacit_recoder_new(const char *encoding) {
  tacit_recoder_t *recoder = tacit_alloc_zero(1, sizeof *recoder);
  if (recoder != NULL) {
    recoder->to_utf8 = iconv_open("UTF-8", encoding);
    if (recoder->to_utf8 == (iconv_t)-1) {
      tacit_free(recoder);
      recoder = NULL;
    }
  }
  return recoder;
}

void tacit_recoder_free(tacit_recoder_t *recoder) {
  if (recoder != NULL) {
    iconv_close(recoder->to_utf8);
    tacit_wipe(recoder, sizeof *recoder);
    tacit_free(recoder);
  }
}

char *tacit_recoder_room(tacit_recoder_t *recoder, size_t *n) {
  *n = TACIT_RECODER_ROOM - recoder->n;
  return recoder->bytes + recoder->n;
}

void tacit_recoder_put(tacit_recoder_t *recoder, size_t n) { recoder->n += n; }

size_t tacit_recoder_convert(tacit_recoder_t *recoder, bool is_end, char *out, size_t size, bool *is_wrong) {
  char *from = recoder->bytes, *to = out;
  size_t left = recoder->n, room = size;
  bool is_stuck = left > 0 && iconv(recoder->to_utf8, &from, &left, &to, &room) == (size_t)-1 &&
                  (errno == EILSEQ || (errno == EINVAL && is_end));
  memmove(recoder->bytes, from, left);
  recoder->n = left;
  if (is_end && left == 0 && !recoder->is_flushed) { /* what a state held back */
    recoder->is_flushed = iconv(recoder->to_utf8, NULL, NULL, &to, &room) != (size_t)-1;
  }
  *is_wrong = is_stuck && to == out; /* first what came before: then the place is known */
  return (size_t)(to - out);
}
