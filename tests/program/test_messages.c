/* Programs and what is said of them, tests/program/messages.txt: "=== name", the program, "---", the message.
 */
#include "testing.h"

#include <string.h>

#include "program/program.h"

static char *read_all(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(1, 1 << 18);
  assert_non_null(text);
  size_t n = fread(text, 1, (1 << 18) - 1, file);
  fclose(file);
  assert_true(n > 0 && n < (1 << 18) - 1);
  return text;
}

static void test_messages_are_as_they_were_read(void **state) {
  char *text = read_all(MESSAGES);
  size_t n_cases = 0;
  for (char *at = strstr(text, "=== "); at != NULL; n_cases++) {
    char *program = strchr(at, '\n') + 1, *line = strstr(program, "\n---\n"), *message = line + 5;
    char *next = strstr(message, "\n=== ");
    size_t length = next != NULL ? (size_t)(next - message) : strlen(message) - 1;
    tacit_program_t *parsed;
    tacit_error_t err;
    assert_int_not_equal(tacit_program_parse(&parsed, program, (size_t)(line - program) + 1, NULL, &err),
                         TACIT_OK);
    assert_null(parsed);
    if (strlen(err.message) != length || strncmp(err.message, message, length) != 0) {
      fail_msg("%.*s\nexpected\n%.*s\ngot\n%s", (int)(program - at), at, (int)length, message, err.message);
    }
    at = next != NULL ? next + 1 : NULL;
  }
  assert_true(n_cases >= 40);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages_are_as_they_were_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
