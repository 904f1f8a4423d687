/*
 * Plans for `tacit account --plan`: which releases a run makes once and which in every iteration.
 */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/yaml_file.h"
#include "cli/account.h"

enum { max_plan_bytes = 1 << 20 };

tacit_status_t account_plan_append(tacit_event_t **events, size_t *n, const tacit_event_t *event,
                                   tacit_error_t *err) {
  tacit_event_t *grown = tacit_realloc(*events, *n + 1, sizeof **events);
  if (grown == NULL) {
    return tacit_error_memory(err);
  }
  grown[(*n)++] = *event;
  *events = grown;
  return TACIT_OK;
}

static tacit_status_t read_label(tacit_yaml_t *yaml, const yaml_node_t *node, tacit_event_t *event) {
  if (node != NULL &&
      (node->type != YAML_SCALAR_NODE || strlen(tacit_yaml_scalar(node)) >= sizeof event->label)) {
    return tacit_yaml_fault(yaml, node, "a label is a text of at most %zu bytes", sizeof event->label - 1);
  }
  if (node != NULL) {
    memcpy(event->label, tacit_yaml_scalar(node), strlen(tacit_yaml_scalar(node)) + 1);
  }
  return TACIT_OK;
}

static tacit_status_t read_event(tacit_yaml_t *yaml, const yaml_node_t *node, tacit_event_t **events,
                                 size_t *n) {
  static const char *const keys[] = {"event", "count", "label", NULL};
  tacit_event_t event;
  tacit_error_t why;
  size_t count = 1;
  tacit_status_t status = tacit_yaml_mapping(yaml, node, "an event", keys);
  if (status != TACIT_OK) {
    return status;
  }
  const yaml_node_t *spec = tacit_yaml_find_in(yaml, node, "event");
  if (spec == NULL) {
    return tacit_yaml_fault(yaml, node, "an event needs `event: SPEC`, as in `event: gaussian:sigma=20`");
  }
  if (tacit_event_parse(&event, tacit_yaml_scalar(spec), &why) != TACIT_OK) {
    return tacit_yaml_fault(yaml, spec, "%s", why.message);
  }
  status = tacit_yaml_whole(yaml, tacit_yaml_find_in(yaml, node, "count"), "count", 1, 1e18, &count);
  event.count = count;
  TACIT_THEN(status, read_label(yaml, tacit_yaml_find_in(yaml, node, "label"), &event));
  TACIT_THEN(status, account_plan_append(events, n, &event, yaml->err));
  if (status != TACIT_OK) {
    tacit_event_clear(&event);
  }
  return status;
}

static tacit_status_t read_events(tacit_yaml_t *yaml, const char *key, tacit_event_t **events, size_t *n) {
  const yaml_node_t *node = tacit_yaml_find(yaml, key);
  if (node != NULL && node->type != YAML_SEQUENCE_NODE) {
    return tacit_yaml_fault(yaml, node, "expected a list of events, `- event: SPEC`");
  }
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; node != NULL && i < tacit_yaml_length(node) && status == TACIT_OK; i++) {
    status = read_event(yaml, tacit_yaml_item(yaml, node, i), events, n);
  }
  return status;
}

static tacit_status_t read_plan(tacit_yaml_t *yaml, account_plan_t *plan) {
  const yaml_node_t *relation = tacit_yaml_find(yaml, "relation");
  size_t iterations = plan->iterations;
  plan->has_relation = relation != NULL;
  if (relation != NULL && !tacit_relation_parse(tacit_yaml_scalar(relation), &plan->options.relation)) {
    return tacit_yaml_fault(yaml, relation, "relation must be substitute or add-remove");
  }
  tacit_status_t status =
      tacit_yaml_whole(yaml, tacit_yaml_find(yaml, "iterations"), "iterations", 1, 1e18, &iterations);
  plan->iterations = iterations;
  TACIT_THEN(status, read_events(yaml, "once", &plan->once, &plan->n_once));
  TACIT_THEN(status, read_events(yaml, "each_iteration", &plan->each, &plan->n_each));
  if (status == TACIT_OK && plan->n_once + plan->n_each == 0) {
    status = tacit_yaml_fault(yaml, yaml_document_get_root_node(&yaml->document),
                              "the plan has no events: give once or each_iteration");
  }
  return status;
}

tacit_status_t account_plan_read(account_plan_t *plan, const char *path, tacit_error_t *err) {
  static const char *const keys[] = {"relation", "iterations", "once", "each_iteration", NULL};
  char *bytes;
  size_t n;
  tacit_status_t status = tacit_file_read(path, max_plan_bytes, &bytes, &n, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_yaml_t yaml = {.name = path, .what = "a plan", .err = err};
  status = tacit_yaml_open(&yaml, bytes, n, keys);
  TACIT_THEN(status, read_plan(&yaml, plan));
  tacit_yaml_close(&yaml);
  tacit_free(bytes);
  return status;
}

void account_plan_clear(account_plan_t *plan) {
  for (size_t i = 0; i < plan->n_once; i++) {
    tacit_event_clear(&plan->once[i]);
  }
  for (size_t i = 0; i < plan->n_each; i++) {
    tacit_event_clear(&plan->each[i]);
  }
  tacit_free(plan->once);
  tacit_free(plan->each);
}

tacit_status_t account_plan_events(const account_plan_t *plan, tacit_event_t **events, size_t *n,
                                   tacit_error_t *err) {
  *n = plan->n_once + plan->n_each;
  *events = tacit_alloc(*n + 1, sizeof **events);
  if (*events == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < *n; i++) {
    bool is_once = i < plan->n_once;
    (*events)[i] = is_once ? plan->once[i] : plan->each[i - plan->n_once];
    uint64_t times = is_once ? 1 : plan->iterations, count = (*events)[i].count;
    (*events)[i].count = times > 0 && count > UINT64_MAX / times ? UINT64_MAX : count * times;
  }
  return TACIT_OK;
}
