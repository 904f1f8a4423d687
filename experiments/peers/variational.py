"""Noise-aware variational inference [Alrawajfeh, Jälkö and Honkela 2025], re-expressed.

A diagonal normal q over the parameters is fitted by gradient descent on the evidence bound, each row's
gradient clipped and the sums noisy. The trace is then data: a noisy gradient is H (phi_t - phi*) + noise, H
diagonal, so that phi*, what descent without noise would reach, has a posterior; the answer's variance is
q's at phi* and that of phi*. Read: the code, github.com/DPBayes/noise-aware-dpvi (commit 50de639); extracts
of the paper.

What differs: all rows in each step, whose cost is exact for a row against another, in place of Poisson
samples; expectations over q by quadrature in place of ten draws; prior and entropy are added after the
clip; steps are longer, and no longer than the curvature's bound allows; the posterior of the trace is
summed on a grid, and told by medians and quantiles, since it has tails where H is not far from 0.
"""

import math

import numpy as np

STEPS = 1000
SKIPPED = 0.2  # of the trace, as published
START = -6.0  # of what softplus makes sds of
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(3)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
RATE_OF_STEPS = 5 * math.sqrt(2)  # how far steps of noise alone go, times the square root of parameters
PRIOR_SD = 5.0  # of coefficients of a logistic regression, and of phi* around the trace's mean
RIDGE, SHAPE, RATE = 0.025, 20, 0.5  # priors of a linear regression, as in samplers
DRAWS = 4000


def logistic(eta):
    return 0.5 * (1 + np.tanh(eta / 2))


def softplus(u):
    return np.logaddexp(0, u)


class Logistic:
    """Gradients of -log likelihood, a row each, and of the divergence from the prior."""

    cov_scale = 50  # times the clip, as published

    def __init__(self, of):
        self.x, self.square, self.y, self.dim = of.x, np.square(of.x), (of.y + 1) / 2, of.d
        self.norm, self.fourth = self.square.sum(1), np.square(self.square)
        self.rates, self.cov_rates = np.full(of.d, RATE_OF_STEPS), np.full(of.d, math.sqrt(2))
        self.start = np.zeros(of.d)

    def curvature(self, mean):
        """A bound of the curvature of a row's loss: |x|^2 / 4, |x|^2 <= d."""
        return np.full(self.dim, self.dim / 4)

    def gradients(self, mean, sd, slope, scale, clip):
        """Sums over rows of clipped gradients of means and, times scale, of what softplus makes sds of.

        A row's are x f and x^2 g sd slope, f and g numbers.
        """
        spread = np.sqrt(self.square @ np.square(sd))
        p = logistic((self.x @ mean)[:, None] + spread[:, None] * NODES)
        f, g = p @ WEIGHTS - self.y, (p * (1 - p)) @ WEIGHTS
        by = sd * slope * scale
        norm = np.sqrt(np.square(f) * self.norm + np.square(g) * (self.fourth @ np.square(by)))
        weight = np.minimum(1, clip / np.maximum(norm, 1e-300))
        return (weight * f) @ self.x, ((weight * g) @ self.square) * by

    def prior(self, mean, sd):
        return mean / PRIOR_SD**2, sd / PRIOR_SD**2 - 1 / sd


