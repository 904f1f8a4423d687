#!/usr/bin/env python3
"""
Reference values and gradients of the library's functions, from Stan's mathematics library: functions.py INCLUDE OUTPUT [POINTS]

INCLUDE holds Stan's headers and those of Eigen, boost and tbb, as the package httpstan brings them (httpstan/include); LD_LIBRARY_PATH must
name the folder of its libtbb.so. What Stan has no function for (named "own" below) is written out in Stan's differentiable numbers by another
formula than the library's. OUTPUT: for each function "= EXPRESSION", then a line a point: whole numbers k, numbers a, the value, and its
derivatives by a. Where Stan's own are not that exact, mpmath's with 60 digits: exact().
"""
import pathlib
import random
import subprocess
import sys
import tempfile

R = lambda g: g.gauss(0, 2)
P = lambda g: g.lognormvariate(0, 1)
U = lambda g: g.uniform(.02, .98)


def I(low, high):
    return lambda g: g.randint(low, high)


def between(g):
    a = R(g)
    b = a + P(g) + .1
    return [a + (b - a) * U(g), a, b]


def near(g):  # within 5 scales of the middle
    middle, scale = R(g), P(g)
    return [middle + scale * g.uniform(-5, 5), middle, scale]


def ordered(n):
    def draw(g):
        c = [R(g)]
        while len(c) < n:
            c.append(c[-1] + P(g) + .05)
        return c
    return draw


def simplex(n):
    def draw(g):
        x = [g.gammavariate(2, 1) + .05 for _ in range(n)]
        return [v / sum(x) for v in x]
    return draw


def trials(g):
    n = g.randint(1, 30)
    return [g.randint(0, n), n]


def above(draw):  # first the smaller, then the larger
    def pair(g):
        a = draw(g)
        return [a, a + P(g) + .05]
    return pair


# name in the language, ints, reals; C++ of the same with K ints and A numbers, or None: the same name in Stan.
def same(name, ints, reals, n_args, bar=True):
    k, a = [f"k{i + 1}" for i in range(len(ints) if not callable(ints) else 2)], [f"a{i + 1}" for i in range(n_args)]
    listed = k + a
    inner = f"{listed[0]} | {', '.join(listed[1:])}" if bar and name.split("_")[-1] in ("lpdf", "lpmf", "lcdf",
                                                                                        "lccdf") and len(listed) > 1 else ", ".join(listed)
    cpp = f"{name}({', '.join([f'K[{i}]' for i in range(len(k))] + [f'A[{i}]' for i in range(n_args)])})"
    return f"{name}({inner})", ints, reals, cpp


