/* The settings of a released statistic. */
#include "data/collect.h"
#include "publish/publish_internal.h"

static const char *const mechanisms[] = {"gaussian", "laplace", "discrete-gaussian", "discrete-laplace",
                                         NULL};

static const tacit_setting_t table[] = {
    {"statistic", "NAME", NULL,
     "clamped-mean (mean of a column within its public bounds), counts (records in each cell of a table), "
     "moments (means, "
     "squares and products of the columns of a formula, for a linear regression), score (the score of a "
     "logistic regression at "
     "coefficients 0, and the features' moments, which tell it elsewhere) or margins (several tables at "
     "once, of which tacit infer makes a "
     "population and tacit synthesize rows). Of a program: a line of its block 'statistic', by name.",
     "statistic", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"set", "NAME=V", NULL,
     "Of a program: a public number, or several: --set D=10, --set knots=1,2,3. May be repeated.",
     "statistic", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"public", "NAME", NULL,
     "Of a program: the numbers given as NAME are public; to be said of more than 16. May be repeated.",
     "statistic", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"column", "NAMES", NULL,
     "The column; for counts, columns joined by commas, the last one fastest in the result.", "statistic",
     TACIT_SETTING_TEXT, 0, 0, NULL},
    {"margin", "NAMES", NULL,
     "margins: a table, columns joined by commas. May be repeated: all of them are one release.", "statistic",
     TACIT_SETTING_TEXT, 0, 0, NULL},
    TACIT_SOURCE_SETTINGS,
    {"schema", "FILE", NULL,
     "YAML: what is publicly known of each column. Its bounds are where values are clamped.", "statistic",
     TACIT_SETTING_TEXT, 0, 0, NULL},
    {"out", "FILE", NULL, "The released statistic, YAML; must not exist.", "running", TACIT_SETTING_TEXT, 0,
     0, NULL},
    {"mechanism", "NAME", "gaussian",
     "gaussian, laplace, discrete-gaussian or discrete-laplace; moments, score: gaussian; margins: gaussian "
     "or discrete-gaussian. The discrete ones "
     "live on whole counts, or on multiples of --step.",
     "privacy", TACIT_SETTING_CHOICE, 0, 0, mechanisms},
    {"epsilon", "E", NULL, "What the release may cost.", "privacy", TACIT_SETTING_NUMBER, 1e-6, 500, NULL},
    {"delta", "D", NULL, "Its delta, far below 1 / number of rows; Gaussian noise only.", "privacy",
     TACIT_SETTING_NUMBER, 1e-300, 0.5, NULL},
    {"step", "S", NULL,
     "clamped-mean under discrete noise: values are rounded to its multiples. 1 for whole numbers if not "
     "said.",
     "statistic", TACIT_SETTING_NUMBER, 1e-12, 1e12, NULL},
    {"n-public", "N", NULL, "Of a query under relation substitute: the number of its rows, which is public.",
     "privacy", TACIT_SETTING_COUNT, 1, 9007199254740992.0, NULL},
    {"threads", "N", "1", "Threads; results do not depend on it.", "running", TACIT_SETTING_COUNT, 1, 1024,
     NULL},
    {"scratch", "DIR", NULL,
     "For records larger than memory: keep them in a file without a name in DIR, on a disk with room for 4 "
     "bytes a "
     "value of the columns used and 4 a record, and as private as the data. Results do not depend on it.",
     "running", TACIT_SETTING_TEXT, 0, 0, NULL},
    TACIT_LEDGER_SETTINGS("the release", "this release; statistic and columns"),
    {"seed", "N", NULL, "Repeatable noise. Noise that can be repeated protects nobody: NOT PRIVATE.",
     "privacy", TACIT_SETTING_COUNT, 0, 9007199254740992.0, NULL}};

const tacit_setting_t *tacit_publish_settings(size_t *n) {
  *n = sizeof table / sizeof table[0];
  return table;
}
