"""Methods of others that sample a posterior or choose among many fits, re-expressed from their papers.

All take rows of [-1, 1] (`of.x` with ones first, `of.y`, n public) and mu, the Gaussian budget, or epsilon
and delta. `of.square` is how far a row moves a sum of vv', in squares of the longest v: 1 if it is added or
removed, sqrt(2) if it becomes another.
"""

import math

import numpy as np

BURN, KEPT = 1000, 6000
SHAPE, RATE = 20, 0.5  # of the inverse gamma prior of the residual variance in both papers
RIDGE = 0.025  # prior precision of coefficients over the residual variance


def pairs(d):
    """Places i <= j of a symmetric matrix, and what an isometric vector of it multiplies them by."""
    i, j = np.triu_indices(d)
    return i, j, np.where(i == j, 1, math.sqrt(2))


def squares(positive, least):
    """The matrix with its eigenvalues at least `least`."""
    values, vectors = np.linalg.eigh(positive)
    return (vectors * np.maximum(values, least)) @ vectors.T


def wishart(r, root, degrees):
    """A draw of a Wishart whose scale has the Cholesky factor `root`."""
    d = len(root)
    bartlett = np.tril(r.normal(size=(d, d)), -1)
    bartlett[np.diag_indices(d)] = np.sqrt(r.chisquare(degrees - np.arange(d)))
    half = root @ bartlett
    return half @ half.T


def product_moments(mean, cov, i, j):
    """Mean and covariance of products v_i v_j of a normal v, by Isserlis' theorem."""
    a, b = mean[i], mean[j]
    ii, ij, jj = cov[np.ix_(i, i)], cov[np.ix_(i, j)], cov[np.ix_(j, j)]
    ab, ba = np.outer(a, b), np.outer(b, a)
    second = np.outer(a, a) * jj + ab * ij.T + ba * ij + np.outer(b, b) * ii + ii * jj + ij * ij.T
    return a * b + cov[i, j], second


def gibbs(r, of, mu):
    """Gibbs-SS-Noisy [Bernstein and Sheldon 2019] with a normal prior of the features.

    One release of X'X, X'y, y'y: v = (1, x, y) has square norm d + 1 at most, so vv' as an isometric vector
    moves by d + 1, and by sqrt(2) (d + 1) if a row becomes another. Gaussian noise in place of the paper's
    Laplace. The sums, features' moments, coefficients and variance are drawn in turn; the sums by the central
    limit theorem.
    """
    d, n = of.d, of.n
    joint = np.column_stack([of.x, of.y])
    i, j, weight = (part[1:] for part in pairs(d + 1))  # the number of rows is public
    sd = of.square * (d + 1) / mu / weight
    noisy = (joint.T @ joint)[i, j] + sd * r.normal(size=len(i))
    sums, kept, k = noisy, [], d - 1
    for t in range(BURN + KEPT):
        matrix = np.empty((d + 1, d + 1))
        matrix[0, 0], matrix[i, j], matrix[j, i] = n, sums, sums
        matrix = squares(matrix, 1e-6 * n if t else np.max(sd) * math.sqrt(d))
        matrix *= n / matrix[0, 0]
        a = matrix[:d, :d] + RIDGE * np.eye(d)
        theta = np.linalg.solve(a, matrix[:d, d])
        rate = RATE + max(matrix[d, d] - theta @ a @ theta, 0) / 2
        variance = rate / r.gamma(SHAPE + n / 2)
        theta = theta + math.sqrt(variance) * np.linalg.solve(np.linalg.cholesky(a).T, r.normal(size=d))
        centre = matrix[0, 1:d] / n
        scatter = matrix[1:d, 1:d] - n * np.outer(centre, centre) + np.eye(k)
        root = np.linalg.cholesky(np.linalg.inv(scatter))
        spread = np.linalg.inv(wishart(r, root, n + k + 2))
        centre = centre + np.linalg.cholesky(spread / n) @ r.normal(size=k)
        mean, cov = np.ones(d + 1), np.zeros((d + 1, d + 1))
        mean[1:d], cov[1:d, 1:d] = centre, spread
        mean[d], cov[d, 1:d] = theta[0] + theta[1:] @ centre, spread @ theta[1:]
        cov[1:d, d], cov[d, d] = cov[d, 1:d], theta[1:] @ cov[d, 1:d] + variance
        first, second = product_moments(mean, cov, i, j)
        second *= n
        second[np.diag_indices(len(i))] += 1e-9 * n
        drawn = n * first + np.linalg.cholesky(second) @ r.normal(size=len(i))
        off = noisy - drawn - sd * r.normal(size=len(i))
        sums = drawn + second @ np.linalg.solve(second + np.diag(sd * sd), off)
        if t >= BURN:
            kept.append(theta)
    return np.mean(kept, 0), np.std(kept, 0)


