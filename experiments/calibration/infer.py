#!/usr/bin/env python3
"""Simulation-based calibration of tacit infer: seven settings, and the same told what is not so.

    experiments/calibration/infer.py build/src/cli/tacit --out docs/results/calibration/infer [--runs 75] [--jobs 3]
    experiments/calibration/infer.py build/src/cli/tacit --out DIR --runs 100 --quick

Each run draws, of every setting, parameters from the prior, records from the parameters and what is published of the records, here, and infers from that: with the truth about how it was
published, and with planted errors (a clamp, rounding or bounds that are not mentioned, noise said to be half of what it is). If the posterior is right, the
rank of each parameter among its draws is uniform [Talts2018]. Writes runs.jsonl (a line a run, resumed where it is) and table.md. --quick, which is a test, is of two settings, and fails unless
ranks are uniform at 10^-7, and not uniform at 10^-4 for each planted error.
"""
import csv
import math
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import resumable  # noqa: E402

BINS = 10
CHAINS = ["--chains", "2", "--warmup", "100", "--draws", "40"]


# ---- noise, written here anew ----

def laplace(rng, scale):
    return rng.choice((-1, 1)) * rng.expovariate(1 / scale)


def discrete_laplace(rng, scale):
    def geometric():
        return int(rng.expovariate(1 / scale))
    return geometric() - geometric()


def discrete_gaussian(rng, scale):
    reach = int(12 * scale) + 1
    values = range(-reach, reach + 1)
    return rng.choices(values, [math.exp(-0.5 * (k / scale) ** 2) for k in values])[0]


def cut(x, points):
    return sum(x >= p for p in points)


def counted(cells, n):
    counts = [0] * n
    for c in cells:
        counts[c] += 1
    return counts


def statistics(entries, *lines):
    """YAML of a release: each statistic's name and what is said of it; other lines before."""
    return "\n".join(lines) + "\nstatistics:\n" + "".join(f"  {name}: {{{', '.join(f'{k}: {v}' for k, v in said.items())}}}\n" for name, said in entries.items())


# ---- settings: true parameters by their names in draws-1.csv; for each way of telling, the model's text, the releases' and further words ----

def clamped_sum(rng):
    mu, n = rng.gauss(0, 1), 60
    y = sum(min(max(rng.gauss(mu, 1), 0), 1) for _ in range(n)) + laplace(rng, 8)
    program = ("data {{ real x; }} parameters {{ real mu; }} model {{ mu ~ normal(0, 1); x ~ normal(mu, 1); }} statistic {{ total = sum({}); }}")

    def told(t="fmin(fmax(x, 0), 1)", scale=8):
        return program.format(t), [statistics({"total": {"mechanism": "laplace", "scale": scale, "value": y}})], ["--n", n]
    return {"mu": mu}, {"": told(), "clamp not mentioned": told(t="x"), "noise halved": told(scale=4)}


def income_bands(rng):
    mu, sigma, n = rng.gauss(1, 1), rng.expovariate(1), 150
    counts = counted((cut(rng.lognormvariate(mu, sigma), (1, 3, 9)) for _ in range(n)), 4)
    published = [max(0, 15 * round((c + discrete_laplace(rng, 5)) / 15)) for c in counts]
    program = ("data { real<lower=0> x; } transformed data { int<lower=0, upper=3> band = cut(x, {1, 3, 9}); } parameters { real mu; real<lower=0> sigma; } "
               "model { mu ~ normal(1, 1); sigma ~ exponential(1); x ~ lognormal(mu, sigma); } statistic { table = count(band); }")

    def told(scale=5, after={"rounded": 15, "clamped": "[0, inf]"}):
        return program, [statistics({"table": {"mechanism": "discrete-laplace", "scale": scale, "value": published, **after}})], ["--n", n, "--thin", 8]
    return ({"mu": mu, "sigma": sigma},
            {"": told(), "rounding and bound not mentioned": told(after={}), "noise halved": told(scale=2.5)})


def survey(rng):
    w = [rng.expovariate(1) for _ in range(3)]
    p, n, truth = [x / sum(w) for x in w], 100, 0.6
    answers = []
    for t in rng.choices(range(3), p, k=n):
        answers.append(t if rng.random() < truth else rng.choice([k for k in range(3) if k != t]))
    program = ("data { int<lower=1, upper=3> habit; } parameters { simplex[3] p; } model { p ~ dirichlet(rep_vector(1, 3)); habit ~ categorical(p); } "
               "statistic { answers = count(habit); }")

    def told(truth):
        return program, [statistics({"answers": {"mechanism": "randomised-response", "truth": truth, "value": counted(answers, 3)}})], ["--thin", 8]
    return {"p.1": p[0], "p.3": p[2]}, {"": told(truth), "noise halved": told(0.8)}  # lies in 0.2 of answers, not in 0.4


