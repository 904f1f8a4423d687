#!/usr/bin/env python3
"""Posteriors of small populations known by noisy tables against sums over all their counts, and what such files may say.

    check_tables.py TACIT

Effects are drawn from the prior, weighted by the exact likelihood of what was published: sums over all tables of counts. A run is right if the means of shares and
counts are within 6 standard errors of both; errors planted in what the run is told (noise half as wide, a total forgotten) are further off.
"""
import itertools
import math
import operator
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TACIT = os.path.abspath(sys.argv[1])
os.chdir(tempfile.mkdtemp())
CELLS = [(a, b) for a in range(2) for b in range(2)]
FACTORS = "factors: {a: [x, y], b: [u, v]}\n"


def run(*words, status=0):
    done = subprocess.run([TACIT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stdout + done.stderr


def tables(n, allowed):
    """All counts of n records in the cells that are allowed."""
    if len(allowed) == 1:
        yield {allowed[0]: n}
        return
    for k in range(n + 1):
        for rest in tables(n - k, allowed[1:]):
            yield {allowed[0]: k, **rest}


def margin(counts, columns):
    sums = {}
    for cell, k in counts.items():
        key = tuple(cell[j] for j in columns)
        sums[key] = sums.get(key, 0) + k
    return [sums.get(key, 0) for key in itertools.product(*([0, 1] for _ in columns))]


def log_noise(kind, scale, off):
    if kind == "none":
        return 0 if off == 0 else -math.inf
    return -abs(off) / scale if kind in ("laplace", "geometric") else -0.5 * (off / scale) ** 2


def likelihoods(published, sizes, allowed):
    """Tables of one area with the weight of what was published of it; without those that no distribution makes likely."""
    found = []
    for n in sizes:
        for counts in tables(n, allowed):
            value = math.lgamma(n + 1) - sum(math.lgamma(k + 1) for k in counts.values())
            for columns, kind, scale, values in published:
                value += sum(log_noise(kind, scale, y - s) for y, s in zip(values, margin(counts, columns)))
            found.append((counts, value, value + sum(k * math.log(k / n) for k in counts.values() if k > 0)))
    best = max(likeliest for _, _, likeliest in found)
    return [(counts, value) for counts, value, likeliest in found if likeliest > best - 12]


def truth(published, sizes, allowed=CELLS, n_draws=800, seed=1):
    """Mean share and mean count of each cell, with standard errors."""
    rng = random.Random(seed)
    found = [(tuple(counts[c] for c in allowed), value) for counts, value in likelihoods(published, sizes, allowed)]
    rows = []
    for _ in range(n_draws):
        t = [rng.gauss(0, 1) for _ in range(3)]
        load = [a * t[0] + b * t[1] + a * b * t[2] for a, b in allowed]
        all_of = math.log(sum(map(math.exp, load)))
        log_p = [x - all_of for x in load]
        weight, count = 0, [0] * len(allowed)
        for counts, value in found:
            w = math.exp(value + sum(map(operator.mul, counts, log_p)))
            weight += w
            for i, k in enumerate(counts):
                count[i] += w * k
        rows.append((weight, [math.exp(x) for x in log_p] + [k / weight for k in count]))
    total = sum(w for w, _ in rows)
    means = [sum(w * r[i] for w, r in rows) / total for i in range(2 * len(allowed))]
    errors = [math.sqrt(sum((w * (r[i] - means[i])) ** 2 for w, r in rows)) / total for i in range(len(means))]
    keys = [(kind, c) for kind in ("share", "count") for c in allowed]
    return dict(zip(keys, means)), dict(zip(keys, errors))


def told(name, text, *words):
    pathlib.Path(name + ".yaml").write_text(text)
    pathlib.Path("m.yaml").write_text("records: table\neffects: normal(0, 1)\n")
    said = run("infer", "m.yaml", "--statistic", name + ".yaml", "--chains", 2, "--warmup", 400, "--draws", 2000, "--seed", 3, "--out", name, *words)
    lines = (line.split() for line in said.splitlines())
    return {w[0]: (float(w[1]), float(w[6])) for w in lines if len(w) == 10 and w[0][:5] in ("share", "count")}


def distance(found, expected):
    means, errors = expected
    worst = 0
    for (kind, (a, b)), mean in means.items():
        key = f"{kind}[a={'xy'[a]}:b={'uv'[b]}]"
        if key in found:
            worst = max(worst, abs(found[key][0] - mean) / math.hypot(max(found[key][1], 1e-6), errors[kind, (a, b)]))
    return worst


def write(published, rest):
    names = "ab"
    lines = "".join(f"  - {{columns: [{', '.join(names[j] for j in columns)}], value: {values}, mechanism: {kind}"
                    + (f", scale: {scale}" if kind != "none" else "") + "}\n" for columns, kind, scale, values in published)
    return "statistic: margins\n" + FACTORS + "margins:\n" + lines + rest


BOTH, A, B, ALL = (0, 1), (0,), (1,), ()
CASES = {
    "geometric": ([(BOTH, "geometric", 1.5, [4, -1, 2, 3]), (A, "geometric", 1, [2, 5])], "n: 7\n", [7], CELLS),
    "laplace": ([(BOTH, "laplace", 2, [3.4, 0.2, -1.1, 4.9])], "n: 6\n", [6], CELLS),
    "discrete-gaussian": ([(BOTH, "discrete-gaussian", 2, [1, 6, 0, 2])], "n: 8\n", [8], CELLS),
    "total": ([(BOTH, "geometric", 2, [4, 1, 2, 0]), (ALL, "geometric", 1, [9])], "", range(1, 26), CELLS),
    "absent": ([(BOTH, "laplace", 1, [3.2, 1.5, 0.1, 2.2])], "", range(1, 26), CELLS),
    "zeros": ([(BOTH, "geometric", 1.5, [3, 2, 4, 0])], "n: 7\nzeros: [{a: y, b: v}]\n", [7], CELLS[:3]),
    "invariant": ([(A, "none", 0, [3, 4]), (BOTH, "laplace", 2, [4.1, 0.3, 1.2, 1.9])], "", [7], CELLS),
}
for name, (published, rest, sizes, allowed) in CASES.items():
    expected = truth(published, sizes, allowed)
    found = told(name, write(published, rest))
    assert len(found) >= 6, found
    z = distance(found, expected)
    print(f"{name:20} {z:.2f} standard errors")
    assert z < 6, (name, z, found, expected)
wrong = told("planted", write([(BOTH, "geometric", 0.3, [4, -1, 2, 3])], "n: 7\n"))
z = distance(wrong, truth(CASES["geometric"][0], [7]))
print(f"planted              {z:.1f} standard errors")
assert z > 8, z

# Two tracts and the county that they make up: files of their own.
for name, records, values in (("north", "north", [5, 2, 1, 2]), ("south", "south", [1, 4, 3, 6]), ("county", "[north, south]", [7, 6, 4, 9])):
    pathlib.Path(name + ".yaml").write_text(write([(BOTH, "geometric", 0.5 if name == "county" else 3, values)], f"records: {records}\n"))
said = run("infer", "--statistic", "north.yaml", "--statistic", "south.yaml", "--statistic", "county.yaml", "--chains", 2, "--warmup", 300, "--draws", 800,
    "--seed", 1, "--out", "areas")
counts = {line.split()[0] + line.split()[1]: float(line.split()[2]) for line in said.splitlines() if line.startswith("count[")}
both = counts["count[north,a=x:b=u]"] + counts["count[south,a=x:b=u]"]
assert abs(both - 7) < 1, (both, counts)
