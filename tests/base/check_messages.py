#!/usr/bin/env python3
"""No message is cut: check_messages.py SOURCE_ROOT prints every format that an error is made of, the longest first, and fails where one lacks room.

Room is that of tacit_error_t.message, or of the reason that stands above a line of the user's text. A name counts 60 bytes unless the format says more or less, a number
20, what a format is passed on whole (`%s` alone) nothing: it is a message of its own. R and Python take messages from the same structure.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
STRING, GAP = r'"(?:[^"\\]|\\.)*"', r'(?:\s|PRI\w+)*'
LITERALS = re.compile(f"{STRING}(?:{GAP}{STRING})*")
DIRECTIVE = re.compile(r"%[-+ 0#]*(?:\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|j|t)?([a-zA-Z%])")
WITH_TEXT = ("tacit_caret_error", "tacit_source_error", "tacit_lower_fail", "tacit_mark_refuse", "tacit_regression_fail", "tacit_lexer_fail", "obstruct")
CALL = re.compile(r"\b(tacit_error_set|cli_error|" + "|".join(WITH_TEXT) + r")\(")


def call_at(text, begin):
    """The arguments of the call whose parenthesis opens before `begin`."""
    depth, at = 1, begin
    while depth:
        string = re.compile(STRING + r"|'(?:[^'\\]|\\.)'").match(text, at)
        at = string.end() if string else at + 1
        depth += 0 if string else {"(": 1, ")": -1}.get(text[at - 1], 0)
    return text[begin:at - 1]


def length_of(text):
    def size(found):
        precision, kind = found.groups()
        return "x" * (1 if kind in "%c" else int(precision) if precision and precision != "*" and kind == "s" else 60 if kind == "s" else 20)

    return len(DIRECTIVE.sub(size, re.sub(r"\\.", "x", text)).encode())


found = []
for path in sorted(ROOT.glob("src/**/*.c")):
    source = path.read_text()
    for call in CALL.finditer(source):
        room = int(re.search(r"REASON = (\d+)", (ROOT / "src/model/formula/caret.c").read_text())[1]) if call[1] in WITH_TEXT else int(
            re.search(r"char message\[(\d+)\]", (ROOT / "include/tacit/base.h").read_text())[1])
        for literals in LITERALS.finditer(call_at(source, call.end())):
            text = "".join(part[1:-1] for part in re.findall(STRING, literals[0]))
            if text.strip("%s: \\n.'"):
                found.append((length_of(text), room, f"{path.relative_to(ROOT)}:{source[:call.start()].count(chr(10)) + 1}", text))
# Why a method is not taken, which another message holds: room for the longest reason that programs give.
room = int(re.search(r"TACIT_FIT_OBSTACLE_SIZE = (\d+)", (ROOT / "src/task/fit/fit_internal.h").read_text())[1])
reasons = ["".join(part[1:-1] for part in re.findall(STRING, given[1]))
           for given in re.finditer(r"return\s+(" + LITERALS.pattern + ")", (ROOT / "src/model/program/response.c").read_text())]
aware = (ROOT / "src/task/fit/aware.c").read_text()
for literals in re.finditer(r"snprintf\(text, TACIT_FIT_OBSTACLE_SIZE,\s*(" + LITERALS.pattern + ")", aware):
    text = "".join(part[1:-1] for part in re.findall(STRING, literals[1]))
    text = text.replace("%s", max(reasons, key=len)) if "cannot: %s" in text else text
    found.append((length_of(text), room, f"src/task/fit/aware.c:{aware[:literals.start()].count(chr(10)) + 1}", text))
assert len(reasons) > 3, reasons
for length, room, where, text in sorted(found, reverse=True):
    print(f"{length} of {room - 1}\t{where}\t{text}")
cut = [line for line in found if line[0] >= line[1]]
assert len(found) > 800, len(found)
assert not cut, "".join(f"\n{where}: {length} bytes, room for {room - 1}: {text}" for length, room, where, text in cut)
