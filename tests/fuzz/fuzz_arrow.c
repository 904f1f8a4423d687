/* Arrow arrays with members changed at will: where what is wrong can be seen without reading past a buffer,
 * an error and no crash. */
#include <stdlib.h>
#include <string.h>

#include "../data/arrow_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 16 };

static const uint8_t *at, *end;

static unsigned byte(void) { return at < end ? *at++ : 0; }

/* Mostly right, at times not. */
static int64_t near(int64_t right) {
  unsigned choice = byte();
  return choice < 224   ? right
         : choice < 240 ? right + (int64_t)byte() - 128
         : choice < 250 ? -(int64_t)byte()
                        : INT64_MAX - (int64_t)byte();
}

static const void *maybe(const void *pointer) { return byte() < 240 ? pointer : NULL; }

/* Buffers of any bytes, long enough for any type of ROWS values at any offset that passes for one. */
static char pool[4096];
static int64_t sizes[2] = {2048, 2048};

static column_t column_of(const char *format, const column_t *dictionary) {
  bool is_view = format[0] == 'v', is_text = format[0] == 'u' || format[0] == 'U';
  int64_t offset = byte() % 8, length = near(ROWS);
  column_t column = {.n_buffers = near(is_view   ? 5
                                       : is_text ? 3
                                                 : 2),
                     .length = length > ROWS ? ROWS : length,
                     .offset = offset,
                     .null_count = near(-1),
                     .dictionary = dictionary};
  column.buffers[0] = maybe(pool);
  column.buffers[1] = maybe(pool + 64);
  column.buffers[2] = maybe(pool + 1024);
  column.buffers[3] = maybe(pool + 2048);
  column.buffers[4] = maybe(sizes);
  column.n_buffers = column.n_buffers > ARROW_BUFFERS ? ARROW_BUFFERS : column.n_buffers;
  if (is_view && column.n_buffers != 5) {
    column.n_buffers = 2; /* the sizes are where they belong, or there are too few buffers */
  }
  return column;
}

/* Offsets that do not leave the pool, if they rise. */
static void fill_pool(const char *format) {
  for (size_t i = 0; i < sizeof pool; i++) {
    pool[i] = (char)byte();
  }
  int bytes = format[0] == 'U' ? 8 : 4;
  for (size_t i = 0; (format[0] == 'u' || format[0] == 'U') && i < 64; i++) {
    int64_t place = (int64_t)byte() * 8 - 64;
    memcpy(pool + 64 + i * (size_t)bytes, &place, (size_t)bytes);
  }
}

static void read_as(const char *schema_text, stream_t *stream) {
  tacit_schema_t *schema;
  tacit_table_t *table;
  tacit_error_t err;
  if (tacit_schema_parse(&schema, schema_text, strlen(schema_text), "fuzz", &err) != TACIT_OK) {
    __builtin_trap();
  }
  struct ArrowArrayStream arrow = stream_of(stream);
  if (tacit_table_read_stream(&table, &arrow, schema, NULL, 0, NULL, NULL, &err) == TACIT_OK) {
    const double *x = tacit_table_column(table, "x");
    for (size_t i = 0; x != NULL && i < tacit_table_n_rows(table); i++) {
      if (!(x[i] >= -1 && x[i] <= 1)) {
        __builtin_trap(); /* values keep their public bounds */
      }
    }
    tacit_table_free(table);
  }
  if (!is_settled(stream)) {
    __builtin_trap();
  }
  tacit_schema_free(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char *const formats[] = {
      "n", "b", "c",  "C",        "s",         "S",       "i",           "I",     "l",   "L",  "e", "f", "g",
      "u", "U", "vu", "d:9,2,32", "d:18,4,64", "d:38,10", "d:38,-4,128", "d:99,", "tdD", "+s", "z", "",  "i"};
  enum { n_formats = sizeof formats / sizeof *formats };
  at = bytes;
  end = bytes + size;
  char unknown[4] = {(char)byte(), (char)byte(), (char)byte(), '\0'};
  unsigned choice = byte() % (n_formats + 1);
  const char *format = choice < n_formats ? formats[choice] : unknown,
             *dictionary = byte() % 4 == 0 ? formats[byte() % n_formats] : NULL;
  column_t entries = dictionary != NULL ? column_of(dictionary, NULL) : (column_t){0};
  column_t column = column_of(format, dictionary != NULL && byte() < 240 ? &entries : NULL);
  stream_t stream = {.names = {"x", "y"},
                     .formats = {format, "g"},
                     .dictionaries = {dictionary},
                     .n_columns = 1,
                     .n_chunks = 1 + byte() % 2};
  for (size_t k = 0; k < stream.n_chunks; k++) {
    int64_t n_columns = near(1);
    stream.chunks[k] = (chunk_t){.length = near(ROWS),
                                 .offset = near(0),
                                 .null_count = near(0),
                                 .validity = maybe(pool),
                                 .columns = &column,
                                 .n_columns = n_columns == 1 ? 1 : 0};
  }
  fill_pool(dictionary != NULL ? dictionary : format);
  read_as("columns: {x: {type: numeric, lower: -1, upper: 1, missing: 0}}", &stream);
  read_as("columns: {x: {type: categorical, levels: ['0', '1'], missing: '0'}}", &stream);
  read_as("unit: x\nmax_rows: 2\ncolumns: {x: {type: id}}", &stream);
  return 0;
}
