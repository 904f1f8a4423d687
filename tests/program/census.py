#!/usr/bin/env python3
"""
Which programs of a collection compile: census.py TACIT TABLE [FOLDER]. FOLDER is posteriordb/programs in the folder that TACIT_SHARED
names; without it nothing is compared (exit status 77). TABLE is docs/results/programs/census.md; --write makes it anew.
"""
import os
import pathlib
import re
import subprocess
import sys


def outcome(tacit, path):
    run = subprocess.run([tacit, "model", "check", path], capture_output=True, text=True, timeout=60)
    if run.returncode == 0:
        numbers = re.findall(r"a public number in its place, --set '(.*?)=", run.stderr)
        said = [f"given public numbers for {', '.join(numbers)}"] if numbers else []
        said += ["without generated quantities that look at records or draw random numbers"] if run.stderr.count("note:") > len(numbers) else []
        return ", ".join(["compiles", *said])
    assert run.returncode == 3, (path, run.returncode, run.stderr)
    return run.stderr.split(".stan: ", 1)[1].splitlines()[0]


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    shared = os.environ.get("TACIT_SHARED")
    folder = pathlib.Path(arguments[2]) if len(arguments) > 2 else pathlib.Path(shared or "/nonexistent") / "posteriordb" / "programs"
    if not folder.is_dir():
        sys.exit(77)
    table = pathlib.Path(arguments[1])
    found = {path.stem: outcome(arguments[0], path) for path in sorted(folder.glob("*.stan"))}
    rows = "".join(f"| {name} | {text} |\n" for name, text in found.items())
    n = sum(text.startswith("compiles") for text in found.values())
    text = (f"# Programs of posteriordb\n\nOf {len(found)} programs of posteriordb (snapshot 28f8d3d), unmodified, {n} compile: "
            "`tacit model check PROGRAM`, sizes and public data taken\nas given. The others are refused with the reason that stands here. "
            "`tests/program/census.py` compares.\n\n| program | outcome |\n| --- | --- |\n" + rows)
    if "--write" in sys.argv:
        table.write_text(text)
    elif table.read_text() != text:
        sys.exit(f"{table} differs; what was found:\n{text}")
    print(f"{n} of {len(found)} compile")


main()
