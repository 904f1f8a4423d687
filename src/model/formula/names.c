#include "formula/names.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool tacit_name_is_legal(const char *name) {
  if (!is_letter(name[0])) {
    return false;
  }
  size_t i = 1;
  for (; is_letter(name[i]) || is_digit(name[i]) || name[i] == '_'; i++) {
    if (name[i] == '_' && name[i - 1] == '_') {
      return false;
    }
  }
  while (name[i] == '.' && is_digit(name[i + 1])) {
    for (i++; is_digit(name[i]); i++) {
    }
  }
  return name[i] == '\0';
}

tacit_status_t tacit_names_init(tacit_names_t *names, size_t capacity, tacit_error_t *err) {
  *names = (tacit_names_t){.capacity = capacity, .n_slots = 8};
  while (names->n_slots < 2 * capacity) {
    names->n_slots *= 2;
  }
  names->labels = tacit_alloc_zero(capacity, sizeof *names->labels);
  names->names = tacit_alloc_zero(capacity, sizeof *names->names);
  names->slots = tacit_alloc_zero(names->n_slots, sizeof *names->slots);
  bool is_ready = names->labels != NULL && names->names != NULL && names->slots != NULL;
  return is_ready ? TACIT_OK : tacit_error_memory(err);
}

void tacit_names_clear(tacit_names_t *names) {
  for (size_t i = 0; i < names->n; i++) {
    tacit_free((void *)(uintptr_t)names->labels[i]);
    tacit_free((void *)(uintptr_t)names->names[i]);
  }
  tacit_free(names->labels);
  tacit_free(names->names);
  tacit_free(names->slots);
  *names = (tacit_names_t){0};
}

/* FNV-1a */
static size_t hash(const char *text) {
  uint64_t h = 14695981039346656037u;
  for (; *text != '\0'; text++) {
    h = (h ^ (unsigned char)*text) * 1099511628211u;
  }
  return (size_t)(h ^ (h >> 32));
}

/* The slot that holds the name, or the free one where it would go. */
static size_t *find_slot(const tacit_names_t *names, const char *name) {
  size_t i = hash(name) & (names->n_slots - 1);
  while (names->slots[i] != 0 && strcmp(names->names[names->slots[i] - 1], name) != 0) {
    i = (i + 1) & (names->n_slots - 1);
  }
  return &names->slots[i];
}

/* `name` with a suffix if it is taken; owned, NULL if memory fails. */
static char *make_unique(const tacit_names_t *names, const char *name) {
  if (*find_slot(names, name) == 0) {
    return tacit_strdup(name);
  }
  tacit_text_t text = {0};
  tacit_text_append(&text, name, strlen(name));
  size_t length = text.length;
  for (size_t k = 2; !text.failed; k++) {
    text.length = length;
    tacit_text_printf(&text, "_%zu", k);
    if (!text.failed && *find_slot(names, text.data) == 0) {
      return text.data;
    }
  }
  tacit_text_clear(&text);
  return NULL;
}

tacit_status_t tacit_names_add(tacit_names_t *names, const char *label, const char *name,
                               tacit_error_t *err) {
  char *own_label = tacit_strdup(label), *own_name = make_unique(names, name);
  if (own_label == NULL || own_name == NULL) {
    tacit_free(own_label);
    tacit_free(own_name);
    return tacit_error_memory(err);
  }
  *find_slot(names, own_name) = names->n + 1;
  names->labels[names->n] = own_label;
  names->names[names->n++] = own_name;
  return TACIT_OK;
}

/*
 * Letters U+00C0 to U+017F in two places each: without their marks, German umlauts and ligatures with a
 * second letter; '_' is none. Readable is what is meant, not reversible: two columns that meet here get a
 * suffix.
 */
static const char plain_letters[] = "A A A A AeA AeC E E E E I I I I D N O O O O Oe_ OeU U U UeY Thss"
                                    "a a a a aea aec e e e e i i i i d n o o o o oe_ oeu u u uey thy "
                                    "A a A a A a C c C c C c C c D d D d E e E e E e E e E e G g G g "
                                    "G g G g H h H h I i I i I i I i I i IjijJ j K k k L l L l L l L "
                                    "l L l N n N n N n n NgngO o O o O o OeoeR r R r R r S s S s S s "
                                    "S s T t T t T t U u U u U u U u U u U u W w Y y Y Z z Z z Z z s ";

/* The letter that a two-byte UTF-8 sequence is, into `plain`, NUL-terminated; "" for a combining mark; false
 * for anything else. */