def normal_x(r, of, mu, is_fixed=False):
    """MCMC-normalX [Alparslan, Yildirim and Birbil 2023]; is_fixed: MCMC-fixedS, where X'X is as released.

    One release of S = X'X and z = X'y: a row moves them by sqrt(d^2 + d), and if it becomes another by at
    most sqrt(2 d^2 + 2 d + 1/2). Given S, z is normal (S theta, S variance), which is integrated out; S is
    Wishart, its scale inverse Wishart. The published model of rows has no constant; here a row is (1, x), and
    the public n stands for its noisy count.
    """
    d, n = of.d, of.n
    i, j, weight = pairs(d)
    sd = math.sqrt(of.square**2 * (d * d + d) + 0.5 * (of.square > 1)) / mu
    noise = np.zeros((d, d))
    noise[i, j] = noise[j, i] = sd / weight * r.normal(size=len(i))
    noisy, z = of.x.T @ of.x + noise, of.x.T @ of.y + sd * r.normal(size=d)
    noisy[0, 0] = n
    s = squares(noisy, 1e-3 * n if is_fixed else sd)
    theta, variance, degrees, step, kept = np.zeros(d), RATE / SHAPE, 1e4, 1.0, []

    def of_z(s, theta, variance):
        root = np.linalg.cholesky(variance * s + sd * sd * np.eye(d))
        off = np.linalg.solve(root, z - s @ theta)
        return -np.log(np.diag(root)).sum() - off @ off / 2

    def of_s(s, log_det, inverse_scale):
        return (
            (n - d - 1) / 2 * log_det
            - np.sum(inverse_scale * s) / 2
            - np.sum(np.square(noisy - s)) / (2 * sd * sd)
        )

    for t in range(BURN + KEPT):
        weighed = np.linalg.solve(variance * s + sd * sd * np.eye(d), s)
        root = np.linalg.cholesky(np.eye(d) + s @ weighed)
        middle = np.linalg.solve(root, weighed.T @ z)
        theta = np.linalg.solve(root.T, middle + r.normal(size=d))
        other = variance * math.exp(step * r.normal())
        ratio = of_z(s, theta, other) - of_z(s, theta, variance)
        ratio -= SHAPE * math.log(other / variance) + RATE * (1 / other - 1 / variance)
        is_taken = math.log(r.random()) < ratio
        variance = other if is_taken else variance
        if t < BURN:
            step *= math.exp((is_taken - 0.4) / math.sqrt(t + 1))
        if not is_fixed:
            root = np.linalg.cholesky(np.linalg.inv(s + np.eye(d)))
            inverse_scale = wishart(r, root, n + d + 2)
            new = wishart(r, np.linalg.cholesky(s / degrees), degrees)
            old_det, new_det = np.linalg.slogdet(s)[1], np.linalg.slogdet(new)[1]
            ratio = of_s(new, new_det, inverse_scale) - of_s(s, old_det, inverse_scale)
            ratio += of_z(new, theta, variance) - of_z(s, theta, variance)
            ratio += (2 * degrees - d - 1) / 2 * (old_det - new_det)
            ratio -= degrees / 2 * (np.trace(np.linalg.solve(new, s)) - np.trace(np.linalg.solve(s, new)))
            is_taken = math.log(r.random()) < ratio
            s = new if is_taken else s
            if t < BURN:
                degrees = max(degrees * math.exp((0.25 - is_taken) / math.sqrt(t + 1) * 3), d + 2)
        if t >= BURN:
            kept.append(theta)
    return np.mean(kept, 0), np.std(kept, 0)


def tukey(r, of, epsilon, delta, n_models):
    """TukeyEM [Amin, Joseph, Ribero and Vassilvitskii 2023]: a deep point among fits of parts, or None.

    A row is in one part, so it replaces one of the least squares fits and moves depths by one at most,
    whether it is added, removed (parts are drawn then, row by row) or becomes another (they are of equal
    size). Half of epsilon tests whether the region of depth t is far from unsafe (a distance that a row moves
    by one, Laplace noise of scale 2 / epsilon), half chooses a depth, with weight epsilon / 4 a depth.
    """
    half, rows = epsilon / 2, len(of.y)
    part = r.permutation(rows) % n_models if of.square > 1 else r.integers(n_models, size=rows)
    xx, xy = np.zeros((n_models, of.d, of.d)), np.zeros((n_models, of.d))
    np.add.at(xx, part, of.x[:, :, None] * of.x[:, None])
    np.add.at(xy, part, of.x * of.y[:, None])
    fits = np.einsum("mij,mj->mi", np.linalg.pinv(xx, 1e-9, hermitian=True), xy)
    line = np.sort(fits + 1e-9 * r.random(fits.shape), 0)
    depths = np.arange(1, n_models // 2 + 1)
    sides = np.log(np.maximum(line[n_models - depths] - line[depths - 1], 1e-300))  # depth, coefficient
    volume, t = sides.sum(1), n_models // 4

    def is_far(k):
        beyond = volume[t + k + 1 :]  # of depth t + k + 2 and more: g from 1
        g = np.arange(1, len(beyond) + 1)
        return len(g) > 0 and np.any(volume[t - k - 2] - beyond - half * g / 2 <= math.log(delta / 8) - half)

    distance = -1
    while distance + 1 <= t - 2 and is_far(distance + 1):
        distance += 1
    if distance + r.laplace(scale=1 / half) <= math.log(1 / delta) / half:
        return None
    deeper = np.append(volume[1:], -np.inf)
    with np.errstate(divide="ignore"):
        shell = volume + np.log1p(-np.exp(np.minimum(deeper - volume, 0)))
    score = (shell + half * depths / 2)[t - 1 :]
    depth = depths[t - 1 + np.argmax(score + r.gumbel(size=len(score)))]
    while True:  # uniform where the least depth of a coefficient is this one
        low, high = line[depth - 1], line[n_models - depth]
        point = r.uniform(low, high)
        if depth >= n_models // 2 or np.any((point < line[depth]) | (point > line[n_models - depth - 1])):
            return point
