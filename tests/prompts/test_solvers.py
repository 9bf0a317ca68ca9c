from itertools import combinations, permutations, product
from math import factorial

import pytest

from canary.prompts.solvers import SOLVERS


def paths(x, y, blocked):
    if (x, y) == blocked or x < 0 or y < 0:
        return 0
    return 1 if (x, y) == (0, 0) else paths(x - 1, y, blocked) + paths(x, y - 1, blocked)


def circle(people, step):
    standing, at = list(range(1, people + 1)), 0
    while len(standing) > 1:
        at = (at + step - 1) % len(standing)
        standing.pop(at)
    return standing[0]


def fibonacci(index):
    return 1 if index <= 2 else fibonacci(index - 1) + fibonacci(index - 2)


def remainders(*wanted):
    return next(n for n in range(1, 8000) if (n % 17, n % 19, n % 23) == wanted)


def attacks(rows, columns):
    squares = list(product(range(rows), range(columns)))
    return sum({abs(a - c), abs(b - d)} == {1, 2} for (a, b), (c, d) in combinations(squares, 2))


def steps(number):
    return 0 if number == 1 else 1 + steps(3 * number + 1 if number % 2 else number // 2)


def digit_sum(n):
    number, total = factorial(n), 0
    while number:
        number, digit = divmod(number, 10)
        total += digit
    return total


def power(base, exponent, modulus):
    result = 1
    for _ in range(exponent):
        result *= base
    return result % modulus


# Each by counting or searching, in another way than the solver; and the small cases to try it on.
TWINS = {
    "value": (lambda number: number, product([-3, 0, 48213])),
    "sum": (lambda a, b: -(-a - b), product([-5, 0, 7], [2, 9])),
    "modular_power": (power, product(range(6), range(6), range(1, 8))),
    "primes_between": (
        lambda a, b: sum(p > 1 and all(p % d for d in range(2, p)) for p in range(a, b + 1)),
        product([0, 1, 2, 3, 10, 13], [0, 1, 2, 4, 13, 50]),
    ),
    "lattice_paths_avoiding": (
        lambda x, y, p, q: paths(x, y, (p, q)),
        product(range(4), range(4), range(5), range(5)),
    ),
    "josephus_survivor": (circle, product(range(1, 12), range(1, 9))),
    "coin_change": (
        lambda amount, *coins: sum(
            sum(n * coin for n, coin in zip(counts, coins, strict=True)) == amount
            for counts in product(range(amount + 1), repeat=3)
        ),
        product(range(9), [1, 2], [3, 4], [5, 20]),
    ),
    "factorial_digit_sum": (digit_sum, product(range(30))),
    "divisors_of_product": (
        lambda a, b, c: sum(a * b * c % d == 0 for d in range(1, a * b * c + 1)),
        product([1, 2, 9], [4, 6, 7], [1, 12, 30]),
    ),
    "fibonacci_modulo": (lambda n, m: fibonacci(n) % m, product(range(1, 16), [1, 2, 7, 10])),
    "remainders_17_19_23": (remainders, product([0, 1, 16], [0, 5, 18], [0, 9, 22])),
    "knight_pairs": (attacks, product(range(2, 6), range(2, 6))),
    "strings_without_run": (
        lambda n, k: sum("1" * k not in "".join(bits) for bits in product("01", repeat=n)),
        product(range(9), range(1, 5)),
    ),
    "sum_of_multiples": (
        lambda n, a, b: sum(i for i in range(1, n) if i % a == 0 or i % b == 0),
        product([1, 2, 30, 100], [1, 4, 6], [3, 9]),
    ),
    "collatz_steps": (steps, product(range(1, 40))),
    "surjections": (
        lambda n, k: sum(set(deal) == set(range(k)) for deal in product(range(k), repeat=n)),
        product(range(6), range(5)),
    ),
    "coprime_up_to": (
        lambda n, m: sum(not any(i % d == 0 and m % d == 0 for d in range(2, m + 1)) for i in range(1, n + 1)),
        product([0, 1, 12, 30], [1, 7, 12, 30]),
    ),
}


def test_every_solver_has_a_twin():
    assert set(SOLVERS) == set(TWINS)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_agrees_with_its_twin(name):
    twin, cases = TWINS[name]
    tried = list(cases)
    assert {case: str(twin(*case)) for case in tried} == {case: SOLVERS[name](*case) for case in tried}


# Known from books and from Project Euler (1 and 20).
@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("collatz_steps", (27,), "111"),
        ("josephus_survivor", (41, 3), "31"),
        ("sum_of_multiples", (1000, 3, 5), "233168"),
        ("factorial_digit_sum", (100,), "648"),
        ("coin_change", (100, 5, 10, 25), "29"),
        ("surjections", (4, 3), "36"),
        ("primes_between", (0, 10_000), "1229"),
        ("knight_pairs", (8, 8), "168"),
        ("fibonacci_modulo", (100, 10**9), "261915075"),
    ],
)
def test_known_values(name, arguments, answer):
    assert answer == SOLVERS[name](*arguments)


@pytest.mark.parametrize("name", SOLVERS)
def test_every_corner_of_the_bounds_has_an_answer(name):
    solver = SOLVERS[name]
    for corner in product(*solver.bounds.values()):
        assert solver(*corner).removeprefix("-").isdecimal()


@pytest.mark.parametrize("name", SOLVERS)
def test_out_of_bounds_is_refused(name):
    solver = SOLVERS[name]
    inside = [low for low, _ in solver.bounds.values()]
    for index, (low, high) in enumerate(solver.bounds.values()):
        for outside in (low - 1, high + 1):
            with pytest.raises(ValueError, match=f"is {outside}, expected {low} to {high}"):
                solver(*inside[:index], outside, *inside[index + 1 :])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        solver(*inside, 1)


def test_the_order_of_coins_and_factors_is_of_no_matter():
    for name, arguments in (("coin_change", (2, 5, 7)), ("divisors_of_product", (12, 90, 7))):
        head = (40,) if name == "coin_change" else ()
        assert len({SOLVERS[name](*head, *order) for order in permutations(arguments)}) == 1
