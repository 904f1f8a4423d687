#!/usr/bin/env python3
"""Check that modules include only what docs/architecture.md allows: the privacy boundary rests on it."""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "random": {"base"},
    "draws": {"base"},
    "releases": {"base"},
    "data": {"base"},
    "model": {"base", "data"},
    "program": {"base", "data", "model"},
    "account": {"base"},
    "ledger": {"base", "account"},
    "door": {"base", "random", "data", "account"},
    "curator": {"base", "random", "data", "model", "account", "door"},
    "sample": {"base", "random", "draws", "model", "account", "curator"},
    "augment": {"base", "random", "draws", "program"},
    "tables": {"base", "random", "draws", "augment"},
    "noise_aware": {"base", "random", "draws", "releases", "diagnose", "model", "account", "curator"},
    "diagnose": {"base", "draws"},
    "report": {"base", "draws", "releases", "diagnose", "account", "ledger"},
    "publish": {"base", "random", "data", "model", "program", "account", "ledger", "curator", "tables"},
    "infer": {"base", "random", "draws", "program", "account", "augment", "tables", "diagnose", "report"},
    "predict": {"base", "random", "draws", "data", "model", "program", "augment", "diagnose", "report"},
    "synthesize": {"base", "random", "draws", "releases", "data", "model", "account", "noise_aware", "diagnose", "report", "fit", "predict", "tables",
                   "infer"},
    "fit": {"base", "random", "draws", "releases", "data", "model", "program", "account", "ledger", "curator", "sample", "noise_aware", "diagnose",
            "report"},
}
HEADERS = {  # public headers; a header may include only these, so that nothing slips in behind it
    "base": set(), "random": {"base"}, "draws": {"base"}, "releases": {"base"}, "data": {"base"}, "model": {"base"},
    "program": {"base", "data", "model"},
    "account": {"base"}, "ledger": {"account", "base"}, "door": {"base"}, "curator": {"base", "door"},
    "sample": {"account", "base", "curator", "draws"},
    "augment": {"base", "draws"}, "tables": {"augment", "base", "draws"},
    "noise_aware": {"account", "base", "diagnose", "draws", "model", "releases"},
    "diagnose": {"base", "draws"}, "report": {"account", "base", "diagnose", "draws", "releases"},
    "publish": {"base", "data"}, "infer": {"base", "draws"},
    "fit": {"account", "base", "curator", "data", "diagnose", "draws"}, "predict": {"base", "data", "diagnose", "report"}, "synthesize": {"base"},
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
    header = root / "include" / "tacit" / f"{module}.h"
    if header.exists():
        check(header, module, HEADERS[module])

# docs/architecture.md says the same: a row for every folder that there is, and in it what the folder may include.
page = (root / "docs" / "architecture.md").read_text()
rows = dict(re.findall(r"^\| `src/(\w+)/` \|[^|]*\|([^|]*)\|$", page, re.M))
folders = {path.name for path in (root / "src").iterdir() if path.is_dir()}
errors += [f"docs/architecture.md: no row for src/{name}/" for name in sorted(folders - set(rows))]
errors += [f"docs/architecture.md: src/{name}/ is no folder" for name in sorted(set(rows) - folders)]
for module, said in rows.items():
    named = set(re.findall(r"\w+", re.sub(r"[;*].*", "", said))) - {"nothing", "of", "ours"}
    expected = set(ALLOWED) - {module} if said.strip() == "all" else ALLOWED.get(module, set())
    if said.strip().startswith("all but"):
        named, expected = set(), expected & (named - {"all", "but", "and"})  # none of those that it must not include
    elif said.strip() == "all":
        named = expected
    if named != expected:
        errors.append(f"docs/architecture.md: src/{module}/ may include {sorted(expected)}, the page says {sorted(named)}")
for error in errors:
    print(error)
print(f"{len(errors)} faults")
sys.exit(1 if errors else 0)
