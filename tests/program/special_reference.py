#!/usr/bin/env python3
"""Write special_reference.txt: operation, operands and value in hexadecimal, to 40 digits by mpmath, rounded once.

    special_reference.py > special_reference.txt
"""
import random

from mpmath import mp, mpf, atan, cos, digamma, erf, erfc, erfinv, exp, expm1, log, log1p, loggamma, ncdf, npdf, power, psi, sin, sqrt, tanh

mp.dps = 60
random.seed(20)


def spread(low, high, n=24):
    return [low + (high - low) * random.random() for _ in range(n)]


def logs(low, high, n=24):
    return [10 ** x for x in spread(low, high, n)]


def both(xs):
    return xs + [-x for x in xs]


def log_phi(x):
    return log(ncdf(x)) if x > -30 else log(erfc(-x / sqrt(mpf(2))) / 2)


def softplus(x):
    return log1p(exp(x)) if x < 300 else x + exp(-x)


FUNCTIONS = {
    "exp": (exp, both(logs(-8, 2.8)) + [0.0, 1.0, -1.0]),
    "expm1": (expm1, both(logs(-12, 2.8)) + [1.0]),
    "log": (log, logs(-300, 300) + spread(0.5, 2.0) + [1 + 1e-10, 1 - 1e-10]),
    "log1p": (log1p, logs(-15, 15) + [-x for x in logs(-15, -0.001)]),
    "log1p_exp": (softplus, both(logs(-3, 2.8))),
    "log1m_exp": (lambda x: log(-expm1(x)), [-x for x in logs(-10, 2.5)]),
    "inv_logit": (lambda x: 1 / (1 + exp(-x)), both(logs(-3, 2.7))),
    "tanh": (tanh, both(logs(-10, 1.5))),
    "lgamma": (loggamma, logs(-10, 15) + spread(0.9, 2.1) + spread(2.5, 40)),
    "digamma": (digamma, logs(-10, 15) + spread(0.1, 1.4) + spread(1.6, 40)),
    "trigamma": (lambda x: psi(1, x), logs(-8, 10) + spread(0.1, 40)),
    "erf": (erf, both(logs(-10, 0.8)) + spread(0.4, 1.2)),
    "erfc": (erfc, both(logs(-3, 0.7)) + spread(0.3, 0.7) + spread(5, 26)),
    "Phi": (ncdf, both(logs(-3, 0.9)) + [-x for x in spread(8, 37)]),
    "log_Phi": (log_phi, both(logs(-3, 0.9)) + [-x for x in spread(8, 37)] + [-x for x in logs(2, 6)]),
    "inv_Phi": (lambda p: sqrt(mpf(2)) * erfinv(2 * mpf(p) - 1), spread(0.001, 0.999, 40) + logs(-14, -3)),
    "mills": (lambda x: npdf(x) / ncdf(x) if x > -500 else -x + 1 / -x - 2 / (-x) ** 3, both(logs(-3, 0.9)) + [-x for x in logs(1, 2.5)]),
    "sin": (sin, both(logs(-8, 5)) + spread(-7, 7)),
    "cos": (cos, both(logs(-8, 5)) + spread(-7, 7)),
    "atan": (atan, both(logs(-10, 10)) + spread(-3, 3)),
}


def main():
    for name, (function, points) in FUNCTIONS.items():
        for x in points:
            value = float(function(mpf(x)))
            if value == value and abs(value) < 1e308 and (value == 0 or abs(value) > 1e-300):
                print(name, float(x).hex(), (0.0).hex(), value.hex())
    for _ in range(60):
        x, y = 10 ** random.uniform(-5, 5), random.uniform(-20, 20)
        print("pow", x.hex(), y.hex(), float(power(mpf(x), mpf(y))).hex())


main()
