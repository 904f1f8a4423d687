#!/usr/bin/env python3
"""Kill processes that spend from one ledger at random instants (SIGKILL), then compare it with what they released.

    kill_test.py TACIT WORKER [--kills N] [--fit] [--seed S]

Several run at once. Afterwards every release record must have its spend in the ledger with at least what was
released, the total must be within the budget, and `tacit ledger verify` must pass. Prints a count of each outcome.
With --fit the processes are `tacit fit --ledger` on a small data set, and the record is the folder of results.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("tacit", type=os.path.abspath)
parser.add_argument("worker", type=os.path.abspath)
parser.add_argument("--kills", type=int, default=40)
parser.add_argument("--fit", action="store_true")
parser.add_argument("--seed", type=int, default=None)
arguments = parser.parse_args()
seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 31)
draw = random.Random(seed)
N_PROCESSES = 4
outcomes = collections.Counter()


def tacit(*words, expect=0):
    done = subprocess.run([arguments.tacit, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == expect, (words, done.returncode, done.stderr)
    return done.stdout


class Process:
    """One spender; its name is the purpose that the ledger records."""

    def __init__(self, ledger, number):
        self.ledger, self.name, self.was_killed = ledger, f"process-{number}", False
        self.records = f"records-{number}"
        words = [arguments.worker, ledger, self.name, self.records]
        if arguments.fit:
            words = [arguments.tacit, "fit", "y ~ x", "--family", "bernoulli", "--data", "tiny.csv", "--schema",
                     "tiny.yaml", "--method", "dp-penalty", "--epsilon", "2", "--delta", "1e-6", "--chains", "1",
                     "--noise-ratio", "60", "--init", "0", "--quiet", "--yes", "--ledger", ledger, "--purpose", self.name, "--out", self.records]
        self.log = open(f"log-{number}", "w+")
        self.child = subprocess.Popen(words, stdout=self.log, stderr=self.log)

    def kill(self):
        self.was_killed = self.child.poll() is None
        self.child.kill()
        self.child.wait()

    def released(self):
        """What left the process: spend and number of releases of each record."""
        if arguments.fit:
            path = pathlib.Path(self.records, "privacy.json")
            if not path.exists():
                return []
            statement = json.loads(path.read_text())
            return [(statement["ledger"]["spend"], sum(event["count"] for event in statement["events"]))]
        if not os.path.exists(self.records):
            return []
        lines = open(self.records).read().split("\n")
        return [tuple(map(int, line.split())) for line in lines[:-1]]


def how_it_ended(process, spends, records):
    if not process.was_killed:
        return {0: "ended by itself", 4: "refused by the ledger"}[process.child.returncode]
    if not spends:
        return "killed before its first reservation was on disk"
    if spends[-1]["status"] == "settled":
        return "killed after a settlement"
    is_released = any(spend == spends[-1]["id"] for spend, _ in records)
    return f"killed after {'the release, before its settlement' if is_released else 'a reservation, before a record'}"


def check(ledger, processes):
    tacit("ledger", "verify", ledger)
    state = json.loads(tacit("ledger", "export", ledger, "--json"))
    assert state["rho_spent"] <= state["rho"] and state["epsilon_spent"] <= state["epsilon"], state
    spends = {spend["id"]: spend for spend in state["spends"]}
    counted = sum(event["count"] for spend in spends.values() for event in spend["events"])
    released = 0
    for process in processes:
        process.log.seek(0)
        log = process.log.read()
        if process.child.returncode not in (0, 4, -9):
            raise AssertionError(f"{process.name} failed with {process.child.returncode}: {log}")
        assert "warning: the ledger" not in log, log
        process.log.close()
        own = [spend for spend in state["spends"] if spend["purpose"] == process.name]
        records = process.released()
        for number, count in records:
            spend = spends[number]  # a release without a spend ends the test here
            assert spend["purpose"] == process.name
            assert count <= sum(event["count"] for event in spend["events"]), (spend, count)
            released += count
        for spend in own:
            assert spend["status"] == "reserved" or spend["id"] in [number for number, _ in records] or arguments.fit
        outcomes[how_it_ended(process, own, records)] += 1
    assert released <= counted
    outcomes["spends in ledgers"] += len(spends)
    outcomes["... of which reserved for good"] += sum(spend["status"] == "reserved" for spend in spends.values())
    outcomes["release records, each with its spend"] += sum(len(process.released()) for process in processes)


def run_ledger(number, kills_left):
    """Start, kill and replace processes on one ledger until it is spent or enough were killed."""
    ledger = f"{number}.ledger"
    tacit("ledger", "init", ledger, "--data-id", "tiny", "--epsilon", "9", "--delta", "1e-6")
    processes, running, kills = [], [], 0
    while kills < kills_left:
        while len(running) < N_PROCESSES:
            running.append(Process(ledger, f"{number}-{len(processes)}"))
            processes.append(running[-1])
        time.sleep(draw.random() ** 2 * (0.05 if arguments.fit else 0.04))
        victim = running.pop(draw.randrange(len(running)))
        victim.kill()
        kills += victim.was_killed
        ended = [process for process in running if process.child.poll() is not None]
        running = [process for process in running if process not in ended]
        if any(process.child.returncode == 4 for process in [victim, *ended]):
            break
    for process in running:
        process.child.wait()
    check(ledger, processes)
    return kills


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("tiny.csv").write_text("y,x\n" + "".join(f"{i % 3 % 2},{i % 7 / 7}\n" for i in range(300)))
        pathlib.Path("tiny.yaml").write_text(
            "columns:\n  y: {type: binary}\n  x: {type: numeric, lower: 0, upper: 1}\n")
        kills = n_ledgers = 0
        while kills < arguments.kills:
            kills += run_ledger(n_ledgers, arguments.kills - kills)
            n_ledgers += 1
        os.chdir("/")
    print(f"{kills} kills on {n_ledgers} ledgers, seed {seed}")
    for name, count in outcomes.items():
        print(f"{count:6d} {name}")
    sys.exit(0)


main()
