#!/usr/bin/env python3
"""bindings.py BUILD: what reading 10^6 records costs from each source, beside the library from memory (BUILD/bench/bench_frame).

Five columns of doubles, four of them features, so that a packed record has 6 float32 (the intercept, features, response); the fit is exposed and of one draw, so
that reading, packing and norms are nearly all of it. CPU seconds are the least of nine fits. Memory is the largest resident size during the first fit above
that just before it, when frame and package are there (a fit of ten records came before), as a multiple of the packed records (24 MB). Each source in a process of its own, in
which the package must be importable; R is found by Rscript, and skipped where it has no package tacit.
"""
import pathlib
import subprocess
import sys
import tempfile
import time

N, N_TIMES, PACKED = 10**6, 9, 6 * 4 * 10**6 / 2**20
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
cat(min(found[1, ]), found[2, 1])
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


def measure(source):
    """Seconds, MiB, in this process."""
    import tacit
    given = {"schema": SCHEMA, "family": "bernoulli", "method": "hmc", "exposed": True, "chains": 1, "draws": 1, "warmup": 0, "step_size": 0.01, "leapfrog": 2,
             "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        tacit.fit(FORMULA, frame_of(source, folder, 10), **given)  # what is loaded but once
        data, seconds = frame_of(source, folder, N), []
        for k in range(N_TIMES):
            pathlib.Path("/proc/self/clear_refs").write_text("5")
            before, begin = memory("VmRSS:"), time.process_time()
            tacit.fit(FORMULA, data, **given)
            seconds.append(time.process_time() - begin)
            peak = memory("VmHWM:") - before if k == 0 else peak
    return min(seconds), peak


def main(build):
    least, peak = map(float, subprocess.run([f"{build}/bench/bench_frame"], check=True, capture_output=True, text=True).stdout.split())
    print(f"| source | CPU, s | times C | memory above the frame, MiB | times the records |\n| --- | --- | --- | --- | --- |\n"
          f"| C, from memory | {least:.3f} | 1 | {peak:.1f} | {peak / PACKED:.2f} |", flush=True)
    for source in ("arrays of numpy", "pandas", "pandas without pyarrow", "polars", "pyarrow", "DuckDB, in memory", "DuckDB over Parquet", "R, data.frame"):
        command = ["Rscript", "-e", FRAME_OF_R] if source.startswith("R,") else [sys.executable, __file__, "--source", source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"| {source} | not measured: {(done.stderr.splitlines() or ['?'])[-1]} | | | |", flush=True)
            continue
        seconds, above = map(float, done.stdout.split()[-2:])
        print(f"| {source} | {seconds:.3f} | {seconds / least:.2f} | {above:.1f} | {above / PACKED:.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--source":
        print(*measure(sys.argv[2]))
    else:
        main(sys.argv[1])
