/* The command line of experiments that fill a folder with tables: [--quick] [--only NAME] [--list] --out DIR.
 */
#ifndef TACIT_EXPERIMENTS_COMMAND_H
#define TACIT_EXPERIMENTS_COMMAND_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct command {
  const char *program, *names; /* for messages: what --only takes */
  bool is_quick, is_list;
  const char *only, *out;
} command_t;

static inline int command_usage(const command_t *command, const char *what, const char *argument) {
  fprintf(stderr, "%s: %s%s; usage: %s [--quick] [--only %s] [--list] --out DIR\n", command->program, what,
          argument, command->program, command->names);
  return 2;
}

/* 0, and the folder is there unless a list is asked for; else the exit status. */
static inline int command_read(command_t *command, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      command->is_quick = true;
    } else if (strcmp(argv[i], "--list") == 0) {
      command->is_list = true;
    } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      command->only = argv[++i];
    } else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
      command->out = argv[++i];
    } else {
      return command_usage(command, "unknown or incomplete argument ", argv[i]);
    }
  }
  if (command->is_list) {
    return 0;
  }
  if (command->out == NULL) {
    return command_usage(command, "--out DIR is missing", "");
  }
  if (mkdir(command->out, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "%s: cannot make the folder %s: %s\n", command->program, command->out, strerror(errno));
    return 1;
  }
  return 0;
}

#endif
