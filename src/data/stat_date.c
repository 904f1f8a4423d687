/*
 * Dates in SAS, SPSS and Stata files are numbers with a display format. SAS: days (DATE9., MMDDYY10.) or
 * seconds (DATETIME20.) since 1960; SPSS: seconds since 14 October 1582, whatever the format; Stata: days
 * (%td) or milliseconds (%tc, no leap seconds) since 1960.
 */
#include <ctype.h>
#include <string.h>

#include "data/stat_file.h"

/* Does the format begin with a word, in any case, and go on with a width or nothing? With a star at its end
 * the word may go on with letters. */
static bool is_format(const char *format, const char *word) {
  size_t n = 0;
  for (; word[n] != '\0' && word[n] != '*'; n++) {
    if (toupper((unsigned char)format[n]) != word[n]) {
      return false;
    }
  }
  return word[n] == '*' || !isalpha((unsigned char)format[n]);
}

static bool is_any(const char *format, const char *const *words) {
  for (; *words != NULL; words++) {
    if (is_format(format, *words)) {
      return true;
    }
  }
  return false;
}

/*
 * The kinds of SAS's own formats (Formats by Category: Date and Time, ISO 8601, National Languages). Looked
 * up in this order, so that what is left of a family after its formats of whole days, or of seconds, is
 * refused: a month, a quarter, a time of the day.
 */
static tacit_stat_date_unit_t sas_unit(const char *format) {
  static const char *const days[] = {
      "DATE",     "DAY",      "DDMMYY",   "DDMMYYB",  "DDMMYYC", "DDMMYYD", "DDMMYYN", "DDMMYYP", "DDMMYYS",
      "MMDDYY",   "MMDDYYB",  "MMDDYYC",  "MMDDYYD",  "MMDDYYN", "MMDDYYP", "MMDDYYS", "YYMMDD",  "YYMMDDB",
      "YYMMDDC",  "YYMMDDD",  "YYMMDDN",  "YYMMDDP",  "YYMMDDS", "XYYMMDD", "E8601DA", "B8601DA", "IS8601DA",
      "WEEKDATE", "WEEKDATX", "WORDDATE", "WORDDATX", "JULIAN",  "JULDAY",  "PDJULG",  "PDJULI",  "EURDFDD",
      "EURDFDE",  "EURDFWDX", "EURDFWKX", "NLDATE",   "NLDATEL", "NLDATEM", "NLDATES", "NLDATEW", "HDATE",
      "HEBDATE",  "MINGUO",   "NENGO",    NULL};
  static const char *const seconds[] = {"DATETIME", "E8601DT", "B8601DT",  "IS8601DT", "E8601DN", "B8601DN",
                                        "IS8601DN", "E8601DZ", "B8601DZ",  "IS8601DZ", "E8601DX", "B8601DX",
                                        "E8601LX",  "B8601LX", "DATEAMPM", "MDYAMPM",  "DTDATE",  "DTWKDATX",
                                        "EURDFDT",  "NLDATM",  "NLDATMAP", "NLDATMDT", "NLDATML", "NLDATMM",
                                        "NLDATMS",  "NLDATMW", "NLDATMZ",  NULL};
  static const char *const others[] = {
      "TIME",   "TIMEAMPM", "HHMM",    "HOUR",    "MMSS",  "TOD",   "E8601*",  "B8601*",  "IS8601*",
      "MONYY",  "MONTH",    "MONNAME", "YEAR",    "QTR",   "QTRR",  "MMYY*",   "YYMM*",   "YYQ*",
      "YYMON",  "YYWEEK*",  "WEEKDAY", "WEEKU",   "WEEKV", "WEEKW", "DOWNAME", "DTMONYY", "DTYEAR",
      "DTYYQC", "EURDF*",   "NLDATE*", "NLDATM*", "NLTI*", NULL};
  return is_any(format, days)      ? TACIT_STAT_DAY
         : is_any(format, seconds) ? TACIT_STAT_SECOND
         : is_any(format, others)  ? TACIT_STAT_OTHER_DATE
                                   : TACIT_STAT_NO_DATE;
}

static tacit_stat_date_unit_t spss_unit(const char *format) {
  static const char *const seconds[] = {"DATE",  "ADATE",    "EDATE",  "JDATE",
                                        "SDATE", "DATETIME", "YMDHMS", NULL};
  static const char *const others[] = {"TIME", "DTIME", "MTIME", "QYR", "MOYR",
                                       "WKYR", "WKDAY", "MONTH", NULL};
  return is_any(format, seconds)  ? TACIT_STAT_SECOND
         : is_any(format, others) ? TACIT_STAT_OTHER_DATE
                                  : TACIT_STAT_NO_DATE;
}

/* %td, %-tdDD..., %d of old files; %tc; %tC counts leap seconds. */
static tacit_stat_date_unit_t stata_unit(const char *format) {
  format += *format == '%';
  format += *format == '-';
  if (*format == 'd') {
    return TACIT_STAT_DAY;
  }
  if (*format != 't') {
    return TACIT_STAT_NO_DATE;
  }
  return format[1] == 'd'   ? TACIT_STAT_DAY
         : format[1] == 'c' ? TACIT_STAT_MILLISECOND
                            : TACIT_STAT_OTHER_DATE;
}

tacit_stat_date_unit_t tacit_stat_date_unit(tacit_stat_dates_t dates, const char *format) {
  if (format == NULL || *format == '\0') {
    return TACIT_STAT_NO_DATE;
  }
  return dates == TACIT_STAT_SAS    ? sas_unit(format)
         : dates == TACIT_STAT_SPSS ? spss_unit(format)
                                    : stata_unit(format);
}

double tacit_stat_days(tacit_stat_dates_t dates, tacit_stat_date_unit_t unit, double number) {
  double per_day = unit == TACIT_STAT_DAY ? 1 : unit == TACIT_STAT_SECOND ? 86400 : 86400e3;
  int64_t epoch = dates == TACIT_STAT_SPSS ? tacit_days_of(1582, 10, 14) : tacit_days_of(1960, 1, 1);
  return number / per_day + (double)epoch;
}
