/* Files that are no text, known by their first bytes: named as what they are, with what reads them. And what
 * stands between fields of those that are. */
#include <string.h>

#include "base/error.h"
#include "data/data_internal.h"

typedef struct kind {
  const char *bytes;
  size_t n;
  const char *is;
  bool is_text; /* of printed characters */
} kind_t;

#define KIND(bytes, is)                                                                                      \
  { bytes, sizeof bytes - 1, is, false }
#define TEXT_KIND(bytes, is)                                                                                 \
  { bytes, sizeof bytes - 1, is, true }

#define IN_FRAMES                                                                                            \
  "no text: read it in Python or R, which give its columns to tacit, or by a pipe (docs/data.md): "

static const kind_t kinds[] = {
    KIND("PAR1", "a Parquet file, " IN_FRAMES "duckdb -csv -c \"from 'FILE'\" | tacit ... --data -"),
    KIND("ARROW1",
         "a Feather or Arrow file, " IN_FRAMES "pyarrow.feather.read_table(FILE), arrow::read_feather(FILE)"),
    KIND("FEA1", "a Feather file of version 1, " IN_FRAMES
                 "pyarrow.feather.read_table(FILE), arrow::read_feather(FILE)"),
    KIND("PK\x03\x04", "a zip archive, as Excel's .xlsx and LibreOffice's .ods are, and no text: save the "
                       "sheet as CSV, or read it by readxl or pandas.read_excel; "
                       "of a zipped CSV: unzip -p FILE | tacit ... --data -"),
    KIND("\xD0\xCF\x11\xE0", "an old Excel file (.xls), and no text: save the sheet as CSV, or read it by "
                             "readxl or pandas.read_excel"),
    KIND("\x28\xB5\x2F\xFD", "compressed by zstd; only gzip is read: zstd -dc FILE | tacit ... --data -"),
    KIND("\xFD"
         "7zXZ",
         "compressed by xz; only gzip is read: xz -dc FILE | tacit ... --data -"),
    KIND("BZh", "compressed by bzip2; only gzip is read: bzip2 -dc FILE | tacit ... --data -"),
    KIND("7z\xBC\xAF\x27\x1C", "a 7z archive, and no text: 7z x -so FILE | tacit ... --data -"),
    KIND("SQLite format 3", "an SQLite database: sqlite3 -csv -header FILE 'select ...' | tacit ... --data "
                            "-, or odbc:NAME with a query"),
    KIND("RDX2\n", "a file of R's (.RData): load(FILE) in R, and give tacit() the data frame"),
    KIND("RDX3\n", "a file of R's (.RData): load(FILE) in R, and give tacit() the data frame"),
    KIND("X\n\0", "a file of R's (.rds): readRDS(FILE) in R, and give tacit() the data frame"),
    TEXT_KIND("$FL2", "an SPSS file: its name must end in .sav"),
    TEXT_KIND("$FL3", "an SPSS file: its name must end in .zsav"),
    TEXT_KIND("<stata_dta>", "a Stata file: its name must end in .dta"),
    TEXT_KIND("HEADER RECORD*******", "a SAS transport file: its name must end in .xpt"),
    KIND("\0\0\0\0\0\0\0\0\0\0\0\0\xC2\xEA\x81\x60", "a SAS file: its name must end in .sas7bdat"),
    KIND("\x89HDF",
         "an HDF5 file, and no text: pandas.read_hdf(FILE) or rhdf5 in R, whose data frame tacit takes"),
    TEXT_KIND("%PDF", "a PDF, and no text: tacit reads the table that it shows from CSV"),
    KIND("\x80\x04", "a pickle of Python's: pandas.read_pickle(FILE), and give tacit.fit the frame"),
    KIND("\x80\x05", "a pickle of Python's: pandas.read_pickle(FILE), and give tacit.fit the frame")};

/* A byte that no text has among the first ones. A header row may begin with PAR1, too. */
static bool is_binary(const char *bytes, size_t n) {
  for (size_t i = 0; i < n && i < 64; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') {
      return true;
    }
  }
  return false;
}

const char *tacit_file_kind(const char *bytes, size_t n) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (n >= kinds[i].n && memcmp(bytes, kinds[i].bytes, kinds[i].n) == 0 &&
        (kinds[i].is_text || is_binary(bytes, n))) {
      return kinds[i].is;
    }
  }
  return NULL;
}

tacit_status_t tacit_delimiter_parse(const char *text, char *delimiter, tacit_error_t *err) {
  *delimiter = text == NULL ? '\0' : strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0 ? '\t' : text[0];
  bool is_one = text == NULL || *delimiter == '\t' || (text[0] != '\0' && text[1] == '\0');
  bool is_fit = text == NULL ||
                (strchr("\"\n\r.-+", *delimiter) == NULL && (unsigned char)*delimiter < 0x80 &&
                 !((*delimiter >= '0' && *delimiter <= '9') || (*delimiter >= 'a' && *delimiter <= 'z') ||
                   (*delimiter >= 'A' && *delimiter <= 'Z')));
  return is_one && is_fit ? TACIT_OK
                          : tacit_error_set(err, TACIT_ERR_ARGUMENT, "delimiter",
                                            "--delimiter takes one character that is not part of names and "
                                            "numbers, ',', ';', '|', or the word tab");
}
