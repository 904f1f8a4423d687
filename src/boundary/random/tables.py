#!/usr/bin/env python3
"""Write the constant tables of src/boundary/random to standard output, as C: the build asks for them.

Standard library only. The tests rebuild the first table in integer arithmetic and check the
identities that define the second.
"""
from decimal import Decimal, getcontext

getcontext().prec = 220
BITS, PARTS, LAYERS, POISSON_MEAN, POISSON_PARTS = 512, 27, 256, 16, 300


def integer_part_cdf():
    """floor(2^512 F(k)), F(k) = sum_{j<=k} exp(-j^2/2) / sum_j exp(-j^2/2)."""
    weights = [(Decimal(-j * j) / 2).exp() for j in range(40)]
    total, partial, cdf = sum(weights), Decimal(0), []
    for weight in weights[:PARTS]:
        partial += weight
        cdf.append(int(partial / total * 2**BITS))
    return cdf


def poisson_cdf():
    """floor(2^512 F(k)), F the distribution function of a Poisson number, up to where all digits are ones."""
    term, partial, cdf = Decimal(-POISSON_MEAN).exp(), Decimal(0), []
    for k in range(POISSON_PARTS):
        partial += term
        term *= Decimal(POISSON_MEAN) / (k + 1)
        cdf.append(int(partial * 2**BITS))
        if cdf[-1] == 2**BITS - 1:
            return cdf
    raise ValueError("POISSON_PARTS is too small")


def half_normal_area():
    """sqrt(pi/2) by Machin's formula for pi."""
    def arctan_inverse(n):
        total, power, j = Decimal(0), Decimal(1) / n, 0
        while power > Decimal(10) ** -80:
            total += (-power if j % 2 else power) / (2 * j + 1)
            power /= n * n
            j += 1
        return total
    return ((16 * arctan_inverse(5) - 4 * arctan_inverse(239)) / 2).sqrt()


def tail_area(r, whole):
    """Integral of exp(-x^2/2) over (r, inf), from the series of the integral over (0, r)."""
    term, body, j = r, Decimal(0), 0
    while abs(term) > Decimal(10) ** -80:
        body += term / (2 * j + 1)
        j += 1
        term *= -r * r / (2 * j)
    return whole - body


def density(x):
    return (-x * x / 2).exp()


def layers_above(r, whole):
    """Edges x_1 = r > x_2 > ... of layers of equal area, and that area."""
    area = r * density(r) + tail_area(r, whole)
    edges = [r]
    while len(edges) < LAYERS - 1:
        height = density(edges[-1]) + area / edges[-1]
        if height >= 1:
            break
        edges.append((-2 * height.ln()).sqrt())
    return edges, area


def ziggurat():
    """Edges x_0 .. x_256 such that the top layer closes at density 1 [MarsagliaTsang2000]."""
    getcontext().prec = 90
    whole, low, high = half_normal_area(), Decimal(3), Decimal(4)
    while high - low > Decimal(10) ** -40:
        r = (low + high) / 2
        edges, area = layers_above(r, whole)
        closes = len(edges) == LAYERS - 1 and density(edges[-1]) + area / edges[-1] < 1
        low, high = (low, r) if closes else (r, high)
    edges, area = layers_above(high, whole)
    return [area / density(high)] + edges + [Decimal(0)]


def print_rows(values, per_row):
    for i in range(0, len(values), per_row):
        print("    " + ", ".join(values[i:i + per_row]) + ",")


def print_cdf(name, length, cdf):
    print(f"const uint64_t {name}[TACIT_CDF_WORDS][{length}] = {{")
    for word in range(BITS // 64):
        print("  {")
        print_rows([f"0x{(c >> (BITS - 64 * (word + 1))) & (2**64 - 1):016x}" for c in cdf], 4)
        print("  },")
    print("};\n")


def main():
    integer_parts, poisson = integer_part_cdf(), poisson_cdf()
    edges = ziggurat()
    print("/* Written by tables.py. */")
    print('#include "random/tables.h"\n')
    print_cdf("tacit_integer_part_cdf", "TACIT_N_INTEGER_PARTS", integer_parts)
    print_cdf("tacit_poisson_cdf", "TACIT_N_POISSON", poisson)
    print("const double tacit_ziggurat_edge[TACIT_N_LAYERS + 1] = {")
    print_rows([float(x).hex() for x in edges], 4)
    print("};\n")
    print("const double tacit_ziggurat_density[TACIT_N_LAYERS + 1] = {")
    print_rows([float(density(x)).hex() for x in edges], 4)
    print("};")


main()
