#!/usr/bin/env python3
"""Write the correction laws of dp-barker-vcorr: `python3 vcorr_table.py > vcorr_table.c`; with the word
`certificate`, the proof that no law does better, tests/sample/vcorr_certificate.h.

No V makes N(0, C) + V logistic (docs/theory.md, section 20). The best one minimises the largest difference of the
distribution functions: a game between atoms v and points (x, sign) with payoff sign (F_v(x) - logistic(x)),
F_v(x) = [Phi((x - v)/sqrt C) + Phi((x + v)/sqrt C)]/2. Both players' best answers are added in turn to a finite game,
solved by the simplex method with 50 digits, until their values agree. The mixture of atoms is the law, that of
points the certificate. Standard library only.
"""
import sys
from decimal import Decimal, getcontext
from math import erfc, exp, sqrt

getcontext().prec = 50
VARIANCES = [1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 3]
FARTHEST, STEP = 24, 1 / 32
GRID = [i * STEP for i in range(int(FARTHEST / STEP) + 1)]
ONE = Decimal(1)


def logistic(x):
    return 1 / (1 + exp(-x))


def smoothed(x, v, sd):
    return (erfc(-(x - v) / (sd * sqrt(2))) + erfc(-(x + v) / (sd * sqrt(2)))) / 4


def solve(matrix):
    """Value, column mixture (minimiser), row mixture of a game with positive payoffs: max sum q, M q <= 1, q >= 0."""
    m, n = len(matrix), len(matrix[0])
    rows = [[Decimal(a) for a in row] + [ONE if i == k else Decimal(0) for k in range(m)] + [ONE]
            for i, row in enumerate(matrix)]
    goal = [-ONE] * n + [Decimal(0)] * (m + 1)
    basis = list(range(n, n + m))
    while True:
        enter = min(range(n + m), key=lambda j: goal[j])
        if goal[enter] > Decimal("-1e-35"):
            break
        leave = min((i for i in range(m) if rows[i][enter] > Decimal("1e-35")),
                    key=lambda i: (rows[i][-1] / rows[i][enter], basis[i]))
        pivot = rows[leave][enter]
        rows[leave] = [a / pivot for a in rows[leave]]
        for row in rows[:leave] + rows[leave + 1:] + [goal]:
            factor = row[enter]
            if factor != 0:
                row[:] = [a - factor * b if b != 0 else a for a, b in zip(row, rows[leave])]
        basis[leave] = enter
    columns = [Decimal(0)] * n
    for i, j in enumerate(basis):
        if j < n:
            columns[j] = rows[i][-1]
    value = 1 / goal[-1]
    return value, [float(q * value) for q in columns], [float(goal[n + i] * value) for i in range(m)]


def extremes(values):
    """Places of the local minima."""
    last = len(values) - 1
    return [i for i, value in enumerate(values) if value <= min(values[max(i - 1, 0)], values[min(i + 1, last)])]


def best_law(variance):
    """The law and the certificate as (place, weight), and the bracket of the smallest error, all on the grid."""
    sd = sqrt(variance)
    payoff = [[smoothed(x, v, sd) - logistic(x) for v in GRID] for x in GRID]
    atoms = list(range(0, len(GRID), round(1 / STEP)))
    points = [(i, sign) for i in range(0, len(GRID), round(0.5 / STEP)) for sign in (1, -1)]
    while True:
        value, law, certificate = solve([[1 + sign * payoff[i][j] for j in atoms] for i, sign in points])
        law = [(j, w) for j, w in zip(atoms, law) if w > 0]
        certificate = [(i, sign * w) for (i, sign), w in zip(points, certificate) if w > 0]
        error = [sum(w * row[j] for j, w in law) for row in payoff]
        answer = [sum(w * payoff[i][j] for i, w in certificate) for j in range(len(GRID))]
        upper, lower = max(abs(e) for e in error), min(answer)
        print(f"C = {variance}: {lower:.6g} to {upper:.6g}, {len(law)} atoms of {len(atoms)}", file=sys.stderr)
        if upper - lower < max(1e-5 * upper, 1e-13):
            return law, certificate, lower, upper
        points = sorted({*points, *((i, 1 if error[i] > 0 else -1) for i in extremes([-abs(e) for e in error])
                                    if abs(error[i]) > float(value) - 1)})
        atoms = sorted({*atoms, *(j for j in extremes(answer) if answer[j] < float(value) - 1)})


def print_pairs(name, pairs):
    print(f"static const double {name}[][2] = {{")
    for i in range(0, len(pairs), 2):
        print("  " + " ".join(f"{{{x!r}, {w!r}}}," for x, w in pairs[i:i + 2]))
    print("};")


def main():
    as_certificate = "certificate" in sys.argv[1:]
    rows = []
    print("/* Written by src/inference/sample/vcorr_table.py: change that, not this. */")
    print("" if as_certificate else '#include "sample/vcorr.h"\n')
    for variance in VARIANCES:
        law, certificate, lower, upper = best_law(variance)
        pairs = [(GRID[i], w) for i, w in (certificate if as_certificate else law)]
        name = f"{'points' if as_certificate else 'atoms'}_{round(100 * variance)}"
        print_pairs(name, pairs)
        # between the points of the grid errors are larger by less than a part in 200
        rows.append(f"  {{{variance!r}, {1.005 * upper:.4e}, sizeof {name} / sizeof {name}[0], {name}}},")
    if as_certificate:
        print("\nstatic const struct {\n  double variance, error;\n  size_t n;\n  const double (*points)[2];\n} certificates[] = {")
    else:
        print("\nconst tacit_vcorr_t tacit_vcorr_distributions[TACIT_N_VCORR] = {")
    print("\n".join(rows) + "\n};")


if __name__ == "__main__":
    main()
