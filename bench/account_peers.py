#!/usr/bin/env python3
"""CPU time of accounting beside dp_accounting and prv_accountant (PyPI), where these are installed.

    account_peers.py TACIT [REPEATS]

Every row is one question asked of all; a program's start is not part of the peers' times, but it is of ours (a whole
process). The bracket is what each states: ours and PRV's bounds, dp_accounting's pessimistic and optimistic estimates.
"""
import json
import math
import os
import resource
import subprocess
import sys
import time

TACIT, REPEATS = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
SCHEDULE = [(0.01, math.sqrt(2 / (3 * t ** (-1 / 3) * 0.49)), 10) for t in range(1, 201)]


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ours(words):
    best, answer = math.inf, None
    for _ in range(REPEATS):
        before = children_cpu()
        done = subprocess.run([TACIT, "account", *words, "--json"], capture_output=True, text=True, check=True)
        best = min(best, children_cpu() - before)
        answer = json.loads(done.stdout)
    return best, answer


def timed(call):
    before = time.process_time()
    answer = call()
    return time.process_time() - before, answer


def google_event(events):
    from dp_accounting import dp_event
    return dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma)), count) for q, sigma, count in events])


def google_epsilon(events, delta, interval):
    from dp_accounting.pld import pld_privacy_accountant
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=interval)
    accountant.compose(google_event(events))
    return accountant.get_epsilon(delta)


def google_noise(q, count, epsilon, delta):
    import dp_accounting
    from dp_accounting.pld import pld_privacy_accountant
    return dp_accounting.calibrate_dp_mechanism(
        pld_privacy_accountant.PLDAccountant, lambda sigma: google_event([(q, sigma, count)]), epsilon, delta)


def prv_epsilon(events, delta, error):
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import PoissonSubsampledGaussianMechanism
    mechanisms = [PoissonSubsampledGaussianMechanism(noise_multiplier=sigma, sampling_probability=q)
                  for q, sigma, _ in events]
    counts = [count for _, _, count in events]
    accountant = PRVAccountant(prvs=mechanisms, max_self_compositions=counts, eps_error=error, delta_error=delta / 1000)
    return accountant.compute_epsilon(delta, counts)


def schedule_plan(path):
    with open(path, "w") as plan:
        plan.write("relation: add-remove\nonce:\n")
        for q, sigma, count in SCHEDULE:
            plan.write(f"  - event: poisson-gaussian:q={q!r},sigma={sigma!r}\n    count: {count}\n")


def import_peers():
    for module in ("dp_accounting.pld.pld_privacy_accountant", "prv_accountant"):
        try:
            __import__(module)
        except ImportError:
            pass


def main():
    import_peers()
    plan = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"tacit-bench-{os.getpid()}.yaml")
    schedule_plan(plan)
    poisson = ["--event", "poisson-gaussian:q=0.01,sigma=1", "--count", "10000", "--relation", "add-remove"]
    noise = ["--event", "poisson-gaussian:q=0.01,sigma=1", "--count", "1000", "--relation", "add-remove", "--epsilon",
             "2", "--delta", "1e-6", "--solve", "noise"]
    rows = [
        ("Poisson Gaussian, 10^4 times", poisson + ["--delta", "1e-6"],
         [("dp_accounting 1e-4", lambda: google_epsilon([(0.01, 1.0, 10000)], 1e-6, 1e-4)),
          ("dp_accounting 1e-5", lambda: google_epsilon([(0.01, 1.0, 10000)], 1e-6, 1e-5)),
          ("prv 0.01", lambda: prv_epsilon([(0.01, 1.0, 10000)], 1e-6, 0.01))]),
        ("200 distinct sigmas, 10 times each", ["--plan", plan, "--delta", "1e-6"],
         [("dp_accounting 1e-4", lambda: google_epsilon(SCHEDULE, 1e-6, 1e-4))]),
        ("noise for (2, 1e-6)", noise, [("dp_accounting", lambda: google_noise(0.01, 1000, 2, 1e-6))]),
    ]
    print(f"{'question':36s} {'accountant':20s} {'CPU ms':>10s} {'ratio':>8s}  answer")
    for name, words, peers in rows:
        seconds, answer = ours(words)
        shown = (f"[{answer['epsilon_lower']:.6f}, {answer['epsilon']:.6f}]" if "epsilon_lower" in answer
                 else f"{answer['noise_multiplier']:.6f}")
        print(f"{name:36s} {'tacit':20s} {1e3 * seconds:10.1f} {'':8s}  {shown}")
        for peer, call in peers:
            try:
                theirs, value = timed(call)
            except ImportError as missing:
                print(f"{'':36s} {peer:20s} not installed: {missing.name}")
                continue
            print(f"{'':36s} {peer:20s} {1e3 * theirs:10.1f} {theirs / seconds:8.0f}  {value}", flush=True)
    os.unlink(plan)


if __name__ == "__main__":
    main()
