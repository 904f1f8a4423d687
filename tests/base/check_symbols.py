#!/usr/bin/env python3
"""check_symbols.py LIBRARY SOURCE [--write]: what the library exports is what include/tacit declares, and what the symbols file lists.

A symbol that is new must be listed, with the version that brings it; one that is gone breaks programs that were linked before: docs/releasing.md.
--write adds those that are new, at the version of meson.build.
"""
import pathlib
import re
import subprocess
import sys

library, source = sys.argv[1], pathlib.Path(sys.argv[2])
listed_at = source / "packaging/debian/libtacit0.symbols"


def declared():
    names = set()
    for header in (source / "include/tacit").glob("*.h"):
        text = re.sub(r"/\*.*?\*/|^ *#.*?(?<!\\)$", "", header.read_text(), flags=re.S | re.M)
        names |= set(re.findall(r"TACIT_API\b[^;{]*?\b(tacit_\w+)\s*\(", text))
    return names


def exported():
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines}


def say(names, what):
    for name in sorted(names):
        print(f"{name}: {what}")
    return len(names)


def main():
    version = re.search(r"version: '([^']*)'", (source / "meson.build").read_text()).group(1)
    listed = dict(re.findall(r"^ (\w+)@Base (\S+)$", listed_at.read_text() if listed_at.exists() else "", re.M))
    has, says = exported(), declared()
    if "--write" in sys.argv:
        listed |= {name: version for name in has & says if name not in listed}
        listed_at.write_text("libtacit.so.0 libtacit0 #MINVER#\n" + "".join(f" {name}@Base {listed[name]}\n" for name in sorted(listed)))
    n = say(has - says, "exported, but declared in no header of include/tacit") + say(says - has, "declared, but not exported")
    n += say(has - listed.keys(), f"new: list it in {listed_at.name} (check_symbols.py LIBRARY SOURCE --write)")
    n += say(listed.keys() - has, f"gone, and {listed_at.name} has it: a change of the ABI, docs/releasing.md")
    print(f"{len(has)} symbols exported, {n} wrong")
    sys.exit(1 if n or len(has) < 100 else 0)


main()