static bool make_plain(const unsigned char *s, char plain[3]) {
  if (s[0] < 0xC3 || s[0] > 0xCD || (s[1] & 0xC0) != 0x80) {
    return false;
  }
  size_t code = ((size_t)(s[0] & 0x1F) << 6) | (s[1] & 0x3F);
  memset(plain, 0, 3);
  if (code >= 0x300 && code < 0x370) {
    return true;
  }
  const char *cell = code < 0x180 ? &plain_letters[2 * (code - 0xC0)] : "_";
  plain[0] = cell[0];
  plain[1] = cell[0] != '_' && cell[1] != ' ' ? cell[1] : '\0';
  return is_letter(plain[0]);
}

static bool ends_in(const tacit_text_t *text, const char *any) {
  return !text->failed && text->length > 0 && strchr(any, text->data[text->length - 1]) != NULL;
}

/* Append letters and digits; each run of anything else becomes one '_' between them. False: some letters were
 * none of Latin. */
static bool append_stan(tacit_text_t *name, const char *label) {
  bool is_latin = true;
  for (const char *c = label; *c != '\0'; c++) {
    char plain[3] = {*c, '\0', '\0'};
    if (is_letter(*c) || is_digit(*c)) {
      tacit_text_append(name, c, 1);
    } else if (make_plain((const unsigned char *)c, plain)) {
      bool is_umlaut = memcmp(c, "\xCC\x88", 2) == 0 && ends_in(name, "aouAOU");
      tacit_text_printf(name, "%s", is_umlaut ? "e" : plain);
      c++;
    } else {
      is_latin = is_latin && (unsigned char)*c < 0x80;
      tacit_text_append(name, "_", !ends_in(name, "_"));
    }
  }
  return is_latin;
}

/* Without '_' at the end. */
static void trim(tacit_text_t *name) {
  while (!name->failed && name->length > 1 && name->data[name->length - 1] == '_') {
    name->data[--name->length] = '\0';
  }
}

bool tacit_name_append_plain(tacit_text_t *name, const char *label) {
  bool is_latin = append_stan(name, label);
  trim(name);
  return is_latin;
}

tacit_status_t tacit_names_add_coefficient(tacit_names_t *names, const char *class_label, const char *label,
                                           tacit_error_t *err) {
  tacit_text_t full = {0}, name = {0};
  tacit_text_append(&name, "b_", 2);
  if (class_label != NULL) {
    tacit_text_printf(&full, "[%s] ", class_label);
    append_stan(&name, class_label);
    append_stan(&name, ":");
  }
  tacit_text_append(&full, label, strlen(label));
  append_stan(&name, label);
  tacit_status_t status = TACIT_OK;
  if (full.failed || name.failed) {
    status = tacit_error_memory(err);
  } else {
    trim(&name);
    if (!name.failed &&
        strcmp(name.data, "b_s") == 0) { /* what programs call coefficients of scaled features */
      tacit_text_printf(&name, "_2");
    }
    status = name.failed ? tacit_error_memory(err) : tacit_names_add(names, full.data, name.data, err);
  }
  tacit_text_clear(&full);
  tacit_text_clear(&name);
  return status;
}

/* is_shared (n) <- does another place have the same label? *twice <- such a place, or SIZE_MAX. */
static tacit_status_t find_shared(size_t n, const char *const *labels, bool *is_shared, size_t *twice,
                                  tacit_error_t *err) {
  tacit_names_t seen;
  tacit_status_t status = tacit_names_init(&seen, n + 1, err);
  *twice = SIZE_MAX;
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    size_t place = *find_slot(&seen, labels[i]);
    if (place > 0) {
      *twice = i;
      is_shared[i] = is_shared[place - 1] = true;
    }
    status = tacit_names_add(&seen, "", labels[i],
                             err); /* of the second the name is another, which no label can be */
  }
  tacit_names_clear(&seen);
  return status;
}

tacit_status_t tacit_names_part(size_t n, const char **labels, const char *const *apart, size_t *twice,
                                tacit_error_t *err) {
  bool *is_shared = tacit_alloc_zero(n + 1, sizeof *is_shared);
  tacit_status_t status =
      is_shared != NULL ? find_shared(n, labels, is_shared, twice, err) : tacit_error_memory(err);
  bool is_any = status == TACIT_OK && *twice != SIZE_MAX;
  for (size_t i = 0; i < n && is_any; i++) {
    labels[i] = is_shared[i] && apart[i] != NULL ? apart[i] : labels[i];
  }
  status = is_any ? find_shared(n, labels, is_shared, twice, err) : status;
  tacit_free(is_shared);
  return status;
}

bool tacit_names_have(size_t n, const char *const *labels, const char *label) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(labels[i], label) == 0) {
      return true;
    }
  }
  return false;
}
