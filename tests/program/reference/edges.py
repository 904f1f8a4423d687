#!/usr/bin/env python3
"""
Functions of the library at the edges of what their arguments may be, by mpmath with 100 digits: edges.py POINTS > TABLE

TABLE is read by test_program_library TABLE: "= WHOLE REALS EXPRESSION", then a line a point: whole numbers k, numbers a, the value, its
derivatives by a. edges.txt, which the quick test reads, has 20 points of each. With 10 000 of each (220 000; four minutes) no
value is off by more than 9.4e-11 and no derivative by more than 2.7e-10, relative errors as the test takes them.
"""
import random
import sys

import mpmath as mp

mp.mp.dps = 100
g = random.Random(7)
UNIT = 2.0 ** -53


def log_uniform(low, high):
    return 10 ** g.uniform(low, high)


def real(span):
    return g.choice((-1, 1)) * log_uniform(-3, span)


def count(mean):
    """A count that may well be seen at this mean, or 0, or far away."""
    m = min(mean, 1e5)
    return g.choice((0, 1, int(m), int(m + 3 * m ** .5 * g.random()), g.randrange(0, 30)))


def precision():
    return g.choice((log_uniform(-6, 2), log_uniform(2, 17), 1e8, 6e16))


def lg(x):
    return mp.loggamma(x).real if x > 0 else mp.log(abs(mp.gamma(x)))


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 200 else x + mp.log1p(mp.exp(-x))


def poisson_log(y, eta):
    return y * eta - mp.exp(eta) - lg(mp.mpf(y) + 1)


def negbin_log(y, eta, phi):
    u = eta - mp.log(phi)
    return lg(y + phi) - lg(phi) - lg(mp.mpf(y) + 1) + y * u - (y + phi) * softplus(u)


def choose(n, k):
    return lg(n + mp.mpf(1)) - lg(k + mp.mpf(1)) - lg(n - k + mp.mpf(1))


def lbeta(a, b):
    return lg(a) + lg(b) - lg(a + b)


def binomial_logit(y, n, eta):
    return choose(n, y) - y * softplus(-eta) - (n - y) * softplus(eta)


def zero_or(y, theta, none, density):
    return mp.log(theta + (1 - theta) * none) if y == 0 else mp.log1p(-theta) + density


def share():
    return min(max(g.choice((log_uniform(-12, -1), g.random(), 1 - log_uniform(-9, -1))), 1e-12), 1 - 1e-9)


def trials():
    n = g.choice((1, 5, 20, 1000))
    return [g.choice((0, n, g.randint(0, n))), n]


def mean_and_precision():
    m = log_uniform(-8, 5)
    return [count(m)], [m, precision()]


def log_mean_and_precision():
    eta = g.uniform(-40, 12)
    return [count(float(mp.exp(eta)))], [eta, precision()]


def far_zero(parts):
    eta = g.choice((g.uniform(-60, 12), g.uniform(-700, -40)))
    return [g.choice((0, count(float(mp.exp(eta)))))], [eta, *parts()]


def nonpole():
    x = g.choice((log_uniform(-10, 15), -log_uniform(-8, 2.5)))
    return x if abs(x - round(x)) > 1e-6 * (1 + abs(x)) or x > 0 else x + 0.37


def two_counts(top=12):
    n = log_uniform(0, top)
    return [n, n * g.choice((g.random(), 1 - log_uniform(-9, -1), log_uniform(-9, -1)))]


def tilted(bound):
    return g.choice((real(2), g.uniform(-bound, bound), bound, -bound))


