"""Small linear systems, for experiments that need no more than Python."""


def solve(a, b):
    """Solutions and inverse of a small system, by Gauss-Jordan. ZeroDivisionError: it has none."""
    n = len(b)
    m = [[*a[i], b[i], *(float(i == j) for j in range(n))] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[pivot] = m[pivot], m[i]
        m[i] = [v / m[i][i] for v in m[i]]
        for r in range(n):
            if r != i:
                m[r] = [v - m[r][i] * w for v, w in zip(m[r], m[i])]
    return [row[n] for row in m], [row[n + 1:] for row in m]
