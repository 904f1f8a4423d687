#!/usr/bin/env python3
"""Check that the door rests on what is proved: test_proofs.py ROOT BUILD.

Every theorem of proofs/ is named at a line of C that relies on it, `proofs/FILE.v: NAME, NAME`; every name there is
a theorem of that file; every release, every decision and whatever else computes a sensitivity names one; nothing in
proofs/ is taken for granted; and every test that proofs/README.md names is there, and is
one that finds a planted error (tests/planted/errors.py). That the theorems hold is checked by
Coq (.ci/long proofs)."""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "planted"))
from errors import ERRORS  # noqa: E402

CITATION = re.compile(r"\bproofs/(\w+\.v): (\w+(?:, \w+)*)")
COMMENT = r"(?:(?:/\*|\s\*)[^\n]*\n)*"
FUNCTION = re.compile(rf"^{COMMENT}[a-z]\w*[^\n;={{}}]*?(\w+)\([^;{{}}]*\) \{{.*?(?:^\}}| \}})$", re.M | re.S)
# what is charged, and how large noise is
RELIES = re.compile(r"sensitivity = |tacit_door_factor\(door\)|->scales\[\w+\] = ")
RELEASES = re.compile(r"\b(tacit_door_(?:release|decide)_?\w*|tacit_\w+_(?:event|sensitivity))\(")
TAKEN_FOR_GRANTED = re.compile(r"\b(Admitted|admit|Axioms?|Parameters?|Conjectures?|Hypothes[ie]s|Variables?|Context|give_up|Abort|"
                               r"bypass_check)\b")


def without_comments(text):
    """Of Coq: comments nest."""
    depth, out = 0, []
    for part in re.split(r"(\(\*|\*\))", text):
        depth += {"(*": 1, "*)": -1}.get(part, 0)
        out.append(part if depth == 0 and part != "*)" else "")
    return "".join(out)


def faults_of(proofs, project, page, code, header, tests, tried):
    """proofs, code: texts by the file's name; project: files in the order in which Coq checks them; tests: names; tried:
    of those that find planted errors."""
    faults = []
    proofs = {name: without_comments(text) for name, text in proofs.items()}
    theorems = {(name, theorem) for name, text in proofs.items()
                for theorem in re.findall(r"^Theorem (\w+)", text, re.M)}
    steps = [step for text in proofs.values() for step in re.findall(r"^Lemma (\w+)", text, re.M)]
    cited = {(name, theorem) for text in code.values() for name, names in CITATION.findall(text)
             for theorem in names.split(", ")}
    faults += [f"proofs/{name} is not in proofs/_CoqProject" for name in proofs if name not in project]
    faults += [f"proofs/{name}: {word} takes something for granted"
               for name, text in proofs.items() for word in TAKEN_FOR_GRANTED.findall(text)]
    faults += [f"proofs/{name}: the theorem {theorem} is named nowhere in src/boundary/door"
               for name, theorem in sorted(theorems - cited)]
    faults += [f"src/boundary/door names {theorem}, which is no theorem of proofs/{name}"
               for name, theorem in sorted(cited - theorems)]
    faults += [f"proofs: nothing uses the lemma {step}" for step in steps
               if len(re.findall(rf"\b{step}\b", "".join(proofs.values()))) < 2]
    faults += [f"proofs/README.md does not have {name}" for name in proofs if name not in page]
    functions = [(name, found.group(1), found.group(0))
                 for name, text in code.items() for found in FUNCTION.finditer(text)]
    silent = {function for _, function, text in functions if not CITATION.search(text)}
    faults += [f"src/boundary/door/{name}: {function} computes a sensitivity or what is charged, and names no theorem"
               for name, function, text in functions if function in silent and RELIES.search(text)]
    releases = set(RELEASES.findall(header))
    faults += [f"{release} of door.h is not defined in src/boundary/door, or names no theorem"
               for release in sorted(releases) if release in silent or release not in {function for _, function, _ in functions}]
    named = set(re.findall(r"`([a-z_]+-[a-z_-]+)`", page))
    faults += [f"proofs/README.md names {name}, and no test is called so" for name in sorted(named - tests)]
    faults += [f"proofs/README.md names {name}, of which tests/planted/errors.py does not say what error it finds"
               for name in sorted((named & tests) - tried)]
    if min(len(theorems), len(functions), len(releases), len(named)) < 5:
        faults.append("little was found to check: are the patterns of this test still right?")
    return faults


def planted(sources):
    """Sources with one thing amiss each; all must be found."""
    def change(where, name, old, new):
        texts = sources[where]
        changed = {**texts, name: texts[name].replace(old, new, 1)} if name else texts.replace(old, new, 1)
        assert changed != texts, (where, name, old)
        return {**sources, where: changed}

    yield change("proofs", "Shapes.v", "Qed.", "Admitted.")
    yield change("proofs", "Sums.v", "Theorem lanes_fit", "Axiom a : 0 = 1.\nTheorem lanes_fit")
    yield change("proofs", "Shapes.v", "Theorem box_substitute", "Theorem box_substitution")
    yield change("proofs", "Shapes.v", "Theorem box_substitute", "Theorem another : 1 = 1.\nTheorem box_substitute")
    yield change("proofs", "Shapes.v", "Lemma in_box", "Lemma unused : 1 = 1.\nLemma in_box")
    yield change("code", "shapes.c", "ball_substitute, ", "ball_replace, ")
    yield change("code", "door.c", "proofs/Sums.v", "proofs.v")
    code = sources["code"]
    yield {**sources, "code": {**code, "release.c": CITATION.sub("", code["release.c"])}}
    yield {**sources, "header": sources["header"] + "\nint tacit_door_release_all(void);\n"}
    yield {**sources, "page": sources["page"] + "\n`door-nothing`\n"}
    yield {**sources, "page": sources["page"] + "\n`base-headers`\n"}


def main():
    root, build = (pathlib.Path(word) for word in sys.argv[1:3])
    tests = {test["name"] for test in json.loads((build / "meson-info/intro-tests.json").read_text())}
    sources = {
        "proofs": {path.name: path.read_text() for path in sorted((root / "proofs").glob("*.v"))},
        "project": (root / "proofs/_CoqProject").read_text().split(),
        "page": (root / "proofs/README.md").read_text(),
        "code": {path.name: path.read_text() for path in sorted((root / "src/boundary/door").glob("*.[ch]"))},
        "header": (root / "src/boundary/door/door.h").read_text(),
        "tests": tests,
        "tried": {test for error in ERRORS for test in error[4]},
    }
    faults = faults_of(**sources)
    unseen = 0
    if not faults:
        for changed in planted(sources):
            unseen += not faults_of(**changed)
    for fault in faults:
        print(f"FAILED {fault}")
    print(f"{len(faults)} failures, {unseen} planted ones not found")
    sys.exit(1 if faults or unseen else 0)


main()