FUNCTIONS = [
    (0, 2, "log_sum_exp(a1, a2)", lambda: ([], [tilted(700), tilted(700)]), lambda k, a: mp.log(mp.exp(a[0]) + mp.exp(a[1]))),
    (0, 1, "log_sum_exp(a1, negative_infinity())", lambda: ([], [real(300)]), lambda k, a: a[0]),
    (0, 1, "log_sum_exp(negative_infinity(), a1)", lambda: ([], [real(300)]), lambda k, a: a[0]),
    (1, 2, "neg_binomial_2_lpmf(k1 | a1, a2)", mean_and_precision, lambda k, a: negbin_log(k[0], mp.log(a[0]), a[1])),
    (1, 2, "neg_binomial_2_log_lpmf(k1 | a1, a2)", log_mean_and_precision, lambda k, a: negbin_log(k[0], a[0], a[1])),
    (1, 2, "neg_binomial_lpmf(k1 | a1, a2)", lambda: (lambda m, f: ([count(m)], [m * f, f]))(log_uniform(-6, 4), log_uniform(-4, 12)),
     lambda k, a: negbin_log(k[0], mp.log(a[0] / a[1]), a[0])),
    (2, 2, "beta_binomial_lpmf(k1 | k2, a1, a2)",
     lambda: (trials(), [c * s for c in [g.choice((log_uniform(-4, 3), float(mp.exp(35)), log_uniform(3, 15)))] for s in (share(), share())]),
     lambda k, a: choose(k[1], k[0]) + lbeta(k[0] + a[0], k[1] - k[0] + a[1]) - lbeta(a[0], a[1])),
    (0, 4, "student_t_lpdf(a1 | a2, a3, a4)",
     lambda: (lambda s, m: ([], [m + s * g.choice((g.gauss(0, 2), real(4))), g.choice((log_uniform(-1, 2), log_uniform(2, 16), 1e14)), m, s]))(
         log_uniform(-3, 3), real(1)),
     lambda k, a: lg((a[1] + 1) / 2) - lg(a[1] / 2) - mp.log(a[1] * mp.pi) / 2 - mp.log(a[3]) - (a[1] + 1) / 2 * mp.log1p(((a[0] - a[2]) / a[3]) ** 2 / a[1])),
    (0, 2, "lbeta(a1, a2)", lambda: ([], [log_uniform(-10, 16), log_uniform(-10, 16)]), lambda k, a: lbeta(a[0], a[1])),
    (0, 2, "lchoose(a1, a2)", lambda: ([], two_counts()), lambda k, a: choose(a[0], a[1])),
    (0, 1, "lgamma(a1)", lambda: ([], [nonpole()]), lambda k, a: lg(a[0])),
    (0, 2, "log_rising_factorial(a1, a2)", lambda: ([], [log_uniform(-3, 15), log_uniform(-3, 4)]), lambda k, a: lg(a[0] + a[1]) - lg(a[0])),
    (0, 2, "log_diff_exp(a1, a2)", lambda: (lambda x: ([], [x, x - log_uniform(-8, 2.5)]))(tilted(300)), lambda k, a: a[0] + mp.log(-mp.expm1(a[1] - a[0]))),
    (0, 3, "log_mix(a1, a2, a3)", lambda: ([], [share(), tilted(700), tilted(700)]),
     lambda k, a: mp.log(a[0] * mp.exp(a[1]) + (1 - a[0]) * mp.exp(a[2]))),
    (1, 1, "poisson_log_lpmf(k1 | a1)", lambda: far_zero(lambda: []), lambda k, a: poisson_log(k[0], a[0])),
    (1, 2, "zero_inflated_poisson_log_lpmf(k1 | a1, a2)", lambda: far_zero(lambda: [share()]),
     lambda k, a: zero_or(k[0], a[1], mp.exp(-mp.exp(a[0])), poisson_log(k[0], a[0]))),
    (1, 3, "zero_inflated_neg_binomial_2_log_lpmf(k1 | a1, a2, a3)", lambda: far_zero(lambda: [log_uniform(-3, 9), share()]),
     lambda k, a: zero_or(k[0], a[2], mp.exp(-a[1] * softplus(a[0] - mp.log(a[1]))), negbin_log(k[0], a[0], a[1]))),
    (2, 2, "zero_inflated_binomial_logit_lpmf(k1 | k2, a1, a2)", lambda: (trials(), [tilted(60), share()]),
     lambda k, a: zero_or(k[0], a[1], mp.exp(-k[1] * softplus(a[0])), binomial_logit(k[0], k[1], a[0]))),
    (1, 2, "hurdle_poisson_log_lpmf(k1 | a1, a2)", lambda: far_zero(lambda: [share()]),
     lambda k, a: mp.log(a[1]) if k[0] == 0 else mp.log1p(-a[1]) + poisson_log(k[0], a[0]) - mp.log(-mp.expm1(-mp.exp(a[0])))),
    (1, 3, "hurdle_neg_binomial_2_log_lpmf(k1 | a1, a2, a3)", lambda: far_zero(lambda: [log_uniform(-3, 9), share()]),
     lambda k, a: mp.log(a[2]) if k[0] == 0 else mp.log1p(-a[2]) + negbin_log(k[0], a[0], a[1])
     - mp.log(-mp.expm1(-a[1] * softplus(a[0] - mp.log(a[1]))))),
    (2, 1, "binomial_logit_lpmf(k1 | k2, a1)", lambda: (trials(), [tilted(60)]), lambda k, a: binomial_logit(k[0], k[1], a[0])),
    (0, 3, "weibull_lcdf(a1 | a2, a3)", lambda: ([], [log_uniform(-4, 3), log_uniform(-1, 1), log_uniform(-2, 2)]),
     lambda k, a: mp.log(-mp.expm1(-(a[0] / a[2]) ** a[1]))),
]


def slope(f, k, a, i):
    h = abs(a[i]) * mp.mpf(10) ** -30
    up, down = list(a), list(a)
    up[i], down[i] = a[i] + h, a[i] - h
    return (f(k, up) - f(k, down)) / (2 * h)


def main():
    n = int(sys.argv[1])
    for n_k, n_a, expression, draw, f in FUNCTIONS:
        print(f"= {n_k} {n_a} {expression}")
        for _ in range(n):
            k, a = draw()
            x = [mp.mpf(v) for v in a]
            numbers = [f(k, x), *(slope(f, k, x, i) for i in range(n_a))]
            print(*k, *(repr(float(v)) for v in a), *(mp.nstr(v, 18) for v in numbers))


main()
