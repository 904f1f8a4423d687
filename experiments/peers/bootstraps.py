"""The regressions of a study of a validation server, re-expressed from its R code, with their intervals.

[Barrientos, Williams, Snoke and Bowen 2024], github.com/UrbanInstitute/formal-privacy-comp-appendix (commit
d40800f). All release A'A, A the rows (1, x, y), once (`bhm`: once a replicate), solve for the coefficients,
and draw coefficients again with noise and errors as large as what was released says [Ferrando, Wang and
Sheldon 2022]. What differs here, for the page's terms: columns lie in [-1, 1] (theirs in the units of the
bounds, or in [0, 1]); the number of rows is public; Gaussian noise is calibrated exactly; a sum of products
of whole rows moves by sqrt(2) if a row becomes another (their code has 1).
"""

import math

import numpy as np

DRAWS = 10000
Z = 1.6449  # of a two-sided interval of 90 %
FLOOR = 0.002  # of eigenvalues, rows of norm 1 [Wang, Kifer and Lee 2019, algorithm 2]
REPLICATES = (10, 25)
LOST = 2 - 2 / math.e  # of mu^2 a replicate [Wang, Cheng and Awan 2024], as their number grows


class Answer:
    """Coefficients, and intervals of 90 %, in the units of columns in [-1, 1]."""

    def __init__(self, theta, low, high):
        self.theta, self.low, self.high = theta, low, high

    def scaled(self, by):
        return Answer(self.theta * by, self.low * by, self.high * by)

    def told(self, of):
        """What cells() reads: errors, half widths as sds, and which intervals hold the estimate."""
        at = [part[1:] * of.slopes for part in (self.theta, self.low, self.high)]
        return {
            "off": ((at[0] - of.estimate) / of.error).tolist(),
            "ratio": ((at[2] - at[1]) / (2 * Z) / of.error).tolist(),
            "holds": ((at[1] <= of.estimate) & (of.estimate <= at[2])).tolist(),
        }


class Entries:
    """A'A entry by entry: each distinct one is a query of the range that a row's product has.

    Indicators are 0 and 1 here, so that their squares are their sums. A query of range w moves by w if a row
    becomes another.
    """

    def __init__(self, of):
        binary = np.concatenate([[False], of.binary[1:], of.binary[:1]])
        joint = np.column_stack([of.x, of.y])
        self.rows = np.where(binary, (joint + 1) / 2, joint)
        self.scale = np.where(binary, 0.5, 1.0)[:-1]  # of a coefficient, back to columns of [-1, 1]
        d = joint.shape[1]
        i, j = np.triu_indices(d)
        is_query = (i + j > 0) & ~((i == j) & binary[i])
        self.i, self.j = i[is_query], j[is_query]
        is_square, is_product = self.i == self.j, (self.i > 0) & binary[self.i] & binary[self.j]
        is_sum = (self.i == 0) & binary[self.j]
        self.range = np.where(is_square | is_product | is_sum, 1.0, 2.0)
        self.binary, self.d, self.count = binary, d, len(self.i)

    def matrices(self, values):
        """Symmetric matrices with these values in their queries; shape (..., d, d)."""
        full = np.zeros((*values.shape[:-1], self.d, self.d))
        full[..., self.i, self.j] = full[..., self.j, self.i] = values
        for k in np.flatnonzero(self.binary):
            full[..., k, k] = full[..., 0, k]
        return full


def is_positive(matrix):
    return np.linalg.eigvalsh(matrix)[0] > 1e-8


def bootstrap(r, noisy, noises, n):
    """Coefficients of a positive noisy A'A; two answers: intervals of draws, and those that know no noise.

    noises, shape (draws, d + 1, d + 1): noise such as was added.
    """
    a, xy = noisy[:-1, :-1], noisy[:-1, -1]
    d, inverse = len(a), np.linalg.inv(a)
    theta = inverse @ xy
    variance = max(noisy[-1, -1] - xy @ theta, 0) / max(n - d - 2, 1)
    root = np.linalg.cholesky(a) * math.sqrt(variance)
    moved = noises[:, :-1, -1] - noises[:, :-1, :-1] @ theta + r.normal(size=(len(noises), d)) @ root.T
    drawn = theta + moved @ inverse
    low, high = np.quantile(drawn, (0.05, 0.95), axis=0)
    sd = np.sqrt(variance * np.diag(inverse))
    return Answer(drawn.mean(0), low, high), Answer(theta, theta - Z * sd, theta + Z * sd)


