#!/usr/bin/env python3
"""Noise-aware regression on the demonstration data: width and honesty of its intervals over repeated private fits.

    experiments/noise_aware_demo.py build/src/cli/tacit [REPEATS [EPSILON ...]]

For every epsilon, over REPEATS fits (default 50) of the same records with fresh noise: the median of the posterior standard
deviation over the non-private one, and the root mean square of (private mean - non-private mean) / sqrt(private variance -
non-private variance), which is 1 if the private posterior knows how far privacy moved it. Part of that shift, the mean, is the
same in all fits: down-weighted rows estimate from the same records a little differently. The data are public; many fits of
private data would each spend their epsilon.
"""
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIT = ["fit", "death ~ age + sex + log(flc)", "--family", "bernoulli", "--data", str(ROOT / "data/flchain/flchain.csv"),
       "--schema", str(ROOT / "data/flchain/flchain.yaml"), "--quiet"]


def fit(tacit, *options):
    """Means, sds and central 90 % intervals by parameter."""
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/fit"
        subprocess.run([tacit, *FIT, "--out", out, *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        summary = json.loads(subprocess.run([tacit, "summary", out, "--json"], check=True, capture_output=True).stdout)
        draws = [row for chain in pathlib.Path(out).glob("draws-*.csv")
                 for row in csv.DictReader(line for line in chain.read_text().splitlines() if not line.startswith("#"))]
    columns = [name for name in draws[0] if name.startswith("b_")]
    return [dict(parameter, draws=[float(row[column]) for row in draws])
            for parameter, column in zip(summary["parameters"], columns)]


def main():
    tacit = sys.argv[1]
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    budgets = sys.argv[3:] or ["0.5", "1", "2", "4", "8"]
    reference = fit(tacit, "--method", "hmc", "--exposed", "--draws", "5000", "--seed", "1")
    print("| epsilon | parameter | median sd / non-private sd | standardised shift: root mean square | mean | sd | non-private draws in the 90 % interval |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for epsilon in budgets:
        fits = [fit(tacit, "--method", "noise-aware", "--epsilon", epsilon, "--delta", "1e-6") for _ in range(repeats)]
        for j, exact in enumerate(reference):
            mine = [f[j] for f in fits]
            shifts = [(f["mean"] - exact["mean"]) / math.sqrt(f["sd"] ** 2 - exact["sd"] ** 2)
                      for f in mine if f["sd"] > exact["sd"]]
            covered = statistics.mean(sum(f["q5"] <= x <= f["q95"] for x in exact["draws"][::20]) / len(exact["draws"][::20])
                                      for f in mine)
            print(f"| {epsilon} | {exact['name']} | {statistics.median(f['sd'] for f in mine) / exact['sd']:.2f} "
                  f"| {math.sqrt(statistics.mean(x * x for x in shifts)):.2f} | {statistics.mean(shifts):.2f} | {statistics.stdev(shifts):.2f} | {covered:.2f} |", flush=True)


if __name__ == "__main__":
    main()