def build():
    f = []
    for name in ("normal", "cauchy", "logistic", "double_exponential", "gumbel"):
        for ending in ("lpdf", "lcdf", "lccdf"):
            f.append(same(f"{name}_{ending}", [], [R, R, P], 3))
    for name in ("lognormal",):
        for ending in ("lpdf", "lcdf", "lccdf"):
            f.append(same(f"{name}_{ending}", [], [P, R, P], 3))
    for name in ("weibull", "frechet", "pareto", "loglogistic"):
        for ending in ("lpdf", "lcdf", "lccdf"):
            if name == "loglogistic" and ending == "lccdf":
                f.append(("loglogistic_lccdf(a1 | a2, a3)", [], [P, P, P], "-log1p(pow(A[0] / A[1], A[2]))"))
            elif name == "loglogistic" and ending == "lcdf":
                f.append(("loglogistic_lcdf(a1 | a2, a3)", [], [P, P, P], "-log1p(pow(A[0] / A[1], -A[2]))"))
            elif name == "pareto":
                f.append((f"pareto_{ending}(a2 | a1, a3)", [], [above(P), P], f"pareto_{ending}(A[1], A[0], A[2])"))
            else:
                f.append(same(f"{name}_{ending}", [], [P, P, P], 3))
    for ending in ("lpdf", "lcdf", "lccdf"):
        f.append(same(f"exponential_{ending}", [], [P, P], 2))
        f.append(same(f"rayleigh_{ending}", [], [P, P], 2))
        f.append(same(f"std_normal_{ending}" if ending == "lpdf" else f"std_normal_{ending}", [], [R], 1))
        f.append(same(f"uniform_{ending}", [], [between], 3))
        f.append((f"pareto_type_2_{ending}(a2 | a1, a3, a4)", [], [above(R), P, P], f"pareto_type_2_{ending}(A[1], A[0], A[2], A[3])"))
    for nu in (1, 2, 3, 4, 7):
        for ending in ("lcdf", "lccdf"):  # 1e-9 to probabilities of 1e-6, by subtraction from 1/2
            f.append((f"student_t_{ending}(a1 | {nu}, a2, a3)", [], [near], f"student_t_{ending}(A[0], {nu}, A[1], A[2])"))
    f.append(same("student_t_lpdf", [], [R, P, R, P], 4))
    f.append(same("skew_normal_lpdf", [], [R, R, P, R], 4))
    f.append(same("exp_mod_normal_lpdf", [], [R, R, P, P], 4))
    f.append(same("skew_double_exponential_lpdf", [], [R, R, P, U], 4))
    f.append(same("von_mises_lpdf", [], [R, R, lambda g: g.choice([.1, 1, 10, 30]) * P(g)], 3))
    for name in ("gamma", "inv_gamma", "scaled_inv_chi_square"):
        f.append(same(f"{name}_lpdf", [], [P, P, P], 3))
    for name in ("chi_square", "inv_chi_square"):
        f.append(same(f"{name}_lpdf", [], [P, P], 2))
    f.append(same("beta_lpdf", [], [U, P, P], 3))
    f.append(same("beta_proportion_lpdf", [], [U, U, P], 3))
    # own
    f.append(("gompertz_lpdf(a1 | a2, a3)", [], [P, P, P], "log(A[2]) + A[1] * A[0] - A[2] * (exp(A[1] * A[0]) - 1) / A[1]"))
    f.append(("gompertz_lccdf(a1 | a2, a3)", [], [P, P, P], "-A[2] * (exp(A[1] * A[0]) - 1) / A[1]"))
    f.append(("gompertz_lcdf(a1 | a2, a3)", [], [P, P, P], "log1m(exp(-A[2] * expm1(A[1] * A[0]) / A[1]))"))
    f.append(("inv_gaussian_lpdf(a1 | a2, a3)", [], [P, P, P],
              "0.5 * log(A[2] / (2 * M_PI * pow(A[0], 3))) - A[2] * square(A[0] - A[1]) / (2 * square(A[1]) * A[0])"))
    f.append(("inv_gaussian_lcdf(a1 | a2, a3)", [], [P, P, P],
              "log(Phi(sqrt(A[2] / A[0]) * (A[0] / A[1] - 1)) + exp(2 * A[2] / A[1]) * Phi(-sqrt(A[2] / A[0]) * (A[0] / A[1] + 1)))"))
    f.append(("generalized_pareto_lpdf(a1 | a2, a3)", [], [P, P, P], "-log(A[2]) - (1 + 1 / A[1]) * log(1 + A[1] * A[0] / A[2])"))
    f.append(("generalized_pareto_lccdf(a1 | a2, a3)", [], [P, P, P], "-log(1 + A[1] * A[0] / A[2]) / A[1]"))
    f.append(("generalized_pareto_lcdf(a1 | a2, a3)", [], [P, P, P], "log1m(pow(1 + A[1] * A[0] / A[2], -1 / A[1]))"))
    # counts
    f.append(same("bernoulli_lpmf", [I(0, 1)], [U], 1))
    f.append(same("bernoulli_logit_lpmf", [I(0, 1)], [R], 1))
    f.append(("bernoulli_probit_lpmf(k1 | a1)", [I(0, 1)], [R], "K[0] == 1 ? std_normal_lcdf(A[0]) : std_normal_lccdf(A[0])"))
    f.append(same("binomial_lpmf", trials, [U], 1))
    f.append(same("binomial_logit_lpmf", trials, [R], 1))
    f.append(same("beta_binomial_lpmf", trials, [P, P], 2))
    f.append(same("poisson_lpmf", [I(0, 30)], [P], 1))
    f.append(same("poisson_log_lpmf", [I(0, 30)], [R], 1))
    f.append(same("neg_binomial_lpmf", [I(0, 30)], [P, P], 2))
    f.append(same("neg_binomial_2_lpmf", [I(0, 30)], [P, P], 2))
    f.append(same("neg_binomial_2_log_lpmf", [I(0, 30)], [R, P], 2))
    f.append(("geometric_logit_lpmf(k1 | a1)", [I(0, 30)], [R], "log(inv_logit(A[0])) + K[0] * log(1 - inv_logit(A[0]))"))
    # classes
    f.append(("categorical_lpmf(k1 | [a1, a2, a3]')", [I(1, 3)], [simplex(3)], "log(A[K[0] - 1])"))
    f.append(("categorical_logit_lpmf(k1 | [a1, a2, a3]')", [I(1, 3)], [R, R, R], "categorical_logit_lpmf(K[0], vec(A, 0, 3))"))
    f.append(("ordered_logistic_lpmf(k1 | a1, [a2, a3, a4]')", [I(1, 4)], [R, ordered(3)], "ordered_logistic_lpmf(K[0], A[0], vec(A, 1, 3))"))
    f.append(("ordered_probit_lpmf(k1 | a1, [a2, a3, a4]')", [I(1, 4)], [lambda g: g.gauss(0, 1), ordered(3)],
              "ordered_probit_lpmf(K[0], A[0], vec(A, 1, 3))"))
    f.append(("multinomial_lpmf({k1, k2} | [a1, a2]')", [I(0, 9), I(0, 9)], [simplex(2)],
              "stan::math::lgamma(K[0] + K[1] + 1.0) - stan::math::lgamma(K[0] + 1.0) - stan::math::lgamma(K[1] + 1.0) + K[0] * log(A[0]) + K[1] * log(A[1])"))
    f.append(("multinomial_logit_lpmf({k1, k2} | [a1, a2]')", [I(0, 9), I(0, 9)], [R, R],
              "multinomial_logit_lpmf(std::vector<int>{K[0], K[1]}, vec(A, 0, 2))"))
    f.append(("dirichlet_lpdf([a1, a2, a3]' | [a4, a5, a6]')", [], [simplex(3), P, P, P],
              "lgamma(A[3] + A[4] + A[5]) - lgamma(A[3]) - lgamma(A[4]) - lgamma(A[5]) + (A[3] - 1) * log(A[0]) + (A[4] - 1) * log(A[1]) + "
              "(A[5] - 1) * log(A[2])"))
    f.append(("multi_normal_lpdf([a1, a2]' | [a3, a4]', [[1.5, 0.4], [0.4, 0.8]])", [], [R, R, R, R],
              "multi_normal_lpdf(vec(A, 0, 2), vec(A, 2, 2), (Eigen::MatrixXd(2, 2) << 1.5, .4, .4, .8).finished())"))
    # zeros
    p0 = {"poisson": "exp(-A[0])", "poisson_log": "exp(-exp(A[0]))"}
    for name, first in (("poisson", P), ("poisson_log", R)):
        f.append((f"zero_inflated_{name}_lpmf(k1 | a1, a2)", [I(0, 9)], [first, U],
                  f"K[0] == 0 ? log(A[1] + (1 - A[1]) * {p0[name]}) : log1m(A[1]) + {name}_lpmf(K[0], A[0])"))
    f.append(("hurdle_poisson_log_lpmf(k1 | a1, a2)", [I(0, 9)], [R, U],
              "K[0] == 0 ? log(A[1]) : log1m(A[1]) + poisson_log_lpmf(K[0], A[0]) - log1m_exp(-exp(A[0]))"))
    nb0 = "pow(A[1] / (A[1] + exp(A[0])), A[1])"
    f.append(("zero_inflated_neg_binomial_2_log_lpmf(k1 | a1, a2, a3)", [I(0, 9)], [R, P, U],
              f"K[0] == 0 ? log(A[2] + (1 - A[2]) * {nb0}) : log1m(A[2]) + neg_binomial_2_log_lpmf(K[0], A[0], A[1])"))
    f.append(("hurdle_neg_binomial_2_log_lpmf(k1 | a1, a2, a3)", [I(0, 9)], [lambda g: g.gauss(1, 1), P, U],
              "K[0] == 0 ? log(A[2]) : log1m(A[2]) + neg_binomial_2_log_lpmf(K[0], A[0], A[1]) - log1m_exp(neg_binomial_2_log_lpmf(0, A[0], A[1]))"))
    f.append(("zero_inflated_binomial_logit_lpmf(k1 | k2, a1, a2)", trials, [R, U],
              "K[0] == 0 ? log(A[1] + (1 - A[1]) * pow(1 - inv_logit(A[0]), K[1])) : log1m(A[1]) + binomial_logit_lpmf(K[0], K[1], A[0])"))
    for name, args in (("lognormal", [P, R, P, U]), ("gamma", [P, P, P, U])):
        f.append((f"hurdle_{name}_lpdf(a1 | a2, a3, a4)", [], args, f"log1m(A[3]) + {name}_lpdf(A[0], A[1], A[2])"))
    # functions of numbers
    for name in ("exp", "expm1", "log1p_exp", "inv_logit", "tanh", "erf", "erfc", "Phi", "Phi_approx", "sin", "cos", "atan", "square", "exp2",
                 "log_inv_logit", "log1m_inv_logit", "inv_cloglog", "sinh", "cosh", "asinh", "inv", "tan"):
        f.append(same(name, [], [R], 1))
    for name in ("log", "log1p", "sqrt", "lgamma", "digamma", "tgamma", "log2", "log10", "inv_sqrt", "inv_square", "cbrt"):
        f.append(same(name, [], [P], 1))
    for name in ("log1m", "logit", "inv_Phi", "asin", "acos", "atanh"):
        f.append(same(name, [], [U], 1))
    f.append(("log1m_exp(-a1)", [], [P], "log1m_exp(-A[0])"))
    f.append(("log_Phi(a1)", [], [R], "std_normal_lcdf(A[0])"))
    f.append(("acosh(1 + a1)", [], [P], "acosh(1 + A[0])"))
    f.append(("abs(a1)", [], [R], "fabs(A[0])"))
    for name in ("lbeta", "lchoose", "pow", "lmultiply", "multiply_log", "hypot", "fmin", "fmax", "log_rising_factorial", "beta"):
        f.append(same(name, [], [above(P)] if name == "lchoose" else [P, P], 2))
    f[-10 + 1] = ("lchoose(a2, a1)", [], [above(P)], "binomial_coefficient_log(A[1], A[0])")
    f.append(("log_falling_factorial(a2, a1)", [], [above(P)], "lgamma(A[1] + 1) - lgamma(A[1] - A[0] + 1)"))
    f.append(("log_sum_exp(a1, a2)", [], [R, R], "log_sum_exp(A[0], A[1])"))
    f.append(("log_diff_exp(a2, a1)", [], [above(R)], "log_diff_exp(A[1], A[0])"))
    f.append(("log_mix(a1, a2, a3)", [], [U, R, R], "log_mix(A[0], A[1], A[2])"))
    f.append(("fdim(a1, a2)", [], [R, R], "fdim(A[0], A[1])"))
    f.append(("atan2(a1, a2)", [], [R, R], "atan2(A[0], A[1])"))
    f.append(("fma(a1, a2, a3)", [], [R, R, R], "fma(A[0], A[1], A[2])"))
    f.append(("softmax([a1, a2, a3]')[2]", [], [R, R, R], "softmax(vec(A, 0, 3))(1)"))
    f.append(("log_softmax([a1, a2, a3]')[2]", [], [R, R, R], "log_softmax(vec(A, 0, 3))(1)"))
    f.append(("log_sum_exp([a1, a2, a3]')", [], [R, R, R], "log_sum_exp(vec(A, 0, 3))"))
    f.append(("sd([a1, a2, a3]')", [], [R, R, R], "sd(vec(A, 0, 3))"))
    f.append(("variance([a1, a2, a3]')", [], [R, R, R], "variance(vec(A, 0, 3))"))
    f.append(("mean([a1, a2, a3]')", [], [R, R, R], "mean(vec(A, 0, 3))"))
    f.append(("prod([a1, a2, a3]')", [], [R, R, R], "prod(vec(A, 0, 3))"))
    f.append(("dot_product([a1, a2], [a3, a4])", [], [R, R, R, R], "dot_product(vec(A, 0, 2), vec(A, 2, 2))"))
    f.append(("norm2([a1, a2]')", [], [R, R], "sqrt(dot_self(vec(A, 0, 2)))"))
    f.append(("distance([a1, a2]', [a3, a4]')", [], [R, R, R, R], "distance(vec(A, 0, 2), vec(A, 2, 2))"))
    f.append(("cumulative_sum([a1, a2, a3]')[3]", [], [R, R, R], "A[0] + A[1] + A[2]"))
    f.append(("cholesky_decompose([[a1 + 3, a2], [a2, 2.5]])[2, 2]", [], [P, U], "sqrt(2.5 - square(A[1]) / (A[0] + 3))"))
    partial = lambda g: g.uniform(-.9, .9)
    factor = "[[1, 0, 0], [a1, sqrt(1 - a1 * a1), 0], [a2, a3 * sqrt(1 - a2 * a2), sqrt((1 - a2 * a2) * (1 - a3 * a3))]]"
    f.append((f"lkj_corr_cholesky_lpdf({factor} | a4)", [], [partial, partial, partial, P], "lkj_corr_cholesky_lpdf(factor(A), A[3])"))
    f.append((f"lkj_corr_lpdf(multiply_lower_tri_self_transpose({factor}) | a4)", [], [partial, partial, partial, P],
              "lkj_corr_lpdf(multiply_lower_tri_self_transpose(factor(A)), A[3])"))
    return f


