#!/usr/bin/env python3
"""check_faults.py SOURCE FAULTY FILE...: what is installed cannot be told to be wrong on purpose.

The errors that tests plant (src/core/base/fault.h) are in FAULTY, a library that only tests link, and in none of FILE..., what is installed; no header that is
installed speaks of tests.
"""
import pathlib
import subprocess
import sys

SYMBOL = "tacit_fault_for_tests"
source, faulty, *installed = sys.argv[1:]


def has_faults(name):
    listed = subprocess.run(["nm", "--undefined-only", name], capture_output=True, text=True, check=True).stdout
    listed += subprocess.run(["nm", "--defined-only", name], capture_output=True, text=True, check=True).stdout
    return SYMBOL in listed


wrong = [f"{header}: has a field or a function for tests" for header in sorted(pathlib.Path(source, "include/tacit").glob("*.h"))
         if "for_tests" in header.read_text()]
wrong += [f"{name}: has the errors that tests plant" for name in installed if has_faults(name)]
if not has_faults(faulty):
    wrong.append(f"{faulty}: lacks the errors that tests plant, so this check sees nothing")
print(*wrong, f"{len(installed)} files, {len(wrong)} wrong", sep="\n")
sys.exit(1 if wrong or not installed else 0)
