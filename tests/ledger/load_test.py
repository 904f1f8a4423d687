#!/usr/bin/env python3
"""Many fits on one ledger, several at a time: none is refused, lost or left reserved.

    load_test.py TACIT [--fits N] [--together K]

Prints how long one took, at worst. Waiting for SQLite's own lock in naps of up to 100 ms, and giving up on a settlement that found the
ledger locked, lost 21 fits of 1000, 16 at a time, and left 22 reserved.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("tacit", type=os.path.abspath)
parser.add_argument("--fits", type=int, default=48)
parser.add_argument("--together", type=int, default=16)
arguments = parser.parse_args()


def tacit(*words):
    return subprocess.run([arguments.tacit, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fit(number):
    start = time.monotonic()
    done = tacit("fit", "y ~ x", "--family", "bernoulli", "--data", "tiny.csv", "--schema", "tiny.yaml", "--method", "dp-penalty",
                 "--epsilon", "0.1", "--delta", "1e-6", "--chains", "1", "--draws", "20", "--warmup", "5", "--init", "0", "--threads", "1", "--quiet",
                 "--yes", "--ledger", "load.ledger", "--purpose", f"fit {number}", "--out", f"out-{number}")
    return done, time.monotonic() - start


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("tiny.csv").write_text("y,x\n" + "".join(f"{i % 3 % 2},{i % 7 / 7}\n" for i in range(50)))
    pathlib.Path("tiny.yaml").write_text("columns:\n  y: {type: binary}\n  x: {type: numeric, lower: 0, upper: 1}\n")
    assert tacit("ledger", "init", "load.ledger", "--data-id", "tiny", "--epsilon", "1e4", "--delta", "1e-6").returncode == 0
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(arguments.together) as pool:
        results = list(pool.map(fit, range(arguments.fits)))
    wall = time.monotonic() - start
    failed = [done.stderr for done, _ in results if done.returncode != 0 or "warning: the ledger" in done.stderr]
    assert not failed, (len(failed), failed[:3])
    verified = tacit("ledger", "verify", "load.ledger")
    assert verified.returncode == 0, verified.stderr
    spends = json.loads(tacit("ledger", "export", "load.ledger").stdout)["spends"]
    left = [spend["id"] for spend in spends if spend["status"] != "settled"]
    assert sorted(spend["purpose"] for spend in spends) == sorted(f"fit {i}" for i in range(arguments.fits)) and not left, (len(spends), left)
    for number, (done, _) in enumerate(results):
        spend = json.load(open(f"out-{number}/privacy.json"))["ledger"]["spend"]
        assert spends[spend - 1]["purpose"] == f"fit {number}"
    os.chdir("/")
print(f"{arguments.fits} fits, {arguments.together} at a time: 0 lost, 0 left reserved, in {wall:.0f} s; the longest took "
      f"{max(seconds for _, seconds in results):.1f} s")
