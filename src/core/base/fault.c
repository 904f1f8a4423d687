/* In no library but those of tests: fault.h. */
#include "base/fault.h"

tacit_fault_t tacit_fault_for_tests = TACIT_FAULT_NONE;