def median(rng):
    rate, n, scale = rng.gammavariate(1, 1), 60, 10
    candidates = [0.125 * 2 ** k for k in range(7)]
    waits = [rng.expovariate(rate) for _ in range(n)]
    chosen = rng.choices(candidates, [math.exp(-abs(sum(x < c for x in waits) - 0.5 * n) / scale) for c in candidates])[0]
    program = ("data {{ real<lower=0> t; }} parameters {{ real<lower=0> rate; }} model {{ rate ~ gamma(1, 1); t ~ exponential(rate); }} "
               "statistic {{ half = quantile(t, {}, {{{}}}); }}")

    def told(q=0.5, scale=scale):
        return program.format(q, ", ".join(map(repr, candidates))), [statistics({"half": {"mechanism": "exponential", "scale": scale, "value": chosen}})], ["--n", n]
    return {"rate": rate}, {"": told(), "noise halved": told(scale=5), "another quantile": told(q=0.25)}


def unknown_size(rng):
    """n is uniform on 60 .. 180; its flat prior is cut to that by passing over draws beyond."""
    q, n = rng.random(), rng.randint(60, 180)
    said = [sum(rng.random() < q for _ in range(n))]
    said.insert(0, n - said[0])
    noisy, of_n = [max(0.0, c + laplace(rng, 8)) for c in said], n + discrete_laplace(rng, 8)
    program = "data { int<lower=0, upper=1> x; } parameters { real<lower=0, upper=1> q; } model { x ~ bernoulli(q); } statistic { table = count(x); }"

    def told(scale=8, bounds="[0, inf]"):
        text = statistics({"table": {"mechanism": "laplace", "scale": scale, "value": noisy, "clamped": bounds}})
        return program, [text + f"n: {{mechanism: geometric, scale: {scale}, value: {of_n}}}\n"], []
    return {"q": q, "n": n}, {"": told(), "noise halved": told(scale=4)}


def margins(rng):
    """Log odds of three columns of two levels, and of two pairs."""
    names = {"a": ("a",), "b": ("b",), "c": ("c",), "a:b": ("a", "b"), "b:c": ("b", "c")}
    effects = {name: rng.gauss(0, 1) for name in names}
    cells = [dict(zip("abc", (i >> 2 & 1, i >> 1 & 1, i & 1))) for i in range(8)]
    weights = [math.exp(sum(effects[name] for name, of in names.items() if all(cell[k] for k in of))) for cell in cells]
    people, scale = rng.choices(cells, weights, k=400), 40
    pairs = [(x, y, [c + discrete_gaussian(rng, scale) for c in counted((2 * p[x] + p[y] for p in people), 4)]) for x, y in (("a", "b"), ("b", "c"))]

    def told(scale):
        text = ("statistic: margins\nfactors: {a: ['0', '1'], b: ['0', '1'], c: ['0', '1']}\nmargins:\n" +
                "".join(f"  - {{columns: [{x}, {y}], value: {v}}}\n" for x, y, v in pairs) + f"n: 400\nmechanism: discrete-gaussian\nscale: {scale}\n")
        return "records: table\neffects: normal(0, 1)\n", [text], []
    return {"effect.1": effects["a"], "effect.4": effects["a:b"]}, {"": told(scale), "noise halved": told(scale / 2)}


def two_sites(rng):
    mu, shift = rng.gauss(0, 1), rng.gauss(0, 0.5)
    north, south = ([cut(rng.gauss(m, 1), (-1, 1)) for _ in range(n)] for m, n in ((mu, 80), (mu + shift, 120)))
    of_north = [c + laplace(rng, 20) for c in counted(north, 3)]
    of_south = [c + discrete_laplace(rng, 12) for c in counted(south, 3)]
    of_south = ["null" if c < 10 else c for c in of_south]
    program = ("data { int<lower=1, upper=2> site; real x; } transformed data { int<lower=0, upper=2> band = cut(x, {-1, 1}); } parameters { real mu; real shift; } "
               "model { mu ~ normal(0, 1); shift ~ normal(0, 0.5); x ~ normal(mu + shift * (site - 1), 1); } statistic { bands = count(band); }")

    def told(factor=1):
        return program, [statistics({"bands": {"mechanism": "laplace", "scale": 20 * factor, "value": of_north}}, "records: north", "given: {site: 1}", "n: 80"),
                         statistics({"bands": {"mechanism": "geometric", "scale": 12 * factor, "value": of_south, "suppressed": 10}}, "records: south", "given: {site: 2}", "n: 120")], []
    return {"mu": mu, "shift": shift}, {"": told(), "noise halved": told(factor=0.5)}


