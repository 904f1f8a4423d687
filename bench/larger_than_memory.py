#!/usr/bin/env python3
"""Import, fit and release of records larger than memory, beside the disk's own speed.

To be run where memory, the page cache included, is limited to less than the records, as root for instance by
    systemd-run --scope -p MemoryMax=512M bench/larger_than_memory.py build/src/cli/tacit /var/tmp
or, with version 1 of control groups,
    mkdir /sys/fs/cgroup/memory/small; echo 512M > /sys/fs/cgroup/memory/small/memory.limit_in_bytes
    sh -c 'echo $$ > /sys/fs/cgroup/memory/small/cgroup.procs; exec bench/larger_than_memory.py build/src/cli/tacit /var/tmp'
The folder needs 140 bytes of room a row; all of it is free again at the end. Rows are a block of 10^4 random ones, repeated.
"""
import argparse
import os
import pathlib
import random
import signal
import tempfile
import time

N_BLOCK, N_FEATURES = 10_000, 9
FORMULA = "y ~ " + " + ".join(f"x{j}" for j in range(N_FEATURES))


def write_data(n_rows):
    random.seed(1)
    columns = "".join(f"  x{j}: {{type: numeric, lower: 0, upper: 1000}}\n" for j in range(N_FEATURES))
    pathlib.Path("d.yaml").write_text("columns:\n  y: {type: binary}\n" + columns)
    block = "".join(",".join([str(random.randrange(2)), *(str(random.randrange(1000)) for _ in range(N_FEATURES))]) + "\n"
                    for _ in range(N_BLOCK)).encode()
    with open("d.csv", "wb") as out:
        out.write(("y," + ",".join(f"x{j}" for j in range(N_FEATURES)) + "\n").encode())
        for _ in range(n_rows // N_BLOCK):
            out.write(block)


def forget(path):
    """Write the file to the disk, and let it leave the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def read_speed(paths):
    """Bytes a second of reading files from their beginnings to their ends, and nothing else."""
    for path in paths:
        forget(path)
    buffer, n, start = bytearray(1 << 20), 0, time.monotonic()
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while some := file.readinto(buffer):
                n += some
    return n / (time.monotonic() - start)


def control_group():
    """The limit and the most that was used of the memory of our control group, in bytes; None where the system does not tell."""
    for line in open("/proc/self/cgroup"):
        _, kinds, path = line.rstrip("\n").split(":", 2)
        for root, limit, most in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
                                  ("/sys/fs/cgroup", "memory.max", "memory.peak")):
            folder = pathlib.Path(root + path)
            if kinds in ("memory", "") and (folder / limit).exists() and (folder / most).exists():
                return (folder / limit).read_text().strip(), (folder / most).read_text().strip()
    return None, None


def run(what, tacit, *words):
    for path in ["d.csv", *pathlib.Path("columns").glob("*.f64")]:
        if os.path.exists(path):
            forget(path)
    start = time.monotonic()
    child = os.posix_spawn(tacit, [tacit, *words], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    seconds, cpu = time.monotonic() - start, usage.ru_utime + usage.ru_stime
    end = "" if status == 0 else f"  ENDED BY {signal.Signals(status).name}" if os.WIFSIGNALED(status) else f"  EXIT STATUS {status >> 8}"
    print(f"{what:<58} {seconds:7.1f} s {cpu:7.1f} s {usage.ru_maxrss / 1024:7.0f} MiB {usage.ru_inblock * 512e-9:7.2f} GB "
          f"{usage.ru_oublock * 512e-9:7.2f} GB {usage.ru_inblock * 512e-6 / seconds:6.0f} MB/s{end}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tacit", type=os.path.abspath)
    parser.add_argument("folder", help="on the disk to be measured")
    parser.add_argument("--rows", type=int, default=60_000_000)
    parser.add_argument("--threads", default="1")
    options = parser.parse_args()
    more = ["--data", "columns", "--schema", "d.yaml", "--threads", options.threads]
    fit = ["fit", FORMULA, "--family", "bernoulli", "--quiet", *more]
    hmc = [*fit, "--method", "hmc", "--exposed", "--chains", "1", "--draws", "2", "--warmup", "0", "--step-size", "1e-4", "--leapfrog", "5"]
    private = [*fit, "--epsilon", "1", "--delta", "1e-9"]
    release = ["release", *more, "--epsilon", "1"]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.chdir(folder)
        write_data(options.rows)
        print(f"{options.rows:.0e} rows of {N_FEATURES + 1} columns; memory limited to {control_group()[0]} bytes\n"
              f"{'':<58}   {'clock':>7} {'processor':>9} {'resident':>8} {'read':>10} {'written':>10}")
        run("import", options.tacit, "import", "d.csv", "--schema", "d.yaml", "--out", "columns")
        os.unlink("d.csv")
        columns = sorted(pathlib.Path("columns").glob("*.f64"))
        print(f"reading the columns and nothing else: {read_speed(columns) * 1e-6:.0f} MB/s", flush=True)
        run("fit, noise-aware, --scratch", options.tacit, *private, "--scratch", ".", "--out", "fit")
        run("fit, hmc, 2 draws of 5 steps, --scratch", options.tacit, *hmc, "--scratch", ".", "--out", "hmc")
        run("release of a clamped mean, --scratch", options.tacit, *release, "--statistic", "clamped-mean", "--column", "x1",
            "--mechanism", "laplace", "--scratch", ".", "--out", "mean.yaml")
        run("release of ten columns' moments, --scratch", options.tacit, *release[:1], FORMULA, *release[1:], "--statistic", "moments",
            "--delta", "1e-9", "--scratch", ".", "--out", "moments.yaml")
        print(f"reading the columns and nothing else: {read_speed(columns) * 1e-6:.0f} MB/s")
        run("release of ten columns' moments, records in memory", options.tacit, *release[:1], FORMULA, *release[1:], "--statistic",
            "moments", "--delta", "1e-9", "--out", "in-memory.yaml")
        print(f"most memory of all of it, page cache included: {control_group()[1]} bytes")
        os.chdir("/")


main()
