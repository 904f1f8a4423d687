#!/usr/bin/env python3
"""Check that the table at the end of docs/theory.md names exactly the experiments that the program has."""
import pathlib
import re
import subprocess
import sys

program, theory = sys.argv[1:]
listed = {line.split()[0] for line in subprocess.run([program, "--list"], check=True, capture_output=True,
                                                     text=True).stdout.splitlines()}
table = pathlib.Path(theory).read_text().split("**11.2", 1)[1]
named = set(re.findall(r"\| `([a-z0-9-]+)` \|$", table, re.MULTILINE))
for name in sorted(listed ^ named):
    print(f"{name}: {'not in the table of docs/theory.md' if name in listed else 'no such experiment'}")
print(f"{len(listed)} experiments, {len(named)} named")
sys.exit(1 if listed != named or not listed else 0)
