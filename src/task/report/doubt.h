/* What is said of a budget from public numbers alone, by whatever spends it. Not installed. */
#ifndef TACIT_DOUBT_H
#define TACIT_DOUBT_H

#include "base/text.h"

/* After what was spent, where no ledger holds it. */
#define TACIT_BUDGET_FORGOTTEN                                                                               \
  "no ledger: nothing remembers this spend; runs on the same data add up (--ledger, tacit ledger init)\n"

/* Does it say little: epsilon above 20, or delta no less than one in the public number of units? */
bool tacit_budget_is_dubious(double epsilon, double delta, double n_units);
/* Append why, a line each; nothing if it is not. */
void tacit_budget_put_doubts(tacit_text_t *to, double epsilon, double delta, double n_units);

#endif