def by_entries(r, of, draw):
    """A'A with noise of its own in each entry; draw(shape) is noise of queries of range 1."""
    entries = Entries(of)
    width = entries.range
    noises = entries.matrices(draw((DRAWS, entries.count), entries.count) * width)
    noisy = entries.rows.T @ entries.rows + entries.matrices(draw((entries.count,), entries.count) * width)
    ridge = np.zeros(entries.d)
    if not is_positive(noisy):
        least = abs(np.quantile(np.linalg.eigvalsh(noises)[:, 0], 0.01))
        diagonal = np.diag(entries.matrices(width))
        ridge = diagonal / diagonal.sum() * least
    if not is_positive(noisy + np.diag(ridge)):
        ridge = np.full(entries.d, 3 * abs(np.linalg.eigvalsh(noisy)[0]))
    answers = bootstrap(r, noisy + np.diag(ridge), noises, of.n)
    return [answer.scaled(entries.scale) for answer in answers]


def analytic_gauss(r, of, mu):
    """Gaussian noise of sd range sqrt(queries) / mu in each entry."""
    return by_entries(r, of, lambda shape, count: math.sqrt(count) / mu * r.normal(size=shape))


def laplace(r, of, epsilon):
    """Laplace noise of scale range queries / epsilon in each entry: delta is 0."""
    return by_entries(r, of, lambda shape, count: r.laplace(scale=count / epsilon, size=shape))


def symmetric(r, count, d, sd):
    full = r.normal(size=(count, d, d)) * sd
    return (full + full.transpose(0, 2, 1)) / 2


def kifer_lee(r, of, mu):
    """Noise in the whole A'A, eigenvalues at least FLOOR [Wang, Kifer and Lee 2019] with bootstrap draws."""
    d = of.d + 1
    joint = np.column_stack([of.x, of.y]) / math.sqrt(d)
    noises = symmetric(r, DRAWS, d, math.sqrt(2) / mu)
    values, vectors = np.linalg.eigh(joint.T @ joint + symmetric(r, 1, d, math.sqrt(2) / mu)[0])
    noisy = (vectors * np.maximum(values, FLOOR)) @ vectors.T
    return bootstrap(r, noisy, noises, of.n)


def wishart(r, count, d, k):
    """Wishart matrices of k degrees and scale 1 less their mean, by Bartlett; shape (count, d, d)."""
    half = np.tril(r.normal(size=(count, d, d)), -1)
    diagonal = np.arange(d)
    half[:, diagonal, diagonal] = np.sqrt(r.chisquare(k - diagonal, size=(count, d)))
    return half @ half.transpose(0, 2, 1) - k * np.eye(d)


def additive_wishart(r, of, epsilon, delta):
    """Additive Wishart noise [Sheffet 2019], for epsilon below 1."""
    if epsilon > 1:
        return None
    d = of.d + 1
    spread = 2 * math.log(4 / delta)
    k = math.floor(d + 14 / min(epsilon, 0.99999) ** 2 * spread)
    joint = np.column_stack([of.x, of.y]) / math.sqrt(d)
    noisy = joint.T @ joint + wishart(r, 1, d, k)[0]
    ridge = 0.0
    if not is_positive(noisy):
        ridge = k - (math.sqrt(k) - math.sqrt(d) - math.sqrt(spread)) ** 2
    if not is_positive(noisy + ridge * np.eye(d)):
        ridge = 3 * abs(np.linalg.eigvalsh(noisy)[0])
    return bootstrap(r, noisy + ridge * np.eye(d), wishart(r, DRAWS, d, k), of.n)


def replicated(r, of, mu, count):
    """Bootstrap replicates of the rows, each released [Brawner and Honaker 2018]; intervals by their sd.

    What a replicate costs is as in Wang, Cheng and Awan, who find that of the paper and of the study too low.
    """
    entries = Entries(of)
    n, found = len(of.y), []
    sd = entries.range * math.sqrt(entries.count * LOST * count) / mu
    for _ in range(count):
        weights = np.bincount(r.integers(n, size=n), minlength=n)
        noisy = (entries.rows * weights[:, None]).T @ entries.rows
        noisy += entries.matrices(sd * r.normal(size=entries.count))
        found.append(np.linalg.solve(noisy[:-1, :-1], noisy[:-1, -1]))
    mean, spread = np.mean(found, 0), np.std(found, 0, ddof=1)
    return Answer(mean, mean - Z * spread, mean + Z * spread).scaled(entries.scale)
