#!/usr/bin/env python3
"""Does the quick set of tests catch the planted errors of errors.py? planted.py SCRATCH [--only TEXT] [--all] [--page FILE]; planted.py --places

--places: is there one place in the sources for each, so that it can be put in? Nothing is built.

Each error is put into a copy of the sources in SCRATCH, built there, and the tests named beside it run up to the first that fails; --all: where none
does, those named as they run among all tests, then the whole quick set. Before that all tests named must pass without an error. What was found is kept in SCRATCH/results.json, so that a run that was
stopped goes on, as long as sources and tests stay as they are; --page writes it as a page. One core is used. Exit status 1: an error was not caught.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from errors import ERRORS

PAGES = ("docs/", "bench/", "experiments/", "proofs/", ".ci/", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
HERE = pathlib.Path(__file__).resolve().parents[2]


def sh(*args, **kwargs):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)


def prepare(scratch):
    """A copy of what git knows of; files that did not change keep their times. Is it, but for pages, what results.json speaks of?"""
    source, build, is_same = scratch / "source", scratch / "build", True
    files = sh("git", "ls-files", cwd=HERE).stdout.split("\n")
    for name in filter(None, files):
        old, new = HERE / name, source / name
        if old.is_file() and (not new.exists() or new.read_bytes() != old.read_bytes()):
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(old.read_bytes())
            is_same = is_same and name.startswith(PAGES)
            new.chmod(old.stat().st_mode)
    if not (build / "build.ninja").exists():
        made = sh("meson", "setup", str(build), str(source), env=os.environ | {"CC": os.environ.get("CC", "cc")})
        assert made.returncode == 0, made.stdout
    return is_same


def first_failure(build, tests):
    """The test that fails first, 'the compiler', or None."""
    ran = sh("meson", "test", "-C", str(build), "--maxfail", "1", "--num-processes", "1", "--no-suite", "places", *tests)  # those see the text of any error
    if ran.returncode == 0:
        return None
    failed = re.search(r"^ *\d+/\d+ (?:\S+ / )?(\S+) .*(?:FAIL|TIMEOUT|ERROR)", ran.stdout, re.M)
    return failed.group(1) if failed else "the compiler" if "FAILED:" in ran.stdout else "?: " + ran.stdout[-300:]


def find(source, error):
    """The file, its text, and the one place of it where the error goes in. Blanks and breaks of lines do not matter: the formatter moves them."""
    promise, name, before, *_ = error
    path = source / name
    text = path.read_text()
    at = [i for i, letter in enumerate(text) if not letter.isspace()]
    dense, wanted = "".join(text[i] for i in at), "".join(before.split())
    if dense.count(wanted) != 1:
        sys.exit(f"planted: {promise}: {name} has {dense.count(wanted)} places, not one: {before}")
    first = dense.index(wanted)
    return path, text, slice(at[first], at[first + len(wanted) - 1] + 1)


def plant(scratch, error, whole):
    after, tests = error[3:]
    path, text, place = find(scratch / "source", error)
    start = time.time()
    build, full = scratch / "build", ["--setup", "full", *tests]
    try:
        path.write_text(text[:place.start] + after.strip() + text[place.stop:])
        quick = first_failure(build, tests)
        at_length = first_failure(build, full) if whole and not quick else None
        quick = quick or (first_failure(build, []) if whole and not at_length else None)
        caught = quick or at_length
    finally:
        path.write_text(text)
    if caught and not quick and first_failure(build, full):
        sys.exit(f"planted: {caught} fails without an error")
    return {"caught": caught, "quick": quick is not None, "whole": whole, "seconds": round(time.time() - start)}


def page(results):
    tried = [error for error in ERRORS if error[0] in results]
    n = sum(results[error[0]]["quick"] for error in tried)
    lines = ["# Planted errors", "", f"One a kind of promise, put in one at a time (`tests/planted/errors.py`); the quick set of tests, `make test`, "
             f"catches **{n} of {len(tried)}**. The test named is the first that failed among those that are to see it.", "",
             "    tests/planted/planted.py SCRATCH --all --page docs/results/planted.md", "", "| promise | where | caught by |", "| --- | --- | --- |"]
    for promise, name, *_ in tried:
        found = results[promise]
        missed = "**nothing**" if found["whole"] else "**none of the tests named**"
        by = f"`{found['caught']}`{'' if found['quick'] else ', which is not in the quick set'}" if found["caught"] else missed
        lines.append(f"| {promise} | `{name}` | {by} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scratch", type=pathlib.Path, nargs="?")
    parser.add_argument("--places", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--page", type=pathlib.Path)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("planted: stopped"))  # the error is taken out again
    if args.places:
        sys.exit(any(find(HERE, error) is None for error in ERRORS))
    if args.scratch is None:
        parser.error("a folder to build in is needed")
    args.scratch = args.scratch.resolve()
    kept = args.scratch / "results.json"
    results = json.loads(kept.read_text()) if prepare(args.scratch) and kept.exists() else {}
    chosen = [error for error in ERRORS if args.only in error[0]]
    if not results:
        fails = first_failure(args.scratch / "build", sorted({test for error in chosen for test in error[4]}))
        if fails:
            sys.exit(f"planted: {fails} fails without an error")
    for error in chosen:
        known = results.get(error[0])
        is_done = known is not None and (known["caught"] is not None or known["whole"] or not args.all)
        if is_done and not args.only:
            continue
        results[error[0]] = plant(args.scratch, error, args.all)
        kept.write_text(json.dumps(results, indent=1))
        print(f"{results[error[0]]['caught'] or 'NOT CAUGHT'}: {error[0]} ({results[error[0]]['seconds']} s)", flush=True)
    if args.page:
        args.page.write_text(page(results))
    missed = [error[0] for error in ERRORS if error[0] in results and results[error[0]]["caught"] is None]
    print(f"{len(results) - len(missed)} of {len(results)} caught" + "".join(f"\nmissed: {promise}" for promise in missed))
    sys.exit(1 if missed else 0)


main()