# Where Stan's own are less exact than 1e-9 (tails of probabilities, derivatives of log Phi and digamma), by mpmath with 60 digits.
def exact():
    from mpmath import mp
    mp.dps = 60

    def phi(x):
        return mp.erfc(-x / mp.sqrt(2)) / 2

    def probit(k, eta, c1, c2, c3):
        ends = [-mp.inf, c1, c2, c3, mp.inf]
        low, high = ends[k - 1] - eta, ends[k] - eta
        low, high = (low, high) if low + high < 0 else (-high, -low)
        return mp.log(phi(high) - (0 if low == -mp.inf else phi(low)))

    return {
        "normal_lcdf(a1 | a2, a3)": lambda k, y, m, s: mp.log(phi((y - m) / s)),
        "normal_lccdf(a1 | a2, a3)": lambda k, y, m, s: mp.log(phi((m - y) / s)),
        "lognormal_lcdf(a1 | a2, a3)": lambda k, y, m, s: mp.log(phi((mp.log(y) - m) / s)),
        "lognormal_lccdf(a1 | a2, a3)": lambda k, y, m, s: mp.log(phi((m - mp.log(y)) / s)),
        "logistic_lccdf(a1 | a2, a3)": lambda k, y, m, s: -mp.log(1 + mp.exp((y - m) / s)),
        "gumbel_lccdf(a1 | a2, a3)": lambda k, y, m, s: mp.log(-mp.expm1(-mp.exp((m - y) / s))),
        "frechet_lccdf(a1 | a2, a3)": lambda k, y, a, s: mp.log(-mp.expm1(-(y / s) ** -a)),
        "std_normal_lcdf(a1)": lambda k, y: mp.log(phi(y)),
        "std_normal_lccdf(a1)": lambda k, y: mp.log(phi(-y)),
        "log_Phi(a1)": lambda k, y: mp.log(phi(y)),
        "exp_mod_normal_lpdf(a1 | a2, a3, a4)": lambda k, y, m, s, r: mp.log(r) + r * (m - y) + (r * s) ** 2 / 2 + mp.log(phi((y - m) / s - r * s)),
        "bernoulli_probit_lpmf(k1 | a1)": lambda k, x: mp.log(phi(x if k[0] == 1 else -x)),
        "digamma(a1)": lambda k, x: mp.digamma(x),
        "ordered_probit_lpmf(k1 | a1, [a2, a3, a4]')": lambda k, eta, *c: probit(k[0], eta, *c),
    }


