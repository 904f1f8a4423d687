#!/usr/bin/env python3
"""check_memory.py TACIT: what stays in memory of data that need not be there. Skips (77) where the system does not tell."""
import os
import pathlib
import sys
import tempfile

tacit = os.path.abspath(sys.argv[1])
N_ROWS, N_BLOCK = 3_000_000, 1000
MATRIX = 4 * 5 * N_ROWS / 2**20  # MiB: intercept, three features, response as float32
failures = []

if sys.platform != "linux":
    sys.exit(77)


def peak(*words):
    """Largest resident size in MiB of a run that succeeds."""
    child = os.posix_spawn(tacit, [tacit, *words], os.environ,
                           file_actions=[(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        failures.append(f"{' '.join(words)}: exit status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss / 1024


def expect(what, found, most):
    print(f"{what}: {found:.0f} MiB, at most {most:.0f}")
    if found > most:
        failures.append(what)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("d.yaml").write_text("columns:\n  y: {type: binary}\n" + "".join(
        f"  x{j}: {{type: numeric, lower: 0, upper: 1000}}\n" for j in range(3)))
    block = "".join(f"{i % 3 % 2},{i},{i * 7 % 1000},{i * 31 % 1000}\n" for i in range(N_BLOCK))
    with open("d.csv", "w") as out:
        out.write("y,x0,x1,x2\n")
        for _ in range(N_ROWS // N_BLOCK):
            out.write(block)
    # columns of 92 MiB
    expect("import", peak("import", "d.csv", "--schema", "d.yaml", "--out", "columns"), 16)
    fit = ["fit", "y ~ x0 + x1 + x2", "--family", "bernoulli", "--data", "columns", "--schema", "d.yaml", "--method", "hmc", "--exposed",
           "--chains", "1", "--draws", "1", "--warmup", "0", "--step-size", "0.01", "--leapfrog", "2"]
    # the matrix, a number a record beside it, and the program
    expect("fit from columns", peak(*fit, "--out", "fit"), 1.3 * MATRIX + 8)
    release = ["release", "--statistic", "clamped-mean", "--column", "x1", "--data", "columns", "--schema", "d.yaml", "--epsilon", "1",
               "--mechanism", "laplace"]
    # a value and a norm of each record
    expect("release from columns", peak(*release, "--out", "release.yaml"), 2.6 * MATRIX / 5 + 8)
    # the system may hold up to 2 MiB on either side of where each of six files is looked at
    expect("fit with records in a file", peak(*fit, "--out", "scratch-fit", "--scratch", "."), 36)
    expect("the same on two threads", peak(*fit, "--out", "threads-fit", "--scratch", ".", "--threads", "2"), 44)
    expect("release with records in a file", peak(*release, "--out", "scratch.yaml", "--scratch", "."), 16)
    expect("the same on two threads", peak(*release, "--out", "threads.yaml", "--scratch", ".", "--threads", "2"), 22)

for failure in failures:
    print("FAILED", failure)
sys.exit(1 if failures else 0)
