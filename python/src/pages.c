/* Texts that somebody asks for: the page that a privacy officer signs, the program that a formula stands for.
 * No record is near. */
#include "core.h"

#include "tacit/model.h"
#include "tacit/report.h"

/* statement(directory or None, ledger or None, "text", "html" or "json") */
PyObject *core_statement(PyObject *self, PyObject *args) {
  (void)self;
  const char *path, *ledger, *kind;
  char *text = NULL;
  tacit_error_t err;
  if (!PyArg_ParseTuple(args, "zzs", &path, &ledger, &kind)) {
    return NULL;
  }
  tacit_page_kind_t as = kind[0] == 'h'   ? TACIT_PAGE_HTML
                         : kind[0] == 'j' ? TACIT_PAGE_JSON
                                          : TACIT_PAGE_TEXT;
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status = ledger != NULL ? tacit_report_ledger_page(ledger, as, &text, &err)
                                         : tacit_report_statement_page(path != NULL ? path : "",
                                                                       as == TACIT_PAGE_HTML, &text, &err);
  core_work_end(&work);
  PyObject *out = status == TACIT_OK ? PyUnicode_FromString(text) : core_raise(&err, NULL);
  tacit_report_text_free(status == TACIT_OK ? text : NULL);
  return out;
}

/* model(formula, family, schema, its name) */
PyObject *core_model(PyObject *self, PyObject *args) {
  (void)self;
  const char *formula, *family, *schema, *name;
  Py_ssize_t n_schema;
  char *text = NULL;
  tacit_schema_t *parsed = NULL;
  tacit_error_t err;
  if (!PyArg_ParseTuple(args, "ssy#s", &formula, &family, &schema, &n_schema, &name)) {
    return NULL;
  }
  tacit_status_t status = tacit_schema_parse(&parsed, schema, (size_t)n_schema, name, &err);
  status = status == TACIT_OK ? tacit_program_of_formula(&text, formula, family, parsed, &err) : status;
  PyObject *out = core_owned_text(status, text, &err);
  tacit_schema_free(parsed);
  return out;
}
