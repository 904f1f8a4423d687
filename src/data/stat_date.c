/*
 * Dates in SAS, SPSS and Stata files are numbers with a display format. SAS: days (DATE9., MMDDYY10.) or seconds (DATETIME20.) since 1960;
 * SPSS: seconds since 14 October 1582, whatever the format; Stata: days (%td) or milliseconds (%tc, no leap seconds) since 1960.
 */
#include <ctype.h>
#include <string.h>

#include "data/stat_file.h"

/* Does the format begin with a word, in any case, and go on with a width or nothing? */
static bool is_format(const char *format, const char *word) {
  size_t n = strlen(word);
  for (size_t i = 0; i < n; i++) {
    if (toupper((unsigned char)format[i]) != word[i]) {
      return false;
    }
  }
  return !isalpha((unsigned char)format[n]);
}

static bool is_any(const char *format, const char *const *words) {
  for (; *words != NULL; words++) {
    if (is_format(format, *words)) {
      return true;
    }
  }
  return false;
}

static tacit_stat_date_unit_t sas_unit(const char *format) {
  static const char *const days[] = {"DATE", "DAY", "DDMMYY", "DDMMYYB", "DDMMYYC", "DDMMYYD", "DDMMYYN", "DDMMYYP", "DDMMYYS", "MMDDYY", "MMDDYYB",
                                     "MMDDYYC", "MMDDYYD", "MMDDYYN", "MMDDYYP", "MMDDYYS", "YYMMDD", "YYMMDDB", "YYMMDDC", "YYMMDDD", "YYMMDDN",
                                     "YYMMDDP", "YYMMDDS", "E8601DA", "B8601DA", "IS8601DA", "WEEKDATE", "WEEKDATX", "WORDDATE", "WORDDATX", "JULIAN",
                                     "JULDAY", "EURDFDE", "NLDATE", "MINGUO", "NENGO", NULL};
  static const char *const seconds[] = {"DATETIME", "E8601DT", "B8601DT", "IS8601DT", "DATEAMPM", "MDYAMPM", "DTDATE", "EURDFDT", "NLDATM", NULL};
  static const char *const others[] = {"TIME", "TIMEAMPM", "HHMM", "HOUR", "MMSS", "TOD", "E8601TM", "B8601TM", "MONYY", "MONTH", "MONNAME", "YEAR",
                                       "QTR", "QTRR", "YYMM", "MMYY", "YYQ", "YYMON", "WEEKDAY", "DOWNAME", "DTMONYY", "DTYEAR", NULL};
  return is_any(format, days)      ? TACIT_STAT_DAY
         : is_any(format, seconds) ? TACIT_STAT_SECOND
         : is_any(format, others)  ? TACIT_STAT_OTHER_DATE
                                   : TACIT_STAT_NO_DATE;
}

static tacit_stat_date_unit_t spss_unit(const char *format) {
  static const char *const seconds[] = {"DATE", "ADATE", "EDATE", "JDATE", "SDATE", "DATETIME", "YMDHMS", NULL};
  static const char *const others[] = {"TIME", "DTIME", "MTIME", "QYR", "MOYR", "WKYR", "WKDAY", "MONTH", NULL};
  return is_any(format, seconds) ? TACIT_STAT_SECOND : is_any(format, others) ? TACIT_STAT_OTHER_DATE : TACIT_STAT_NO_DATE;
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
  return format[1] == 'd' ? TACIT_STAT_DAY : format[1] == 'c' ? TACIT_STAT_MILLISECOND : TACIT_STAT_OTHER_DATE;
}

tacit_stat_date_unit_t tacit_stat_date_unit(tacit_stat_dates_t dates, const char *format) {
  if (format == NULL || *format == '\0') {
    return TACIT_STAT_NO_DATE;
  }
  return dates == TACIT_STAT_SAS ? sas_unit(format) : dates == TACIT_STAT_SPSS ? spss_unit(format) : stata_unit(format);
}

double tacit_stat_days(tacit_stat_dates_t dates, tacit_stat_date_unit_t unit, double number) {
  double per_day = unit == TACIT_STAT_DAY ? 1 : unit == TACIT_STAT_SECOND ? 86400 : 86400e3;
  int64_t epoch = dates == TACIT_STAT_SPSS ? tacit_days_of(1582, 10, 14) : tacit_days_of(1960, 1, 1);
  return number / per_day + (double)epoch;
}
