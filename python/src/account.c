/* What releases cost. */
#include <math.h>
#include <string.h>

#include "core.h"

#include "tacit/account.h"

/* Events from a sequence of (text, count); false with an exception. */
static bool parse_events(PyObject *list, tacit_event_t *events, size_t *n) {
  tacit_error_t err;
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
    const char *text;
    unsigned long long count;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sK", &text, &count)) {
      return false;
    }
    if (tacit_event_parse(&events[*n], text, &err) != TACIT_OK) {
      core_raise(&err, NULL);
      return false;
    }
    events[(*n)++].count = count;
  }
  return true;
}

/* What is asked, and of which events; NaN: not given. */
typedef struct question {
  tacit_event_t *once, *each; /* shapes (n_once), (n_each) */
  size_t n_once, n_each;
  tacit_account_options_t options;
  double epsilon, delta, fpr;
  double *numbers; /* orders of the Renyi curve, or epsilon, delta and its lower end of a profile; shape (3,
                      n_numbers) at most */
  size_t n_numbers;
} question_t;

static PyObject *guarantee(const question_t *question) {
  tacit_guarantee_t found;
  tacit_error_t err;
  double tpr = NAN;
  core_work_t work;
  core_work_begin(&work);
  const tacit_accountant_t *accountant = question->options.accountant;
  tacit_status_t status = isnan(question->epsilon)
                              ? tacit_account_epsilon(accountant, question->each, question->n_each,
                                                      &question->options, question->delta, &found, &err)
                              : tacit_account_delta(accountant, question->each, question->n_each,
                                                    &question->options, question->epsilon, &found, &err);
  if (status == TACIT_OK && !isnan(question->fpr)) {
    status = tacit_account_attack_rate(question->each, question->n_each, &question->options, question->fpr,
                                       &tpr, &err);
  }
  core_work_end(&work);
  return status != TACIT_OK
             ? core_raise(&err, NULL)
             : Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:d,s:s}", "epsilon", found.epsilon, "epsilon_lower",
                             found.epsilon_lower, "delta", found.delta, "delta_lower", found.delta_lower,
                             "order", found.order, "attack", tpr, "method", found.method);
}

static PyObject *count(const question_t *question) {
  uint64_t k = 0;
  tacit_error_t err;
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status =
      tacit_account_max_repetitions(question->once, question->n_once, question->each, question->n_each,
                                    &question->options, question->epsilon, question->delta, &k, &err);
  core_work_end(&work);
  return status == TACIT_OK ? PyLong_FromUnsignedLongLong(k) : core_raise(&err, NULL);
}

static PyObject *noise(const question_t *question) {
  double factor = 0;
  tacit_error_t err;
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status = tacit_account_noise_factor(question->each, question->n_each, &question->options,
                                                     question->epsilon, question->delta, &factor, &err);
  core_work_end(&work);
  return status == TACIT_OK ? PyFloat_FromDouble(factor) : core_raise(&err, NULL);
}

static PyObject *gdp(const question_t *question) {
  double mu;
  tacit_error_t err;
  return tacit_account_gdp(question->each, question->n_each, &mu, &err) == TACIT_OK ? PyFloat_FromDouble(mu)
                                                                                    : core_raise(&err, NULL);
}

static PyObject *list_of(const double *numbers, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list != NULL && i < n; i++) {
    PyList_SetItem(list, (Py_ssize_t)i, PyFloat_FromDouble(numbers[i]));
  }
  return list;
}

static PyObject *renyi(const question_t *question) {
  tacit_error_t err;
  tacit_status_t status = TACIT_OK;
  core_work_t work;
  core_work_begin(&work);
  for (size_t i = 0; status == TACIT_OK && i < question->n_numbers; i++) {
    status = tacit_account_renyi(question->each, question->n_each, &question->options, question->numbers[i],
                                 &question->numbers[i], &err);
  }
  core_work_end(&work);
  return status == TACIT_OK ? list_of(question->numbers, question->n_numbers) : core_raise(&err, NULL);
}