class Linear:
    """As Logistic; the last parameter is what softplus makes the residual variance of."""

    cov_scale = 6

    def __init__(self, of):
        self.x, self.square, self.y, self.dim = of.x, np.square(of.x), of.y, of.d + 1
        self.norm, self.fourth = self.square.sum(1), np.square(self.square)
        self.rates = np.append(np.full(of.d, RATE_OF_STEPS), RATE_OF_STEPS / 3)
        self.cov_rates = np.full(self.dim, 4 * math.sqrt(2))
        self.start = np.append(np.zeros(of.d), -4.0)

    def variances(self, mean, sd):
        """Variances at nodes of the last parameter, and their slopes."""
        u = mean[-1] + sd[-1] * NODES
        return softplus(u), logistic(u)

    def curvature(self, mean):
        d = self.dim - 1
        return np.append(np.full(d, d / softplus(mean[-1])), 2.0)

    def gradients(self, mean, sd, slope, scale, clip):
        variance, change = self.variances(mean, sd)
        precision = WEIGHTS @ (1 / variance)
        off = self.x @ mean[:-1] - self.y
        square = np.square(off) + self.square @ np.square(sd[:-1])
        weights = np.stack([WEIGHTS, WEIGHTS * NODES])
        level, fall = weights @ (0.5 * change / variance), weights @ (0.5 * change / variance**2)
        last = level - square[:, None] * fall  # of the variance's mean and, over the nodes, of its sd
        by = slope * scale
        of_sd = precision * sd[:-1] * by[:-1]
        norm = np.square(off * precision) * self.norm + self.fourth @ np.square(of_sd)
        norm = np.sqrt(norm + np.square(last[:, 0]) + np.square(last[:, 1] * by[-1]))
        weight = np.minimum(1, clip / np.maximum(norm, 1e-300))
        first = (weight * off * precision) @ self.x
        return np.append(first, weight @ last[:, 0]), np.append(
            (weight @ self.square) * of_sd, weight @ last[:, 1] * by[-1]
        )

    def prior(self, mean, sd):
        """Coefficients normal(0, variance / RIDGE), the variance inverse gamma(SHAPE, RATE)."""
        variance, change = self.variances(mean, sd)
        precision = WEIGHTS @ (1 / variance)
        ridge = 0.5 * RIDGE * (np.square(mean[:-1]) + np.square(sd[:-1])).sum()
        d = self.dim - 1
        u = mean[-1] + sd[-1] * NODES
        last = ((SHAPE + 1 + d / 2) / variance - (RATE + ridge) / variance**2) * change - (1 - logistic(u))
        return (
            np.append(RIDGE * precision * mean[:-1], WEIGHTS @ last),
            np.append(RIDGE * precision * sd[:-1], WEIGHTS @ (last * NODES)) - 1 / sd,
        )


def descend(r, model, mu, clip):
    """Traces of parameters and noisy gradients, shapes (STEPS, 2 dim), and the noise's sd in each."""
    dim, noise = model.dim, 2 * clip * math.sqrt(STEPS) / mu  # a row against another moves a sum by 2 clip
    scale = np.full(dim, model.cov_scale * clip)
    by = np.stack([np.ones(dim), scale])
    rates = np.stack([model.rates, model.cov_rates]) * by / (math.sqrt(STEPS * 2 * dim) * noise)
    phi = np.stack([model.start, np.full(dim, START)])
    trace, gradients = np.empty((STEPS, 2, dim)), np.empty((STEPS, 2, dim))
    for t in range(STEPS):
        mean, sd, slope = phi[0], softplus(phi[1]), logistic(phi[1])
        sums = np.stack(model.gradients(mean, sd, slope, scale, clip)) + noise * r.normal(size=(2, dim))
        first, second = model.prior(mean, sd)
        gradient = sums / by + np.stack([first, second * slope])
        trace[t], gradients[t] = phi, gradient
        longest = 1 / (len(model.x) * model.curvature(mean))
        phi = phi - np.stack([np.minimum(rates[0], longest), rates[1]]) * gradient
    return trace.reshape(STEPS, -1), gradients.reshape(STEPS, -1), (noise / by).ravel()


def optimum(r, trace, gradient, noise, prior):
    """Draws of one parameter's phi*, given its trace and a diagonal H whose prior is around its estimate."""
    moved, at = trace - trace.mean(), gradient.mean()
    square = max(moved @ moved, 1e-300)
    estimate, sd = abs(gradient @ moved) / square, noise / math.sqrt(square)
    h = estimate + sd * np.linspace(-6, 6, 601)
    h = h[h > 0]
    log_weight = -((h - estimate) ** 2 + (h - gradient @ moved / square) ** 2) / (2 * sd * sd)
    of_mean = noise**2 / len(trace)
    marginal = of_mean + np.square(h * prior)
    log_weight -= (np.log(marginal) + at * at / marginal) / 2
    weight = np.exp(log_weight - log_weight.max())
    h = r.choice(h, size=DRAWS, p=weight / weight.sum())
    precision = h * h / of_mean
    total = precision + prior**-2
    return trace.mean() - at / h * precision / total + r.normal(size=DRAWS) / np.sqrt(total)


def noise_aware(r, model, mu, clip):
    """Coefficients: medians, and bounds that 90 % of draws lie between."""
    trace, gradients, noise = descend(r, model, mu, clip)
    skipped = int(SKIPPED * STEPS)
    priors = np.repeat([PRIOR_SD, 1], model.dim)  # of phi*, around the trace; 1 is published
    drawn = [
        optimum(r, trace[skipped:, j], gradients[skipped:, j], noise[j], priors[j])
        for j in range(2 * model.dim)
    ]
    means, spreads = np.array(drawn[: model.dim]), softplus(np.array(drawn[model.dim :]))
    return np.quantile(means + spreads * r.normal(size=means.shape), (0.5, 0.05, 0.95), axis=1)
