/* The settings of an inference. */
#include "infer/infer_internal.h"

static const char *const methods[] = {"auto", "gibbs", "hmc", "marginal",
                                      NULL};                      /* as tacit_augment_method_t */
static const char *const paths[] = {"collective", "joint", NULL}; /* as tacit_augment_path_t */

static const tacit_setting_t table[] = {
    {"statistic", "FILE", NULL,
     "The released statistic, YAML. Of a program: may be repeated, for releases of the same records or of "
     "others (records: NAME in the file).",
     "statistic", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"n", "N", NULL, "Number of records it was computed from (or n: N in the file).", "statistic",
     TACIT_SETTING_COUNT, 1, 2147483647, NULL},
    {"set", "NAME=V", NULL,
     "Of a program: a public number, or several: --set D=10, --set knots=1,2,3. May be repeated.",
     "statistic", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"out", "DIR", NULL, "Directory for the results; must not exist.", "running", TACIT_SETTING_TEXT, 0, 0,
     NULL},
    {"method", "M", "auto",
     "gibbs: latent records, any model. hmc: gaussian records under continuous noise. marginal: no latent "
     "records, cost free "
     "of n; approximate for Laplace noise and moments, else exact. auto: marginal where it is exact "
     "(gaussian: above 1000 "
     "records), and above 20000 records; else gibbs. Of a program both are exact; auto: marginal where it "
     "applies.",
     "sampler", TACIT_SETTING_CHOICE, 0, 0, methods},
    {"chains", "K", "4", "Number of chains.", "chains", TACIT_SETTING_COUNT, 1, 1000, NULL},
    {"warmup", "W", "1000", "Iterations that are dropped, per chain.", "chains", TACIT_SETTING_COUNT, 0, 1e9,
     NULL},
    {"draws", "D", "1000", "Draws kept, per chain.", "chains", TACIT_SETTING_COUNT, 1, 1e9, NULL},
    {"thin", "T", "1", "Iterations for each draw.", "chains", TACIT_SETTING_COUNT, 1, 1e9, NULL},
    {"threads", "T", "1", "Chains at a time; results do not depend on it.", "running", TACIT_SETTING_COUNT, 1,
     1024, NULL},
    {"seed", "S", NULL, "Make the run repeatable.", "running", TACIT_SETTING_COUNT, 0, 9007199254740992.0,
     NULL},
    {"no-interweave", NULL, NULL,
     "gibbs: without the moves that carry all records along: the plain algorithm, slower to mix.", "sampler",
     TACIT_SETTING_FLAG, 0, 0, NULL},
    {"path", "P", "collective",
     "hmc: collective moves parameters and the records' mean and sweeps the records; joint moves all.",
     "sampler", TACIT_SETTING_CHOICE, 0, 0, paths},
    {"step-size", "E", NULL,
     "hmc: fixed step size, in units where a period is 2 pi. Default: adapted during warm-up.", "sampler",
     TACIT_SETTING_NUMBER, 1e-6, 10, NULL},
    {"leapfrog", "L", NULL, "hmc: fixed number of steps. Default: a length around pi/2.", "sampler",
     TACIT_SETTING_COUNT, 1, 1e6, NULL},
    {"quiet", NULL, NULL, "Print nothing but warnings, problems and errors.", "running",
     TACIT_SETTING_PROGRAM, 0, 0, NULL}};

const tacit_setting_t *tacit_infer_settings(size_t *n) {
  *n = sizeof table / sizeof table[0];
  return table;
}

const char *tacit_infer_method_string(tacit_augment_method_t method) { return methods[method]; }
