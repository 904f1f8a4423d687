/* Text in another encoding, made UTF-8 as it is read; by iconv. Not installed. */
#ifndef TACIT_DATA_ENCODING_H
#define TACIT_DATA_ENCODING_H

#include "tacit/base.h"

/* TACIT_ERR_ARGUMENT for what iconv does not know here, and for its suffixes ("//IGNORE" drops bytes and says
 * nothing). */
TACIT_MUST_USE tacit_status_t tacit_encoding_check(const char *encoding, tacit_error_t *err);

enum { TACIT_RECODER_ROOM = 1 << 17 };
typedef struct tacit_recoder tacit_recoder_t;

/* `encoding` is one that was checked. Free with tacit_recoder_free(); NULL: out of memory. */
tacit_recoder_t *tacit_recoder_new(const char *encoding);
void tacit_recoder_free(tacit_recoder_t *recoder);
/* Where bytes that are read next go, *n of them at most; 0: what is there comes first. */
char *tacit_recoder_room(tacit_recoder_t *recoder, size_t *n);
/* n bytes went there. */
void tacit_recoder_put(tacit_recoder_t *recoder, size_t n);
/*
 * Puts the text of what is there to out, shape (size), and returns its length: as much as is whole and has
 * room. is_end: no more bytes come. *is_wrong: nothing was put, and what is there is no text in the encoding.
 */
size_t tacit_recoder_convert(tacit_recoder_t *recoder, bool is_end, char *out, size_t size, bool *is_wrong);

#endif
