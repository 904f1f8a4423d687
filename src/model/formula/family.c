#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "formula/model.h"
#include "formula/model_text.h"

static const char *const names[] = {"bernoulli", "gaussian", "poisson", "categorical"};
enum { N_FAMILIES = sizeof names / sizeof names[0] };

tacit_status_t tacit_family_parse(tacit_family_t *family, const char *text, tacit_error_t *err) {
  tacit_nearest_t nearest = {.name = text};
  for (size_t i = 0; i < N_FAMILIES; i++) {
    if (strcmp(text, names[i]) == 0) {
      *family = (tacit_family_t)i;
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, names[i]);
  }
  char hint[TACIT_HINT_SIZE];
  return tacit_error_set(err, TACIT_ERR_UNKNOWN, "family",
                         "unknown family '%.64s'%s; there are bernoulli, gaussian, poisson and categorical",
                         text, tacit_nearest_hint(&nearest, hint));
}

const char *tacit_family_string(tacit_family_t family) {
  return (size_t)family < N_FAMILIES ? names[family] : NULL;
}
