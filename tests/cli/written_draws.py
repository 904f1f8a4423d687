"""The draws that a fit wrote, and rows of predictions held to them; for tests of what follows from a fit."""
import csv
import glob
import statistics


def draws_of(out):
    return [{k: float(v) for k, v in row.items()} for name in sorted(glob.glob(f"{out}/draws-*.csv"))
            for row in csv.DictReader(line for line in open(name) if line[0] != "#")]


def quantile(values, p):
    values = sorted(values)
    low = int(p * (len(values) - 1))
    return values[low] + (p * (len(values) - 1) - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def agree(row, draws, tolerance=1e-12):
    expected = {"mean": statistics.fmean(draws), "sd": statistics.stdev(draws), "q5": quantile(draws, 0.05), "q50": quantile(draws, 0.5),
                "q95": quantile(draws, 0.95)}
    for key, value in expected.items():
        assert abs(float(row[key]) - value) <= tolerance * max(1, abs(value)), (key, row[key], value)