SETTINGS = {"sum of clamped normals, Laplace": clamped_sum, "lognormal bands, discrete Laplace, rounded, from 0": income_bands,
            "randomised response": survey, "median by the exponential mechanism": median, "n unknown, Laplace and geometric, from 0": unknown_size, "margins, discrete Gaussian": margins,
            "two sites, Laplace and withheld": two_sites}
QUICK = ["sum of clamped normals, Laplace", "randomised response"]


# ---- a run ----

def infer(tacit, folder, seed, told, names):
    """Draws of the parameters, by name, and the least p-value of what was published; draws of n beyond 60 .. 180 are passed over."""
    model, releases, words = told
    folder.mkdir()
    path = folder / ("model.yaml" if model.startswith("records:") else "model.stan")
    path.write_text(model)
    for i, text in enumerate(releases):
        (folder / f"{i}.yaml").write_text(text)
        words = [*words, "--statistic", folder / f"{i}.yaml"]
    done = subprocess.run([tacit, "infer", path, *CHAINS, *map(str, words if "--thin" in words else [*words, "--thin", 3]), "--seed", str(seed), "--quiet", "--out", folder / "post"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"seed {seed}, {path}: {done.stderr}")
    rows = []
    for file in sorted((folder / "post").glob("draws-*.csv")):
        rows += list(csv.DictReader(line for line in open(file) if not line.startswith("#")))
    rows = [row for row in rows if "n" not in names or 60 <= float(row["n"]) <= 180]
    flagged = any('"statistic-misfits"' in line and '"warning"' in line for file in (folder / "post").glob("diagnostics.json") for line in open(file))
    return rows, flagged


def one_of(tacit, names):
    def one(seed, folder):
        result = {}
        for setting in names:
            rng = random.Random(f"{setting} {seed}")
            truth, ways = SETTINGS[setting](rng)
            result[setting] = {}
            for i, (way, told) in enumerate(ways.items()):
                rows, flagged = infer(tacit, folder / f"{len(result)}-{i}", seed, told, truth)
                ranks = {name: (sum(float(row[name]) < value for row in rows) + rng.random()) / (len(rows) + 1) for name, value in truth.items()}
                result[setting][way] = {"flagged": flagged, "ranks": ranks}
        return result
    return one


# ---- the table ----

def chi_square_tail(x, df):
    """P(chi-square > x) by the series of the incomplete gamma function."""
    a, x = df / 2, x / 2
    term = total = 1 / a
    for k in range(1, 10000):
        term *= x / (a + k)
        total += term
    return max(0.0, 1 - total * math.exp(a * math.log(x) - x - math.lgamma(a))) if x < 300 else 0.0


def evenness(ranks):
    """Chi-square of 10 bins with its p-value, and that of the largest distance of the empirical distribution function from the diagonal."""
    n, ordered = len(ranks), sorted(ranks)
    bins = counted((min(BINS - 1, int(BINS * u)) for u in ranks), BINS)
    chi = sum((b - n / BINS) ** 2 for b in bins) * BINS / n
    far = max(max((i + 1) / n - u, u - i / n) for i, u in enumerate(ordered))
    t = far * (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n))
    ks = min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * t * t) for k in range(1, 101))) if t > 0.2 else 1.0
    return chi, chi_square_tail(chi, BINS - 1), far, max(0.0, ks)


def tabulate(runs, names):
    lines = ["| setting | told | parameter | runs | chi-square (9) | p | ecdf, at most off by | p | ranks, at 99.9 % | flagged as misfit |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    verdicts = {}
    for setting in names:
        for way in runs[0][setting]:
            flagged = sum(run[setting][way]["flagged"] for run in runs)
            for name in runs[0][setting][way]["ranks"]:
                chi, p_chi, far, p_far = evenness([run[setting][way]["ranks"][name] for run in runs])
                least = min(1, 2 * min(p_chi, p_far))
                verdicts.setdefault((setting, way), []).append(least)
                lines.append(f"| {setting} | {way or 'the truth'} | {name} | {len(runs)} | {chi:.1f} | {p_chi:.2g} | {far:.3f} | {p_far:.2g} | "
                             f"{'uniform' if least > 1e-3 else '**not uniform**'} | {flagged} |")
    return lines, verdicts


parser = resumable.arguments(__doc__, 75)
parser.add_argument("--quick", action="store_true", help="two settings, from the beginning, and the exit status says whether ranks are as they should be")
args = parser.parse_args()
NAMES = QUICK if args.quick else list(SETTINGS)
if args.quick:
    (args.out / "runs.jsonl").unlink(missing_ok=True)
runs = resumable.results(args, one_of(args.tacit, NAMES))
lines, verdicts = tabulate(runs, NAMES)
resumable.write_table(args, lines)
if args.quick:
    for (setting, way), least in verdicts.items():
        assert min(least) > 1e-7 if way == "" else min(least) < 1e-4, (setting, way, least)
