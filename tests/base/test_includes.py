#!/usr/bin/env python3
"""Check that modules include only what docs/architecture.md allows: the privacy boundary rests on it."""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "random": {"base"},
    "draws": {"base"},
    "data": {"base"},
    "model": {"base", "data"},
    "account": {"base"},
    "ledger": {"base", "account"},
    "curator": {"base", "random", "data", "model", "account"},
    "sample": {"base", "random", "draws", "model", "account", "curator"},
    "augment": {"base", "random", "draws"},
    "noise_aware": {"base", "random", "draws", "model", "account", "curator"},
    "diagnose": {"base", "draws"},
    "report": {"base", "draws", "diagnose", "account"},
}
HEADERS = {  # public headers; a header may include only these, so that nothing slips in behind it
    "base": set(), "random": {"base"}, "draws": {"base"}, "data": {"base"}, "model": {"base"},
    "account": {"base"}, "ledger": {"account", "base"}, "curator": {"base"}, "sample": {"account", "base", "curator", "draws"},
    "augment": {"base", "draws"}, "noise_aware": {"account", "base", "draws", "model"},
    "diagnose": {"base", "draws"}, "report": {"account", "base", "diagnose", "draws"},
}
INCLUDE = re.compile(r'#\s*include\s+"(?:tacit/)?([a-z0-9_]+)[./]')
root = pathlib.Path(sys.argv[1])
errors = []


def check(path, module, allowed):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match and match[1] in ALLOWED and match[1] != module and match[1] not in allowed:
            errors.append(f"{path}:{number}: {module} must not include {match[1]}")


for module, allowed in ALLOWED.items():
    for path in sorted((root / "src" / module).glob("*.[ch]")):
        check(path, module, allowed)
    check(root / "include" / "tacit" / f"{module}.h", module, HEADERS[module])
for error in errors:
    print(error)
print(f"{len(errors)} forbidden includes")
sys.exit(1 if errors else 0)
