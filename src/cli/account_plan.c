/*
 * Plans for `tacit account --plan`: which releases a run makes once and which in every iteration.
 */
#include <math.h>
#include <string.h>

#include "base/yaml_file.h"
#include "cli/account.h"

enum { max_plan_bytes = 1 << 20 };

static tacit_status_t read_whole(tacit_yaml_t *yaml, const yaml_node_t *node, const char *key, uint64_t *count) {
  double value;
  if (node->type != YAML_SCALAR_NODE || !tacit_number_parse(tacit_yaml_scalar(node), strlen(tacit_yaml_scalar(node)), &value) ||
      !(value >= 1 && value <= 1e18) || value > floor(value)) {
    return tacit_yaml_fault(yaml, node, "%s must be a whole number from 1 to 1e18", key);
  }
  *count = (uint64_t)value;
  return TACIT_OK;
}

tacit_status_t account_plan_append(tacit_event_t **events, size_t *n, const tacit_event_t *event, tacit_error_t *err) {
  tacit_event_t *grown = tacit_realloc(*events, *n + 1, sizeof **events);
  if (grown == NULL) {
    return tacit_error_memory(err);
  }
  grown[(*n)++] = *event;
  *events = grown;
  return TACIT_OK;
}

static tacit_status_t read_key(tacit_yaml_t *yaml, const yaml_node_t *key, const yaml_node_t *value,
                               tacit_event_t *event, bool *has_event) {
  tacit_error_t why;
  if (key->type != YAML_SCALAR_NODE || value->type != YAML_SCALAR_NODE) {
    return tacit_yaml_fault(yaml, key, "expected `event: SPEC`, `count: N` or `label: TEXT`");
  }
  if (strcmp(tacit_yaml_scalar(key), "count") == 0) {
    return read_whole(yaml, value, "count", &event->count);
  }
  if (strcmp(tacit_yaml_scalar(key), "label") == 0) {
    if (strlen(tacit_yaml_scalar(value)) >= sizeof event->label) {
      return tacit_yaml_fault(yaml, value, "a label has at most %zu bytes", sizeof event->label - 1);
    }
    memcpy(event->label, tacit_yaml_scalar(value), strlen(tacit_yaml_scalar(value)) + 1);
    return TACIT_OK;
  }
  if (strcmp(tacit_yaml_scalar(key), "event") != 0 || *has_event) {
    return tacit_yaml_fault(yaml, key, "%s '%s': expected event, count, label",
                 *has_event ? "a second key" : "an event has no key", tacit_yaml_scalar(key));
  }
  tacit_event_t parsed;
  *has_event = true;
  if (tacit_event_parse(&parsed, tacit_yaml_scalar(value), &why) != TACIT_OK) {
    return tacit_yaml_fault(yaml, value, "%s", why.message);
  }
  parsed.count = event->count;
  memcpy(parsed.label, event->label, sizeof parsed.label);
  *event = parsed;
  return TACIT_OK;
}

static tacit_status_t read_event(tacit_yaml_t *yaml, const yaml_node_t *node, tacit_event_t **events, size_t *n) {
  tacit_event_t event = {.count = 1};
  bool has_event = false;
  if (node->type != YAML_MAPPING_NODE) {
    return tacit_yaml_fault(yaml, node, "expected `event: SPEC` and, if not 1, `count: N`");
  }
  tacit_status_t status = TACIT_OK;
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; status == TACIT_OK && pair < node->data.mapping.pairs.top;
       pair++) {
    status = read_key(yaml, tacit_yaml_node(yaml, pair->key),
                      tacit_yaml_node(yaml, pair->value), &event, &has_event);
  }
  if (status == TACIT_OK && !has_event) {
    status = tacit_yaml_fault(yaml, node, "an event needs `event: SPEC`, as in `event: gaussian:sigma=20`");
  }
  if (status == TACIT_OK) {
    status = account_plan_append(events, n, &event, yaml->err);
  }
  if (status != TACIT_OK) {
    tacit_event_clear(&event);
  }
  return status;
}

static tacit_status_t read_events(tacit_yaml_t *yaml, const yaml_node_t *node, tacit_event_t **events, size_t *n) {
  if (node->type != YAML_SEQUENCE_NODE) {
    return tacit_yaml_fault(yaml, node, "expected a list of events, `- event: SPEC`");
  }
  tacit_status_t status = TACIT_OK;
  for (yaml_node_item_t *item = node->data.sequence.items.start;
       status == TACIT_OK && item < node->data.sequence.items.top; item++) {
    status = read_event(yaml, tacit_yaml_node(yaml, *item), events, n);
  }
  return status;
}

static tacit_status_t read_relation(tacit_yaml_t *yaml, const yaml_node_t *node, account_plan_t *plan) {
  if (node->type != YAML_SCALAR_NODE || !tacit_relation_parse(tacit_yaml_scalar(node), &plan->options.relation)) {
    return tacit_yaml_fault(yaml, node, "relation must be substitute or add-remove");
  }
  plan->has_relation = true;
  return TACIT_OK;
}

static tacit_status_t read_top(tacit_yaml_t *yaml, const yaml_node_t *key, const yaml_node_t *value,
                               account_plan_t *plan) {
  const char *name = key->type == YAML_SCALAR_NODE ? tacit_yaml_scalar(key) : "";
  if (strcmp(name, "once") == 0) {
    return read_events(yaml, value, &plan->once, &plan->n_once);
  }
  if (strcmp(name, "each_iteration") == 0) {
    return read_events(yaml, value, &plan->each, &plan->n_each);
  }
  if (strcmp(name, "iterations") == 0) {
    return read_whole(yaml, value, name, &plan->iterations);
  }
  if (strcmp(name, "relation") == 0) {
    return read_relation(yaml, value, plan);
  }
  return tacit_yaml_fault(yaml, key, "a plan has no key '%s': expected relation, iterations, once, each_iteration", name);
}

static tacit_status_t read_plan(tacit_yaml_t *yaml, account_plan_t *plan) {
  const yaml_node_t *root = yaml_document_get_root_node(&yaml->document);
  if (root == NULL || root->type != YAML_MAPPING_NODE) {
    return tacit_error_set(yaml->err, TACIT_ERR_SYNTAX, yaml->name,
                           "%s:1:1: expected a plan: `each_iteration:` and a list of events", yaml->name);
  }
  tacit_status_t status = TACIT_OK;
  for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; status == TACIT_OK && pair < root->data.mapping.pairs.top;
       pair++) {
    status = read_top(yaml, tacit_yaml_node(yaml, pair->key),
                      tacit_yaml_node(yaml, pair->value), plan);
  }
  if (status == TACIT_OK && plan->n_once + plan->n_each == 0) {
    status = tacit_yaml_fault(yaml, root, "the plan has no events: give once or each_iteration");
  }
  return status;
}

tacit_status_t account_plan_read(account_plan_t *plan, const char *path, tacit_error_t *err) {
  char *bytes;
  size_t n;
  tacit_status_t status = tacit_file_read(path, max_plan_bytes, &bytes, &n, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_yaml_t yaml = {.name = path, .err = err};
  status = tacit_yaml_load(&yaml.document, bytes, n, path, err);
  yaml.is_open = status == TACIT_OK;
  status = status == TACIT_OK ? read_plan(&yaml, plan) : status;
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

tacit_status_t account_plan_events(const account_plan_t *plan, tacit_event_t **events, size_t *n, tacit_error_t *err) {
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
