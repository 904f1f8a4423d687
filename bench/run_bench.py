#!/usr/bin/env python3
"""Run the benchmark programs given as arguments, print one table, write bench.json into the current folder."""
import argparse
import json
import os
import platform
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tacit", help="the program, for its start")
parser.add_argument("--data", help="a small data file")
parser.add_argument("--schema", help="its schema")
parser.add_argument("--peers", action="append", default=[],
                    help="a script that prints rows of other packages, or nothing; it is given the programs, to run beside them")
parser.add_argument("programs", nargs="+")
options = parser.parse_args()


def first_line(path, key=None):
    try:
        with open(path) as lines:
            for line in lines:
                if key is None or line.startswith(key):
                    return line.split(":", 1)[-1].strip()
    except OSError:
        pass
    return None


def read_caches():
    folder = "/sys/devices/system/cpu/cpu0/cache"
    caches = {}
    for index in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        level, kind, size = (first_line(f"{folder}/{index}/{field}") for field in ("level", "type", "size"))
        if level and kind != "Instruction":
            caches[f"L{level}"] = size
    return caches


def processor():
    """Its name, family and model: a virtual machine's name says little."""
    name = first_line("/proc/cpuinfo", "model name") or platform.processor()
    family, model = first_line("/proc/cpuinfo", "cpu family"), first_line("/proc/cpuinfo", "model\t")
    return f"{name} (family {family}, model {model})" if family else name


def describe_machine():
    version = subprocess.run([options.tacit, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout if options.tacit else ""
    kernels = [line.removeprefix("instruction set ") for line in version.splitlines() if line.startswith("instruction set ")]
    return {"cpu": processor(), "cores": os.cpu_count(), "caches": read_caches(), "memory": first_line("/proc/meminfo", "MemTotal"),
            "kernels": "".join(kernels) or None, "system": f"{platform.system()} {platform.release()}", "load": os.getloadavg()}


def run(command):
    print(f"running {os.path.basename(command[command[0] == sys.executable])}", file=sys.stderr)
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout or "[]")


def text(value, width, digits=4):
    return f"{'' if value is None else f'{value:.{digits}g}':>{width}}"


machine = describe_machine()
rows = []
for program in options.programs:
    is_program = os.path.basename(program) == "bench_program"
    arguments = [options.tacit, options.data, options.schema] if is_program and options.tacit else []
    rows += run([program, *arguments])
for peer in options.peers:
    rows += run([sys.executable, peer, *options.programs])
for row in rows:
    row["met"] = None if row["target"] is None else (row["value"] <= row["target"]) == row["less_is_better"] or \
        row["value"] == row["target"]
print("machine: " + ", ".join(f"{key} {value}" for key, value in machine.items()))
width = max(len(row["name"]) for row in rows)
print(f"{'what':<{width}} {'bytes':>7} {'flops':>7} {'div':>5} {'bound':>10} {'measured':>10} {'ratio':>6} {'target':>9}  unit")
for row in rows:
    mark = "" if row["met"] is None else " met" if row["met"] else " MISSED"
    print(f"{row['name']:<{width}} {text(row['bytes'], 7)} {text(row['flops'], 7)} {text(row['divisions'], 5)} "
          f"{text(row['bound'], 10)} {text(row['value'], 10)} {text(row['ratio'], 6, 3)} {text(row['target'], 9)}  {row['unit']}{mark}")
with open("bench.json", "w") as out:
    json.dump({"machine": machine, "rows": rows}, out, indent=1)
    out.write("\n")
