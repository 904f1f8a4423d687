#!/usr/bin/env python3
"""Regression under privacy: tacit beside peers that linear.py and logistic.py do not have, on the same terms.

    experiments/peers/more.py linear build/src/cli/tacit DATA --out FOLDER [--runs N] [--sets a,b]
                              [--epsilon .5,1,2,8]
    experiments/peers/more.py logistic build/src/cli/tacit DATA --out FOLDER ...

DATA is as for linear.py and logistic.py; with `adult.csv` there (UCI Adult with a line of names and the rows
that lack nothing, 30 162) the set `adult` can be named. It needs numpy, and opendp for `theil-sen`. Runs, the
guarantee (a row against another, delta 1e-6), bounds and the public number of rows are as in linear.py.

Linear, the first five from a study of a validation server [Barrientos et al. 2024], see bootstraps.py:

    agm          each entry of A'A with Gaussian noise, bootstrap intervals; plug-in: intervals without noise
    laplace      the same with Laplace noise, delta 0
    wkl          A'A whole, eigenvalues at least a floor, bootstrap intervals
    wishart      additive Wishart noise, bootstrap intervals, epsilon of 1 at most
    bhm          noisy bootstrap replicates, the better of 10 and 25
    nss          noisy sums, standard errors that count noise [dp-econometrics]
    fast         Bayes-fixedS-fast [Alparslan, Yildirim and Birbil 2023]
    dpvi C       noise-aware variational inference [Alrawajfeh et al. 2025], clip C, and the best of three
    theil-sen    OpenDP's LinearRegression, from its package, the best of three settings; one feature only,
                 delta 0, no intervals

Logistic:

    dpvi         as above, clipped at the longest gradient
    objective    objective perturbation, Gaussian noise [Kifer, Smith and Thakurta 2012]; no intervals
    objective, best   the best of three shares of epsilon for its determinant

The best of several settings is by what cannot be known: no method, but a limit of one.
"""

import sys

import bootstraps
import closed
import linear
import logistic
import variational
from linear import DELTA, agreement, kind, mu_of, table

CLIPS = (10, 40, 160)  # of dpvi, linear


@kind("one feature of a right model, 5 000 rows", y=(-6, 6), a=(-4, 4))
def right_one(r, _):
    a = agreement.normal(r, 5000)
    return 0.3 + 0.4 * a + r.normal(size=5000), a


@kind("log radon by uranium alone (public data)", log_radon=(-3, 6), log_uranium=(-2.5, 1.5))
def radon_one(_, data):
    return table(data, "radon.csv", "log_radon", "log_uranium")


@kind("HDL by age alone (public data)", hdl=(10, 150), age=(18, 95))
def hdl_one(_, data):
    return table(data, "patient_labs.csv", "hdl", "age")


@kind(
    "income above 50 000 (UCI Adult)",
    income=None,
    age=(17, 90),
    educ=(1, 16),
    hours=(1, 99),
    male=None,
    married=None,
    white=None,
    gains=None,
)
def adult(_, data):
    return table(
        data,
        "adult.csv",
        logistic.level("income", ">50K"),
        "age",
        "education_num",
        "hr_per_week",
        logistic.level("sex", "Male"),
        logistic.level("marital", "Married-civ-spouse"),
        logistic.level("race", "White"),
        lambda row: float(row["capital_gain"]) > 0,
    )


def error(of, theta):
    return ((theta[1:] * of.slopes - of.estimate) / of.error).tolist()


def told(of, answer):
    theta, sd = answer
    return {"off": error(of, theta), "ratio": (sd[1:] * of.slopes / of.error).tolist()}


def interval(of, quantiles):
    """Of a median and bounds of coefficients."""
    return bootstraps.Answer(*quantiles[:, : of.d]).told(of)


def linear_peers(r, of, epsilon):
    """What each peer answers, as linear.peers."""
    mu, result = mu_of(epsilon), {}
    for name, answers in (
        ("agm", bootstraps.analytic_gauss(r, of, mu)),
        ("laplace", bootstraps.laplace(r, of, epsilon)),
        ("wkl", bootstraps.kifer_lee(r, of, mu)),
        ("wishart", bootstraps.additive_wishart(r, of, epsilon, DELTA)),
    ):
        for label, answer in zip((name, f"{name}, plug-in"), answers or (None, None), strict=True):
            result[label] = answer and answer.told(of)
    result["bhm"] = [bootstraps.replicated(r, of, mu, k).told(of) for k in bootstraps.REPLICATES]
    result["nss"] = told(of, closed.noisy_sums(r, of, mu))
    result["fast"] = told(of, closed.fixed_fast(r, of, mu))
    for clip in CLIPS:
        result[f"dpvi {clip}"] = interval(of, variational.noise_aware(r, variational.Linear(of), mu, clip))
    result["dpvi, best"] = [result[f"dpvi {clip}"] for clip in CLIPS]
    if of.d == 2:
        result["theil-sen"] = [error(of, theta) for theta in closed.theil_sens(r, of, epsilon)]
    return result


def logistic_peers(r, of, epsilon):
    """What each peer answers, as logistic.peers."""
    quantiles = variational.noise_aware(r, variational.Logistic(of), mu_of(epsilon), of.d**0.5)
    thetas = [closed.perturbed(r, of, epsilon, DELTA, share) for share in closed.SHARES]
    return {
        "dpvi": interval(of, quantiles),
        "objective": {"off": error(of, thetas[-1]), "ratio": None},
        "objective, best": [error(of, theta) for theta in thetas],
    }


DPVI = [f"dpvi {clip}" for clip in CLIPS]
LINEAR = ["agm", "laplace", "wkl", "wishart", "bhm", "nss", "fast", *DPVI, "dpvi, best", "theil-sen"]
LOGISTIC = ["dpvi", "objective", "objective, best"]
BOTH = ["tacit", "tacit, answers"]


def by_set(names):
    """The second table for linear.compare, a line a set and epsilon: widths, and how many intervals hold."""

    def rows(name, epsilon, found):
        cells = (" ".join(found[m][1:3]) if m in found else "" for m in names)
        return [f"| {name} | {epsilon:g} | {' | '.join(cells)} | {found['tacit'][3]} |"]

    head = [f"| set | epsilon | {' | '.join(names)} | tacit |", "| --- " * (len(names) + 3) + "|"]
    return head, rows


if __name__ == "__main__":
    family = sys.argv.pop(1)
    if family == "logistic":
        second = by_set([*BOTH, "dpvi"])
        names = [*BOTH, *LOGISTIC, "zero"]
        linear.compare(__doc__, names, logistic.SETS, logistic.load, logistic_peers, second)
    else:
        sets = [*linear.SETS, "right_one", "radon_one", "hdl_one"]
        second = by_set([*BOTH, "agm", "agm, plug-in", *LINEAR[1:-2]])
        linear.compare(__doc__, [*BOTH, *LINEAR, "zero"], sets, linear.load, linear_peers, second)
