#!/usr/bin/env python3
"""whole_fit.py TACIT [PROFILED]: what a user waits for: a private logistic regression from the source to the answer, beside statsmodels and scikit-learn.

Features uniform in [-1, 1], epsilon 1, the default method. CPU and clock seconds, the least of three fits, sources and peers by turns; of the command line start to end,
files of the report included. The package must be importable. TACIT is the program; PROFILED the same built with -Dc_args=-fno-omit-frame-pointer, by which
perf tells where the time of each stage goes: shares of the samples below the function that a stage is.
"""
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

N_TIMES = 3
SIZES = ((10**4, 10), (10**6, 10), (10**6, 20))
STAGES = {"reading and packing": "tacit_fit_read_source", "passes over the records": "tacit_door_release_units", "modes between releases": "tacit_aware_run_mode",
          "chains": "tacit_aware_walk", "diagnostics": "tacit_diagnose_fit", "report": "tacit_fit_write", "in all threads": "tacit_pool_run"}


def frame_of(n, d):
    import numpy
    import pandas
    draw = numpy.random.default_rng(1)
    x = draw.uniform(-1, 1, (n, d))
    y = draw.uniform(size=n) < 1 / (1 + numpy.exp(-0.3 - x @ numpy.linspace(-1, 1, d)))
    return pandas.DataFrame({"y": y.astype(int), **{f"x{j}": x[:, j] for j in range(d)}})


def schema_of(d):
    return {"columns": {"y": {"type": "binary"}, **{f"x{j}": {"type": "numeric", "lower": -1, "upper": 1} for j in range(d)}}}


def formula_of(d):
    return "y ~ " + " + ".join(f"x{j}" for j in range(d))


def by_package(data, d, threads):
    import tacit
    tacit.fit(formula_of(d), data=data, schema=schema_of(d), family="bernoulli", epsilon=1, delta=1e-8, threads=threads, progress=False)


def by_statsmodels(frame, d):
    from statsmodels.api import Logit, add_constant
    Logit(frame["y"], add_constant(frame[[f"x{j}" for j in range(d)]])).fit(disp=0).summary()


def by_sklearn(frame, d):
    from sklearn.linear_model import LogisticRegression
    LogisticRegression(C=1e10).fit(frame[[f"x{j}" for j in range(d)]], frame["y"])


def command(program, data, d, out, threads=1):
    return [program, "fit", formula_of(d), "--data", str(data), "--schema", str(pathlib.Path(out).parent / f"{d}.yaml"), "--family", "bernoulli", "--epsilon", "1",
            "--delta", "1e-8", "--threads", str(threads), "--out", str(out)]


def by_program(program, data, d, threads):
    with tempfile.TemporaryDirectory(dir=pathlib.Path(data).parent) as folder:
        pathlib.Path(folder, f"{d}.yaml").write_text(json.dumps(schema_of(d)))
        subprocess.run(command(program, data, d, pathlib.Path(folder, "out"), threads), check=True, capture_output=True)


def timed(call):
    def cpu():
        return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    before, begin = cpu(), time.perf_counter()
    call()
    return cpu() - before, time.perf_counter() - begin


def files_of(program, folder, frame, n, d):
    """CSV, Parquet and an import of the same rows."""
    csv, parquet, imported, schema = (folder / f"{n}x{d}{end}" for end in (".csv", ".parquet", "", ".yaml"))
    frame.to_csv(csv, index=False, float_format="%.6f")
    frame.to_parquet(parquet)
    schema.write_text(json.dumps(schema_of(d)))
    subprocess.run([program, "import", str(csv), "--schema", str(schema), "--out", str(imported)], check=True, capture_output=True)
    return csv, parquet, imported


def rows_of(program, folder, n, d):
    frame = frame_of(n, d)
    csv, parquet, imported = files_of(program, folder, frame, n, d)
    calls = {"pandas": lambda: by_package(frame, d, 1), "pandas, two threads": lambda: by_package(frame, d, 2), "Parquet": lambda: by_package(str(parquet), d, 1),
             "CSV, command line": lambda: by_program(program, csv, d, 1), "import, command line": lambda: by_program(program, imported, d, 1),
             "import, command line, two threads": lambda: by_program(program, imported, d, 2),
             "statsmodels, Logit": lambda: by_statsmodels(frame, d), "scikit-learn, LogisticRegression": lambda: by_sklearn(frame, d)}
    found = {}
    for _ in range(N_TIMES):
        for name, call in calls.items():
            cpu, clock = timed(call)
            least = found.get(name, (cpu, clock))
            found[name] = min(cpu, least[0]), min(clock, least[1])
    return found


def stages(profiled, folder, n, d):
    """Share of each stage of a fit from an import, or None where there is no perf."""
    if shutil.which("perf") is None:
        return None
    record, out = folder / "perf.data", folder / "out"
    (folder / f"{d}.yaml").write_text(json.dumps(schema_of(d)))
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "--call-graph", "fp", "-o", str(record),
                    *command(profiled, folder / f"{n}x{d}", d, out)], check=True, capture_output=True)
    shutil.rmtree(out)
    report = subprocess.run(["perf", "report", "-i", str(record), "--children", "-g", "none", "--stdio"], check=True, capture_output=True, text=True).stdout
    shares = {match[2]: float(match[1]) for match in re.finditer(r"^ +([0-9.]+)% .*\[\.\] (\w+)", report, re.MULTILINE)}
    return {stage: shares.get(symbol, 0) for stage, symbol in STAGES.items()}


def main(program, profiled=None):
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print(f"{model}\n\n| n x d | from | CPU, s | clock, s |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for n, d in SIZES:
            for source, (cpu, clock) in rows_of(program, folder, n, d).items():
                print(f"| {n} x {d} | {source} | {cpu:.3f} | {clock:.3f} |", flush=True)
        for n, d in SIZES if profiled else ():
            found = stages(profiled, folder, n, d)
            print(f"{n} x {d}: " + ("no perf" if found is None else ", ".join(f"{stage} {share:.1f} %" for stage, share in found.items())), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
