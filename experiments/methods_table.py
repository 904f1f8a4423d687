#!/usr/bin/env python3
"""methods_table.py CSV...: one Markdown table of what the program `methods` wrote for each target, its best step size each."""
import csv
import sys

best, targets = {}, []
for path in sys.argv[1:]:
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            name = (row["method"], row["acceptance rule"].strip('"'))
            value = float(row["effective draws"])
            if row["target"] not in targets:
                targets.append(row["target"])
            if value == value:
                cell = best.setdefault(name, {}).get(row["target"])
                if cell is None or value > cell[0]:
                    best[name][row["target"]] = (value, row["iterations"])
print("| method | acceptance | " + " | ".join(targets) + " |\n| --- | --- |" + " --- |" * len(targets))
for name, cells in sorted(best.items(), key=lambda item: item[0]):
    shown = [f"{cells[t][0]:.1f} ({cells[t][1]})" if t in cells else "-" for t in targets]
    print(f"| `{name[0]}` | {name[1]} | " + " | ".join(shown) + " |")
