#!/usr/bin/env python3
"""Coverage of 90 % intervals for shares and counts of tables with geometric, Laplace and discrete Gaussian noise.

    published.py TACIT [--runs 100] [--out DIR]

Each run draws a distribution of two tables (3 x 2 and 2 x 2 levels, which share a column) from the prior, N records from it and noise. One table in two has a published number of
records; of the others it is inferred. The planted error says that the noise has a third of its scale.
"""
import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile

CELLS = [(a, b, c) for a in range(3) for b in range(2) for c in range(2)]
TABLES = {"ab": (0, 1), "bc": (1, 2)}
LEVELS = {"a": "xyz", "b": "uv", "c": "pq"}
EFFECTS = ["a1", "a2", "b1", "c1", "a1b1", "a2b1", "b1c1"]


def has(effect, cell):
    return all(cell["abc".index(effect[i])] == int(effect[i + 1]) for i in range(0, len(effect), 2))


def two_sided(rng, scale):
    """Geometric: weights e^(-|k| / scale)."""
    fail = math.exp(-1 / scale)
    return sum(sign * int(math.log(1 - rng.random()) / math.log(fail)) for sign in (1, -1))


NOISE = {"geometric": two_sided, "laplace": lambda rng, scale: rng.expovariate(1 / scale) - rng.expovariate(1 / scale),
         "discrete-gaussian": lambda rng, scale: round(rng.gauss(0, scale))}  # of scale 3: within 1e-9 of the discrete one


def margin(values, columns):
    sums = {}
    for cell, x in values.items():
        key = tuple(cell[j] for j in columns)
        sums[key] = sums.get(key, 0) + x
    return dict(sorted(sums.items()))


def truth(rng, n):
    theta = {e: rng.gauss(0, 1) for e in EFFECTS}
    weight = {cell: math.exp(sum(t for e, t in theta.items() if has(e, cell))) for cell in CELLS}
    total = sum(weight.values())
    counts = dict.fromkeys(CELLS, 0)
    for cell in rng.choices(CELLS, [weight[c] for c in CELLS], k=n):
        counts[cell] += 1
    return {c: w / total for c, w in weight.items()}, counts


def one(tacit, n, seed, told=1.0):
    """Hits and intervals of shares, and of counts."""
    rng = random.Random(f"{n} {seed}")
    shares, counts = truth(rng, n)
    kinds = rng.sample(sorted(NOISE), 2)
    lines = []
    for (name, columns), kind in zip(TABLES.items(), kinds):
        values = [x + NOISE[kind](rng, 3) for x in margin(counts, columns).values()]
        lines.append(f"  - {{columns: [{', '.join(name)}], mechanism: {kind}, scale: {3 * told}, value: {values}}}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "m.yaml").write_text("records: table\neffects: normal(0, 1)\n")
        (path / "s.yaml").write_text("statistic: margins\nfactors: {a: [x, y, z], b: [u, v], c: [p, q]}\nmargins:\n" + "".join(lines)
                                     + (f"n: {n}\n" if seed % 2 == 0 else ""))
        done = subprocess.run([tacit, "infer", "m.yaml", "--statistic", "s.yaml", "--chains", "2", "--draws", "1000", "--seed", str(seed), "--out", "post"],
                              cwd=folder, capture_output=True, text=True, check=False)
        said = done.stdout
    found = {"share": [0, 0], "count": [0, 0], "flagged": int("problem" in done.stdout + done.stderr or done.returncode != 0)}
    lines = {line.split()[0]: line.split() for line in said.splitlines() if line.startswith(("share[", "count["))}
    for kind, of in (("share", shares), ("count", counts)):
        for name, columns in TABLES.items():
            for key, x in margin(of, columns).items():
                words = lines.get(f"{kind}[{':'.join(f'{c}={LEVELS[c][level]}' for c, level in zip(name, key))}]")
                if words is not None and words[3] != "NA":
                    found[kind][0] += float(words[3]) <= x <= float(words[5])
                    found[kind][1] += 1
    return found


def main():
    take = argparse.ArgumentParser(description=__doc__)
    take.add_argument("tacit")
    take.add_argument("--runs", type=int, default=100)
    take.add_argument("--out", default=None)
    words = take.parse_args()
    rows = []
    for n, told in ((60, 1), (300, 1), (4000, 1), (300, 1 / 3)):
        runs = [one(os.path.abspath(words.tacit), n, seed, told) for seed in range(words.runs)]
        total = {kind: [sum(r[kind][i] for r in runs) for i in range(2)] for kind in ("share", "count")}
        rows.append({"n": n, "told": told, "runs": len(runs), "flagged": sum(r["flagged"] for r in runs), **total})
        print(f"N {n:5} told {told:.2f}: shares {total['share'][0] / max(1, total['share'][1]):.3f} of {total['share'][1]}, counts "
              f"{total['count'][0] / max(1, total['count'][1]):.3f} of {total['count'][1]}; flagged {rows[-1]['flagged']} of {len(runs)}", flush=True)
    if words.out is not None:
        pathlib.Path(words.out, "published.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
