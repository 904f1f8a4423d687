#!/usr/bin/env python3
"""bindings.py BUILD: what reading 10^6 records costs from each source, beside the library from memory (BUILD/bench/bench_frame).

Five columns of doubles, four of them features, so that a packed record has 6 float32 (the intercept, features, response); the fit is exposed and of one draw, so
that reading, packing and norms are nearly all of it. CPU seconds are the least of nine fits. Memory is the largest resident size during the first fit above
that just before it, when frame and package are there (a fit of ten records came before), as a multiple of the packed records (24 MB); and during the second, when allocators have
what they keep for good. Each source in a process of its own, in
which the package must be importable; R is found by Rscript, and skipped where it has no package tacit. A relation of DuckDB is a query that runs while it is read: "read alone" is
that query read to its end by pyarrow, nothing done with it. Other programs on the machine slow down whatever runs at that time: all rows are measured in three rounds, and the
least is told.
"""
import pathlib
import subprocess
import sys
import tempfile
import time

N, N_TIMES, N_ROUNDS, PACKED = 10**6, 9, 3, 6 * 4 * 10**6 / 2**20
ALONE = ", read alone"
SOURCES = ("C, from memory", "arrays of numpy", "pandas", "pandas without pyarrow", "polars", "pyarrow", "DuckDB, in memory", "DuckDB, in memory"
           + ALONE, "DuckDB over Parquet",
           "DuckDB over Parquet" + ALONE, "R, data.frame")
NAMES = ["y", "x0", "x1", "x2", "x3"]
SCHEMA = {"columns": {"y": {"type": "binary"}, **{name: {"type": "numeric", "lower": 0, "upper": 1000} for name in NAMES[1:]}}}
FORMULA = "y ~ x0 + x1 + x2 + x3"
FRAME_OF_R = f"""
library(tacit)
i <- 0:{N - 1}
d <- data.frame(y = as.double(i %% 3 %% 2))
for (j in 1:4) d[[paste0("x", j - 1)]] <- (i * (2 * j + 1) * 31 + j) %% 1000
rm(i)
invisible(gc())
memory <- function(field) as.numeric(gsub("[^0-9]", "", grep(field, readLines("/proc/self/status"), value = TRUE))) / 1024
schema <- list(columns = c(list(y = list(type = "binary")), setNames(rep(list(list(type = "numeric", lower = 0, upper = 1000)), 4), paste0("x", 0:3))))
once <- function(d) tacit({FORMULA}, d, schema, family = binomial(), method = "hmc", exposed = TRUE, chains = 1, draws = 1, warmup = 0, step_size = 0.01, leapfrog = 2)
once(d[1:10, ]) # what is loaded but once
found <- sapply(1:{N_TIMES}, function(k) {{
  writeLines("5", "/proc/self/clear_refs")
  before <- memory("VmRSS")
  seconds <- sum(system.time(once(d), gcFirst = FALSE)[1:2])
  c(seconds, memory("VmHWM") - before)
}})
cat(min(found[1, ]), found[2, 1], found[2, 2])
"""


def columns(n):
    import numpy
    i = numpy.arange(n)
    return {"y": (i % 3 % 2).astype(float), **{f"x{j - 1}": ((i * (2 * j + 1) * 31 + j) % 1000).astype(float) for j in range(1, 5)}}


def frame_of(source, folder, n):
    import importlib
    if source in ("arrays of numpy", "pandas without pyarrow"):
        made = columns(n)
        if source == "pandas without pyarrow":
            import pandas
            sys.modules["pyarrow"] = None
            return pandas.DataFrame(made)
        return made
    if source in ("pandas", "polars"):
        return importlib.import_module(source).DataFrame(columns(n))
    import pyarrow
    rows = pyarrow.table(columns(n))
    if source == "pyarrow":
        return rows
    import duckdb
    duckdb.sql("set threads = 1")
    if source == "DuckDB, in memory":
        duckdb.sql(f"create table t{n} as from rows")
        return duckdb.sql(f"from t{n}")
    path = pathlib.Path(folder) / f"{n}.parquet"
    duckdb.sql("from rows").write_parquet(str(path))
    return duckdb.sql(f"from '{path}'")


def memory(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) / 1024


def read_alone(data):
    for _ in data.select(*NAMES).to_arrow_reader(8192):
        pass


def measure(source):
    """Seconds, MiB in the first fit and in the second, in this process."""
    import tacit
    given = {"schema": SCHEMA, "family": "bernoulli", "method": "hmc", "exposed": True, "chains": 1, "draws": 1, "warmup": 0, "step_size": 0.01,
             "leapfrog": 2,
             "progress": False}
    once = read_alone if source.endswith(ALONE) else lambda data: tacit.fit(FORMULA, data, **given)
    source = source.removesuffix(ALONE)
    with tempfile.TemporaryDirectory() as folder:
        once(frame_of(source, folder, 10))  # what is loaded but once
        data, seconds, peaks = frame_of(source, folder, N), [], []
        for k in range(N_TIMES):
            pathlib.Path("/proc/self/clear_refs").write_text("5")
            before, begin = memory("VmRSS:"), time.process_time()
            once(data)
            seconds.append(time.process_time() - begin)
            peaks.append(memory("VmHWM:") - before)
    return min(seconds), *peaks[:2]


def measured(source, build):
    """Seconds, MiB in the first fit and in the second, or why not; in a process of its own."""
    command = ([f"{build}/bench/bench_frame"] if source.startswith("C,") else ["Rscript", "-e", FRAME_OF_R] if source.startswith("R,")
               else [sys.executable, __file__, "--source", source])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return tuple(map(float, done.stdout.split()[-3:])) if done.returncode == 0 else (done.stderr.splitlines() or ["?"])[-1]


def main(build):
    rounds = [{source: measured(source, build) for source in SOURCES} for _ in range(N_ROUNDS)]
    least = min(found[SOURCES[0]][0] for found in rounds)
    print("| source | CPU, s | times C | memory above the frame, MiB | times the records | second fit |\n| --- | --- | --- | --- | --- | --- |")
    for source in SOURCES:
        found = [of[source] for of in rounds]
        if any(isinstance(one, str) for one in found):
            print(f"| {source} | not measured: {next(one for one in found if isinstance(one, str))} | | | | |")
            continue
        seconds, above, second = min(one[0] for one in found), max(one[1] for one in found), max(one[2] for one in found)
        print(f"| {source} | {seconds:.3f} | {seconds / least:.2f} | {above:.1f} | {above / PACKED:.2f} | {second / PACKED:.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--source":
        print(*measure(sys.argv[2]))
    else:
        main(sys.argv[1])
