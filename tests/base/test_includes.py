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
    "formula": {"base", "data"},
    "program": {"base", "data", "formula"},
    "account": {"base"},
    "ledger": {"base", "account"},
    "door": {"base", "random", "data", "account"},
    "curator": {"base", "random", "data", "formula", "account", "door"},
    "sample": {"base", "random", "draws", "formula", "account", "curator"},
    "augment": {"base", "random", "draws", "program"},
    "tables": {"base", "random", "draws", "augment"},
    "noise_aware": {"base", "random", "draws", "releases", "diagnose", "formula", "account", "curator"},
    "diagnose": {"base", "draws"},
    "report": {"base", "draws", "releases", "diagnose", "account", "ledger"},
    "settings": {"base"},
    "request": {"base", "data", "program", "ledger", "settings"},
    "publish": {"base", "random", "data", "formula", "program", "account", "ledger", "curator", "report", "tables", "settings", "request"},
    "infer": {"base", "random", "draws", "program", "account", "augment", "tables", "diagnose", "report", "settings"},
    "predict": {"base", "random", "draws", "data", "formula", "program", "augment", "diagnose", "report"},
    "synthesize": {"base", "random", "draws", "releases", "data", "formula", "account", "noise_aware", "diagnose", "report", "fit", "predict", "tables",
                   "infer"},
    "fit": {"base", "random", "draws", "releases", "data", "formula", "program", "account", "ledger", "curator", "sample", "noise_aware", "diagnose",
            "report", "settings", "request"},
}
HEADERS = {  # of include/tacit; a header may include only these, so that nothing slips in behind it
    "base": set(), "random": {"base"}, "draws": {"base"}, "data": {"base"}, "formula": {"base"},
    "account": {"base"}, "ledger": {"account", "base"}, "curator": {"base"},
    "sample": {"account", "base", "draws", "random"}, "augment": {"base", "draws"},
    "diagnose": {"base", "draws"}, "report": {"account", "base", "diagnose", "draws"},
    "publish": {"base", "data"}, "infer": {"base", "draws"},
    "fit": {"account", "base", "curator", "data", "diagnose", "draws"}, "predict": {"base", "data", "diagnose", "report"}, "synthesize": {"base"},
}
SHARED = {  # and what a module shows the others, which is not installed
    "random/noise": {"base"}, "releases/releases": {"base"}, "data/records": {"base"}, "formula/model": {"base"}, "program/program": {"base", "formula"},
    "door/door": {"base", "random"}, "curator/curator": {"base", "door"}, "augment/augment": {"base", "draws"}, "tables/tables": {"augment", "base", "draws"},
    "noise_aware/noise_aware": {"account", "base", "diagnose", "draws", "formula", "releases"},
    "account/account": set(), "diagnose/diagnose": {"base", "draws"}, "report/report": {"account", "base", "diagnose", "draws", "releases"},
    "settings/settings": {"base"}, "request/request": {"base", "data", "ledger", "program", "settings"},
}
INCLUDE = re.compile(r'#\s*include\s+"(?:tacit/)?([a-z0-9_]+)[./]')
root = pathlib.Path(sys.argv[1])
errors = []
PLACE = {path.name: str(path.relative_to(root)) for path in sorted((root / "src").glob("*/*")) if path.is_dir()}
PLACE |= {path.name: f"src/{path.name}" for path in (root / "src").iterdir() if path.is_dir() and list(path.glob("*.c"))}
# What a task may not include: the boundary from within.
INSIDE = re.compile(r'#\s*include "(' + "|".join(name for name, place in PLACE.items() if place.startswith("src/boundary/")) + ")/")


def check(path, module, allowed):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        named = match and {"model": "formula"}.get(match[1], match[1])  # tacit/model.h is formula's
        if named in ALLOWED and named != module and named not in allowed:
            errors.append(f"{path}:{number}: {module} must not include {named}")
        if PLACE[module].startswith("src/task/") and INSIDE.match(line):
            errors.append(f"{path}:{number}: a task sees no header of the boundary but those in include/tacit")


for module, allowed in ALLOWED.items():
    sources = sorted((root / PLACE.get(module, "missing")).glob("*.[ch]"))
    errors += [] if sources else [f"src/: no folder {module}"]
    for path in sources:
        check(path, module, allowed)
    header = root / "include" / "tacit" / f"{'model' if module == 'formula' else module}.h"
    if header.exists():
        check(header, module, HEADERS[module])
for name, allowed in SHARED.items():
    module = name.partition("/")[0]
    check(root / f"{PLACE[module]}/{name.partition('/')[2]}.h", module, allowed)

# Whatever a task includes, by way of other headers too, the boundary shows it the door's declarations alone, without which it cannot speak of the curator's.
headers = {f"{path.parent.name}/{path.name}": path for path in [*root.glob("src/**/*.h"), *root.glob("include/tacit/*.h")]}


def reached(path, seen):
    for name in re.findall(r'#\s*include\s+"([\w/]+\.h)"', path.read_text()):
        if name in headers and name not in seen:
            seen.add(name)
            reached(headers[name], seen)
    return seen


for path in sorted(root.glob("src/task/**/*.[ch]")):
    errors += [f"{path}: a task reaches {name}" for name in sorted(reached(path, set()))
               if "boundary" in headers[name].parts and name != "door/door.h"]
errors += [f"{path}: tacit/plugin.h is for plug-ins, not for the library" for path in sorted(root.glob("src/**/*.[ch]"))
           if '"tacit/plugin.h"' in path.read_text()]

# docs/architecture.md says the same: a row for every folder that there is, and in it what the folder may include.
page = (root / "docs" / "architecture.md").read_text()
rows = {place: said for place, said in re.findall(r"^\| `(src/[\w/]+)/` \|[^|]*\|([^|]*)\|$", page, re.M)}
errors += [f"docs/architecture.md: no row for {place}/" for place in sorted(set(PLACE.values()) - set(rows))]
errors += [f"docs/architecture.md: {place}/ is no folder" for place in sorted(set(rows) - set(PLACE.values()))]
rows = {pathlib.Path(place).name: said for place, said in rows.items()}
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
