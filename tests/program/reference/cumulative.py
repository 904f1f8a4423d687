#!/usr/bin/env python3
"""Logarithms of cumulative distributions at numbers, by mpmath with 60 digits: cumulative.py > ../cumulative_reference.h"""
import mpmath as mp

mp.mp.dps = 60
cases = []


def add(name, args, lower, upper):
    text = f"{args[0]!r} | " + ", ".join(map(repr, args[1:]))
    for ending, tail in (("lcdf", lower), ("lccdf", upper)):
        value = mp.log(tail) if tail > 0 else -mp.inf
        shown = {mp.inf: "INFINITY", -mp.inf: "-INFINITY"}.get(value) or mp.nstr(value, 20)
        cases.append(f'      {{"{name}_{ending}({text})", {shown}}},')


def gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True), mp.gammainc(a, x, mp.inf, regularized=True)


def beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True), mp.betainc(a, b, x, 1, regularized=True)


for x, a, b in ((1.0, 2.0, 0.1), (0.01, 0.01, 0.01), (30.0, 2.0, 1.5), (100.0, 100.0, 1.0), (5.0, 0.5, 3.0), (1e-8, 3.0, 1.0), (2000.0, 1500.0, 1.0)):
    lower, upper = gamma(mp.mpf(a), mp.mpf(x) * mp.mpf(b))
    add("gamma", (x, a, b), lower, upper)
for x, a, b in ((0.5, 0.4, 0.3), (10.0, 2.0, 3.0), (0.02, 3.0, 1.0)):
    lower, upper = gamma(mp.mpf(a), mp.mpf(b) / mp.mpf(x))
    add("inv_gamma", (x, a, b), upper, lower)
for x, nu in ((3.0, 4.0), (50.0, 3.0)):
    lower, upper = gamma(mp.mpf(nu) / 2, mp.mpf(x) / 2)
    add("chi_square", (x, nu), lower, upper)
for x, a, b in ((0.3, 2.0, 5.0), (0.97, 0.5, 0.5), (0.001, 8.0, 3.0), (0.6, 300.0, 200.0)):
    lower, upper = beta(mp.mpf(a), mp.mpf(b), mp.mpf(x))
    add("beta", (x, a, b), lower, upper)
for y, nu, mu, sigma in ((0.0, 3.5, 0.0, 2.5), (-4.0, 2.5, 1.0, 0.5), (9.0, 7.3, 0.0, 2.0), (1.0, 3.0, 0.0, 2.5)):
    z = (mp.mpf(y) - mp.mpf(mu)) / mp.mpf(sigma)
    outer = mp.betainc(mp.mpf(nu) / 2, mp.mpf(1) / 2, 0, mp.mpf(nu) / (mp.mpf(nu) + z * z), regularized=True) / 2
    lower, upper = (outer, 1 - outer) if z < 0 else (1 - outer, outer)
    add("student_t", (y, nu, mu, sigma), lower, upper)


def counts(name, args, probability):
    k = args[0]
    lower = mp.fsum(probability(mp.mpf(j)) for j in range(k + 1))
    add(name, args, lower, 1 - lower)


m, phi = mp.mpf("1.7"), mp.mpf("0.6")
counts("poisson", (2, 1.7), lambda j: mp.exp(-mp.mpf(1.7)) * mp.mpf(1.7) ** j / mp.factorial(j))
counts("poisson", (0, 1e-9), lambda j: mp.exp(-mp.mpf(1e-9)) * mp.mpf(1e-9) ** j / mp.factorial(j))
counts("poisson_log", (3, 0.4), lambda j: mp.exp(-mp.exp(mp.mpf(0.4))) * mp.exp(mp.mpf(0.4) * j) / mp.factorial(j))
counts("binomial", (3, 9, 0.3), lambda j: mp.binomial(9, j) * mp.mpf(0.3) ** j * (1 - mp.mpf(0.3)) ** (9 - j))
counts("neg_binomial_2", (1, 1.7, 0.6), lambda j: mp.binomial(j + mp.mpf(0.6) - 1, j) * (mp.mpf(1.7) / (mp.mpf(1.7) + mp.mpf(0.6))) ** j
       * (mp.mpf(0.6) / (mp.mpf(1.7) + mp.mpf(0.6))) ** mp.mpf(0.6))
print("/* Written by reference/cumulative.py. */")
print("\n".join(cases))
