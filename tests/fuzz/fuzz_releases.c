/* Any bytes as releases.json end in success or in an error; what is read can be written and read again, to
 * the same bytes. */
#include <stdint.h>
#include <string.h>

#include "report/report.h"
#include "report/report_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tacit_released_t first, again;
  tacit_error_t err;
  if (tacit_released_parse(&first, (const char *)data, size, "fuzz", &err) == TACIT_OK) {
    tacit_text_t text = {0}, same = {0};
    if (first.releases.n == 0 || first.releases.dim == 0) {
      __builtin_trap();
    }
    tacit_released_json(&first, &text);
    if (tacit_released_parse(&again, text.data, text.length, "again", &err) != TACIT_OK) {
      __builtin_trap();
    }
    tacit_released_json(&again, &same);
    if (text.length != same.length || memcmp(text.data, same.data, text.length) != 0) {
      __builtin_trap();
    }
    tacit_released_clear(&again);
    tacit_text_clear(&text);
    tacit_text_clear(&same);
    tacit_released_clear(&first);
  }
  return 0;
}