/* Three lists, of epsilons, deltas and their lower ends, one after another. */
static PyObject *profile(const question_t *question) {
  size_t n = question->n_numbers / 3;
  tacit_error_t err;
  tacit_profile_point_t *points = PyMem_Calloc(n, sizeof *points);
  if (points == NULL) {
    return PyErr_NoMemory();
  }
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status =
      tacit_account_profile(question->each, question->n_each, &question->options, n, points, &err);
  core_work_end(&work);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    question->numbers[i] = points[i].epsilon;
    question->numbers[n + i] = points[i].delta;
    question->numbers[2 * n + i] = points[i].delta_lower;
  }
  PyMem_Free(points);
  return status == TACIT_OK ? list_of(question->numbers, 3 * n) : core_raise(&err, NULL);
}

static const struct {
  const char *name;
  PyObject *(*answer)(const question_t *question);
} answers[] = {{"guarantee", guarantee}, {"count", count},    {"noise", noise}, {"gdp", gdp},
               {"renyi", renyi},         {"profile", profile}};

static bool read_options(question_t *question, const char *relation, const char *method) {
  tacit_error_t err = {.status = TACIT_ERR_ARGUMENT,
                       .field = "relation",
                       .message = "relation must be substitute or add-remove"};
  if (!tacit_relation_parse(relation, &question->options.relation)) {
    core_raise(&err, NULL);
    return false;
  }
  question->options.accountant = tacit_accountant_find(method);
  if (question->options.accountant == NULL) {
    err = (tacit_error_t){TACIT_ERR_UNKNOWN, "method",
                          "unknown accountant: expected auto, gaussian, pld, rdp, zcdp or moments"};
    core_raise(&err, NULL);
  }
  return question->options.accountant != NULL;
}

static bool read_numbers(question_t *question, PyObject *list) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
    question->numbers[question->n_numbers++] = PyFloat_AsDouble(PyList_GetItem(list, i));
  }
  return PyErr_Occurred() == NULL;
}

static PyObject *ask(const char *what, const question_t *question) {
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    if (strcmp(answers[i].name, what) == 0) {
      return answers[i].answer(question);
    }
  }
  const tacit_error_t err = {TACIT_ERR_ARGUMENT, "what", "nothing of that name can be asked"};
  return core_raise(&err, NULL);
}

static void clear(tacit_event_t *events, size_t n) {
  for (size_t i = 0; i < n; i++) {
    tacit_event_clear(&events[i]);
  }
  PyMem_Free(events);
}

/* account(what, [(event, count), ...], [those made once, ...], relation, epsilon, delta, fpr, method, width,
 * in order?, numbers); NaN: not given */
PyObject *core_account(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *each, *once, *numbers;
  const char *what, *relation, *method;
  int is_in_order;
  question_t question = {0};
  if (!PyArg_ParseTuple(args, "sO!O!sdddsdpO!", &what, &PyList_Type, &each, &PyList_Type, &once, &relation,
                        &question.epsilon, &question.delta, &question.fpr, &method,
                        &question.options.relative_width, &is_in_order, &PyList_Type, &numbers) ||
      !read_options(&question, relation, method)) {
    return NULL;
  }
  question.options.is_in_order = is_in_order;
  question.each = PyMem_Calloc((size_t)PyList_Size(each) + 1, sizeof *question.each);
  question.once = PyMem_Calloc((size_t)PyList_Size(once) + 1, sizeof *question.once);
  question.numbers = PyMem_Calloc((size_t)PyList_Size(numbers) + 1, sizeof *question.numbers);
  bool is_ready = question.each != NULL && question.once != NULL && question.numbers != NULL;
  if (!is_ready) {
    PyErr_NoMemory();
  }
  PyObject *result = NULL;
  if (is_ready && parse_events(each, question.each, &question.n_each) &&
      parse_events(once, question.once, &question.n_once) && read_numbers(&question, numbers)) {
    result = ask(what, &question);
  }
  clear(question.each, question.n_each);
  clear(question.once, question.n_once);
  PyMem_Free(question.numbers);
  return result;
}
