#!/usr/bin/env python3
"""The exported events, recomputed by the library dp_accounting: its bracket must contain ours, to its own accuracy.

    test_interop.py TACIT

Skips (exit status 77) where dp_accounting is not installed.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    from dp_accounting import dp_event
    from dp_accounting.pld import pld_privacy_accountant
except ImportError:
    print("dp_accounting is not installed: skipped")
    sys.exit(77)

TACIT = os.path.abspath(sys.argv[1])
CASES = [
    ("add-remove", ["--event", "poisson-gaussian:q=0.01,sigma=1", "--count", "1000"]),
    ("add-remove", ["--event", "gaussian:sigma=20", "--count", "100", "--event", "laplace:scale=50", "--count", "3",
                    "--event", "poisson-laplace:q=0.1,scale=2", "--count", "7"]),
    # the library takes a repeated randomised response for a single one: five of them, one by one
    ("substitute", 5 * ["--event", "randomized-response:p=0.5,buckets=4"]),
]


def build(node):
    """An event from the library's own names."""
    arguments = {key: build(value) if isinstance(value, dict) else [build(item) for item in value]
                 if isinstance(value, list) else value
                 for key, value in node.items() if key not in ("module_name", "class_name")}
    assert node["module_name"] == "dp_accounting.dp_event"
    return getattr(dp_event, node["class_name"])(**arguments)


def main():
    failed = 0
    for relation, words in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "events.json")
            done = subprocess.run([TACIT, "account", *words, "--relation", relation, "--delta", "1e-6", "--json",
                                   "--export", path], capture_output=True, text=True, check=True)
            with open(path) as text:
                event = build(json.load(text))
        ours = json.loads(done.stdout)
        neighbours = (pld_privacy_accountant.NeighborRel.REPLACE_ONE if relation == "substitute"
                      else pld_privacy_accountant.NeighborRel.ADD_OR_REMOVE_ONE)
        theirs = pld_privacy_accountant.PLDAccountant(neighbours).compose(event).get_epsilon(1e-6)
        agrees = ours["epsilon_lower"] - 1e-6 <= theirs <= ours["epsilon"] + 2e-3
        failed += not agrees
        print(f"{'ok' if agrees else 'FAILED'}: [{ours['epsilon_lower']:.6f}, {ours['epsilon']:.6f}], dp_accounting {theirs:.6f}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