def refine(output):
    from mpmath import mpf, diff
    functions, lines, f, n_k, n_a = exact(), [], None, 0, 0
    for line in output.read_text().splitlines():
        if line.startswith("="):
            n_k, n_a, name = int(line.split()[1]), int(line.split()[2]), line.split(" ", 3)[3]
            f = functions.get(name)
        elif f is not None:
            fields = line.split()
            k, a = [int(x) for x in fields[:n_k]], [mpf(float(x)) for x in fields[n_k:n_k + n_a]]
            numbers = [f(k, *a)] + [diff(lambda x, i=i: f(k, *a[:i], x, *a[i + 1:]), a[i]) for i in range(n_a)]
            line = " ".join(fields[:n_k + n_a] + [repr(float(x)) for x in numbers])
        lines.append(line + "\n")
    output.write_text("".join(lines))


def draw(sources, g):
    if callable(sources):
        return sources(g)
    values = []
    for source in sources:
        x = source(g)
        values += x if isinstance(x, list) else [x]
    return values


def main():
    if sys.argv[1] == "--refine":  # what an earlier run wrote
        return refine(pathlib.Path(sys.argv[2]))
    include, output, points = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    functions, g = build(), random.Random(20250101)
    work = pathlib.Path(tempfile.mkdtemp())
    lines, data = [], []
    for index, (expression, ints, reals, cpp) in enumerate(functions):
        lines.append(f"  [](const std::vector<int> &K, const std::vector<var> &A) -> var {{ (void)K; return {cpp}; }},  // {expression}\n")
        for _ in range(points):
            k, a = draw(ints, g), draw(reals, g)
            data.append((index, k, a))
    (work / "f.cpp").write_text("""#include <stan/math.hpp>
#include <cstdio>
#include <iostream>
using namespace stan::math;
static Eigen::Matrix<var, -1, 1> vec(const std::vector<var> &A, int first, int n) {
  Eigen::Matrix<var, -1, 1> v(n);
  for (int i = 0; i < n; i++) v(i) = A[first + i];
  return v;
}
static Eigen::Matrix<var, -1, -1> factor(const std::vector<var> &A) { // of a correlation matrix, by partial correlations
  Eigen::Matrix<var, -1, -1> L = Eigen::Matrix<var, -1, -1>::Zero(3, 3);
  L << 1, 0, 0, A[0], sqrt(1 - square(A[0])), 0, A[1], A[2] * sqrt(1 - square(A[1])), sqrt((1 - square(A[1])) * (1 - square(A[2])));
  return L;
}
static var (*const functions[])(const std::vector<int> &, const std::vector<var> &) = {
""" + "".join(lines) + """};
int main() {
  int index, n_k, n_a;
  while (std::scanf("%d %d %d", &index, &n_k, &n_a) == 3) {
    std::vector<int> K(n_k);
    std::vector<var> A(n_a);
    for (int i = 0; i < n_k; i++) std::scanf("%d", &K[i]);
    for (int i = 0; i < n_a; i++) { double x; std::scanf("%lf", &x); A[i] = x; }
    try {
      var v = functions[index](K, A);
      v.grad();
      std::printf("%.17g", v.val());
      for (int i = 0; i < n_a; i++) std::printf(" %.17g", A[i].adj());
    } catch (const std::exception &error) { // outside of what Stan takes
      std::fprintf(stderr, "%d: %s\\n", index, error.what());
    }
    std::printf("\\n");
    recover_memory();
  }
}
""")
    flags = ["-std=c++14", "-O0", "-w", "-D_REENTRANT", "-DBOOST_DISABLE_ASSERTS", "-DBOOST_PHOENIX_NO_VARIADIC_EXPRESSION", "-DSTAN_THREADS"]
    library = pathlib.Path(include).parent / "lib"
    subprocess.run(["g++", *flags, "-I", include, work / "f.cpp", "-o", work / "f", "-L", library, "-l:libtbb.so.2", "-pthread"], check=True)
    text = "".join(f"{i} {len(k)} {len(a)} {' '.join(map(str, k))} {' '.join(map(repr, a))}\n" for i, k, a in data)
    results = subprocess.run([work / "f"], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    assert len(results) == len(data)
    with output.open("w") as file:
        last = -1
        for (index, k, a), result in zip(data, results):
            if index != last:
                file.write(f"= {len(k)} {len(a)} {functions[index][0]}\n")
                last = index
            if result and "nan" not in result and "inf" not in result:
                file.write(" ".join([*map(str, k), *map(repr, a), result]) + "\n")
    refine(output)


main()
