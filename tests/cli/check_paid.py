#!/usr/bin/env python3
"""What was paid for can be had: fits whose disk is full at each write, and fits that are killed at random instants.

    check_paid.py TACIT FULL_DISK [--kills N] [--seed S]      FULL_DISK: the library of full_disk.c, or "none"

Afterwards either nothing was charged, or the ledger names a folder, and that holds a whole report, or all releases, of which tacit refit makes one for
nothing; what a fit was stopped in the midst of releasing it keeps (relation substitute, rows).
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("tacit", type=os.path.abspath)
parser.add_argument("full_disk", type=lambda name: name if name == "none" else os.path.abspath(name))
parser.add_argument("--kills", type=int, default=300 if "TACIT_TEST_FULL" in os.environ else 30)
parser.add_argument("--seed", type=int, default=None)
arguments = parser.parse_args()
seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 31)
draw = random.Random(seed)
IS_FULL = "TACIT_TEST_FULL" in os.environ
LEDGER = "l.ledger"
METHODS = {"noise-aware": ["--epsilon", "2"], "dp-penalty": ["--method", "dp-penalty", "--epsilon", "20", "--yes"]}
outcomes = collections.Counter()


def tacit(*words, **options):
    return subprocess.run([arguments.tacit, *map(str, words)], capture_output=True, text=True, timeout=120, **options)


def fit(out, relation="substitute", method="noise-aware", ledger=LEDGER, draws=40):
    more = ["--n-public", "400"] if relation == "add-remove" else []
    more += ["--ledger", ledger] if ledger is not None else []
    return ["fit", "y ~ x", "--family", "bernoulli", "--data", "d.csv", "--schema", f"{relation}.yaml", "--delta", "1e-6", "--chains", "2", "--draws",
            str(draws), "--warmup", "20", "--quiet", *METHODS[method], *more, "--out", str(out)]


def new_ledger(relation="substitute"):
    for end in ("", "-journal", "-wal", "-shm"):  # of a spend that was killed in the middle, too
        pathlib.Path(LEDGER + end).unlink(missing_ok=True)
    assert tacit("ledger", "init", LEDGER, "--data-id", "people", "--epsilon", "1e6", "--delta", "1e-5", "--relation", relation).returncode == 0


def spends():
    return json.loads(tacit("ledger", "export", LEDGER).stdout)["spends"]


def is_charged(spend):
    return spend["status"] == "reserved" or any(event["count"] > 0 for event in spend["events"])


def check_folder(out, n_planned, is_free_of_faults=True):
    """What the folder holds: whole, ended, part or nothing."""
    folder = pathlib.Path(out)
    if not folder.exists() or os.listdir(folder) == []: # killed between making it and its first file: before anything is charged
        return "nothing"
    if not (folder / "unfinished").exists():
        assert tacit("summary", out).returncode in (0, 3) and (folder / "report.html").exists() and (folder / "privacy.txt").exists(), os.listdir(out)
        return "whole"
    said = tacit("summary", out)
    assert said.returncode == 3 and f"tacit refit {out}" in said.stderr, said.stderr
    n = len(json.loads((folder / "releases.json").read_text())["releases"]) if (folder / "releases.json").exists() else 0
    ended = tacit("refit", out)
    if n == n_planned:
        assert ended.returncode == 0 and "nothing was spent" in ended.stdout and not (folder / "unfinished").exists(), ended
        assert tacit("summary", out).returncode in (0, 3) and not [name for name in os.listdir(out) if ".tmp-" in name], os.listdir(out)
        return "ended"
    assert ended.returncode in (1, 3) and len(ended.stderr.strip().splitlines()) == 1, ended
    assert n == 0 or f"after {n} of its releases" in ended.stderr, ended.stderr
    return "part" if n > 0 else "nothing"


def full_disks():
    here = os.getcwd()
    for method in ("noise-aware", "dp-penalty"):
        env = {**os.environ, "LD_PRELOAD": arguments.full_disk, "FULL_DISK_UNDER": f"{here}/under", "FULL_DISK_COUNT": f"{here}/count"}
        out = f"{here}/under/fit"
        os.mkdir("under")
        done = tacit(*fit(out, method=method, ledger=None), env=env)
        n_calls = int(pathlib.Path("count").read_text())
        assert done.returncode == 0 and n_calls > 20, (done, n_calls)
        kept = pathlib.Path(out, "releases.json")
        n_planned = len(json.loads(kept.read_text())["releases"]) if kept.exists() else 0
        assert (n_planned > 4) == (method == "noise-aware"), n_planned
        for how in ("once", "full", "dead"):
            for at in range(1, n_calls + 1, 1 if IS_FULL else 3 if (how, method) == ("full", "noise-aware") else 9):
                shutil.rmtree("under")
                os.mkdir("under")
                new_ledger()
                done = tacit(*fit(out, method=method), env={**env, "FULL_DISK_AT": str(at), "FULL_DISK_HOW": how})
                found, paid = check_folder(out, n_planned), [spend for spend in spends() if is_charged(spend)]
                outcomes[f"{method}, {how}: {found}"] += 1
                what = (method, how, at, found, done.returncode, done.stderr)
                assert len(done.stderr) < 3000 and (done.returncode == 0 or "No space left" in done.stderr), what
                assert (found != "part" or how == "dead") and (found == "whole") >= (done.returncode == 0), what
                if found in ("nothing", "part") and paid: # then it is on the terminal
                    assert "epsilon" in done.stdout or "b_x" in done.stdout or "Intercept" in done.stdout, what
                    assert n_planned == 0 or '"format": "tacit releases"' in done.stdout, what
                    assert n_planned == 0 or how == "dead", what
                if not paid:
                    assert found == "nothing" and os.listdir("under") == [], what
        shutil.rmtree("under")


def one_off_files():
    """A statistic, and a check of a fit, whose file cannot be written: then it is on the terminal."""
    here = os.getcwd()
    os.mkdir("under")
    env = {**os.environ, "LD_PRELOAD": arguments.full_disk, "FULL_DISK_UNDER": f"{here}/under", "FULL_DISK_AT": "1", "FULL_DISK_HOW": "dead"}
    done = tacit("release", "--statistic", "counts", "--column", "y", "--data", "d.csv", "--schema", "substitute.yaml", "--epsilon", "1",
                 "--delta", "1e-6", "--out", f"{here}/under/s.yaml", env=env)
    assert done.returncode == 1 and "No space left" in done.stderr and "cost: epsilon 1" in done.stderr, done
    assert "statistic: counts\n" in done.stdout and "value: [" in done.stdout, done.stdout
    assert tacit(*fit("whole", ledger=None)).returncode == 0
    done = tacit("check", "whole", "--data", "d.csv", "--epsilon", "5", "--delta", "1e-6", "--out", f"{here}/under/c.json", env=env)
    assert done.returncode == 1 and '"format": "tacit check"' in done.stdout, done
    shutil.rmtree("under")


def kills():
    for relation in ("substitute", "add-remove"):
        new_ledger(relation)
        begun = time.time()
        assert tacit(*fit(f"{relation}-0", relation)).returncode == 0
        takes, n_planned = time.time() - begun, len(json.loads(pathlib.Path(f"{relation}-0/releases.json").read_text())["releases"])
        for number in range(1, (arguments.kills + 1) // 2 + 1):
            out = f"{relation}-{number}"
            child = subprocess.Popen([arguments.tacit, *fit(out, relation, draws=draw.choice([40, 1500]))], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0, 1.5 * takes))
            child.kill()
            child.wait()
            found = check_folder(out, n_planned)
            paid = [spend for spend in spends() if is_charged(spend) and os.path.basename(spend["artefact"]) == out]
            outcomes[f"killed, {relation}: {found if paid or found != 'nothing' else 'nothing, and nothing paid'}"] += 1
            assert paid or found == "nothing", (out, found)
            assert not paid or not os.path.exists(out) or os.listdir(out) != [], out
            assert relation == "substitute" or found != "part", (out, found)
        assert tacit("ledger", "verify", LEDGER).returncode == 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        columns = "columns:\n  y: {type: binary}\n  x: {type: numeric, lower: -1, upper: 1}\n"
        pathlib.Path("substitute.yaml").write_text(columns)
        pathlib.Path("add-remove.yaml").write_text("relation: add-remove\n" + columns)
        pathlib.Path("d.csv").write_text("y,x\n" + "".join(f"{int(i * 7 % 31 + i * 13 % 37 > 33)},{i * 7 % 31 / 15.5 - 1:.2f}\n" for i in range(400)))
        try:
            if arguments.full_disk != "none":
                full_disks()
                one_off_files()
            kills()
        finally:
            os.chdir("/")
            for what, n in sorted(outcomes.items()):
                print(f"{n:5}  {what}")
            print("seed", seed)


main()
