"""Methods of others in closed form, or run from their package: see more.py."""

import math

import numpy as np
from linear import mu_of

SHARES = (0.1, 0.25, 0.5)  # of epsilon, for the determinant; the last is about the paper's
THEIL_SEN = ((100, 1), (1000, 1), (1000, 4))  # candidates and runs


def noisy_sums(r, of, mu):
    """Noisy X'X, X'y and y'y, with standard errors that count their noise [dp-econometrics 2025, DPOLS].

    Read in full: github.com/MaxGhenis/dp-econometrics (commit ce4a47b; on no registry). Its shares of
    epsilon, .4, .4 and .2, are shares of mu here, composed exactly; where it adds or removes a row, one
    becomes another.
    """
    d, n = of.d, of.n
    mu = mu * np.array([0.4, 0.4, 0.2]) / 0.6
    of_xx, of_xy, of_yy = of.square * d / mu[0], of.sum * math.sqrt(d) / mu[1], 1 / mu[2]
    upper = np.triu(r.normal(size=(d, d)) * of_xx)
    xx = of.x.T @ of.x + upper + np.triu(upper, 1).T
    xy, yy = of.x.T @ of.y + of_xy * r.normal(size=d), of.y @ of.y + of_yy * r.normal()
    least = np.linalg.eigvalsh(xx)[0]
    if least <= 0:
        xx = xx + (1e-6 - least) * np.eye(d)
    inverse = np.linalg.inv(xx)
    theta = inverse @ xy
    variance = max((yy - theta @ xy) / (n - d), 1e-10)
    noise = of_xy**2 + of_xx**2 * (theta @ theta)
    return theta, np.sqrt(np.maximum(variance * np.diag(inverse) + noise * np.diag(inverse @ inverse), 1e-10))


def fixed_fast(r, of, mu):
    """Bayes-fixedS-fast [Alparslan, Yildirim and Birbil 2023]: normal in one step, X'X as released.

    As the code has it (github.com/sinanyildirim/Bayesian_DP_dist_LR, commit b673f3f), the residual variance
    is a third of the bound of y, and coefficients have variance 38.
    """
    d, variance = of.d, 1 / 3
    sd = math.sqrt(of.square**2 * (d * d + d) + 0.5 * (of.square > 1)) / mu
    noise = np.triu(r.normal(size=(d, d)) * sd / math.sqrt(2), 1)
    noise = noise + noise.T + np.diag(sd * r.normal(size=d))
    noisy, z = of.x.T @ of.x + noise, of.x.T @ of.y + sd * r.normal(size=d)
    noisy[0, 0] = of.n
    values, vectors = np.linalg.eigh(noisy)
    s = (vectors * np.maximum(values, 0)) @ vectors.T
    weighed = s @ np.linalg.inv(variance * s + sd * sd * np.eye(d))
    cov = np.linalg.inv(weighed @ s + np.eye(d) / 38)
    return cov @ (weighed @ z), np.sqrt(np.diag(cov))


def theil_sens(r, of, epsilon):
    """OpenDP's LinearRegression (Theil and Sen), each of its settings, for one feature.

    Pure epsilon; a row against another is two rows added or removed, which is how it charges.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    np.random.seed(int(r.integers(2**31)))  # it shuffles pairs by numpy's global generator
    for candidates, runs in THEIL_SEN:
        fit = dp.sklearn.linear_model.LinearRegression(
            dp.max_divergence(),
            x_bounds=[(-1, 1)],
            y_bounds=(-1, 1),
            scale=4 * runs / epsilon * (1 + 1e-9),
            runs=runs,
            candidates_count=candidates,
        )
        assert fit.measurement.map(2) <= epsilon
        found = fit.fit(of.x[:, 1:], of.y)
        yield np.array([found.intercept_, found.coef_[0]])


def perturbed(r, of, epsilon, delta, share):
    """Objective perturbation with Gaussian noise [Kifer, Smith and Thakurta 2012], logistic regression.

    The minimum of the loss + ridge |theta|^2 / 2 + b'theta, |x|^2 <= d. If a row becomes another, the
    densities' ratio is one of determinants, at most 1 + d / (4 ridge), and one of b's, whose loss is at
    most that of Gaussian noise and a move of 2 sqrt(d), of either sign: twice its delta (as Redberg,
    Koskela and Wang 2023 have it for a row added or removed), in place of the paper's sqrt(8 log(2 / delta)
    + 4 epsilon). share: of epsilon, for the determinant.
    """
    ridge = of.d / 4 / math.expm1(share * epsilon)
    sd = 2 * math.sqrt(of.d) / mu_of((1 - share) * epsilon, delta / 2)
    b, y = sd * r.normal(size=of.d), (of.y + 1) / 2
    theta = np.zeros(of.d)

    def loss(at):
        eta = of.x @ at
        return np.logaddexp(0, eta).sum() - y @ eta + ridge * (at @ at) / 2 + b @ at

    for _ in range(100):
        p = 0.5 * (1 + np.tanh(of.x @ theta / 2))
        gradient = of.x.T @ (p - y) + ridge * theta + b
        information = (of.x * (p * (1 - p))[:, None]).T @ of.x + ridge * np.eye(of.d)
        move, length, height = np.linalg.solve(information, gradient), 1.0, loss(theta)
        while length > 1e-6 and loss(theta - length * move) > height:
            length /= 2
        theta = theta - length * move
        if gradient @ move < 1e-9:
            break
    return theta
