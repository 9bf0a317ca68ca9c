"""Questions with a known answer: what makes a reasoning model think long, and a program almost not at all.

A solver is one function of integers and one row here; probe files name it. Two rules:

- It is total: every choice of integers within its bounds has an answer. So no drawn question can fail in mid-run.
- Its bounds keep it under 5 ms, for it runs on the thread that also stamps network reads.

What a solver computes is said once, in its docstring, in the words that a question must put to the model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """`bounds`: each parameter's inclusive range, in the order in which arguments are given."""

    function: Callable[..., int]
    bounds: Mapping[str, tuple[int, int]]

    def __call__(self, *arguments: int) -> str:
        """The answer in decimal digits. Raises ValueError where an argument is out of bounds or missing."""
        for (name, (low, high)), value in zip(self.bounds.items(), arguments, strict=True):
            if not low <= value <= high:
                msg = f"{name} is {value}, expected {low} to {high}"
                raise ValueError(msg)
        return str(self.function(*arguments))


def value(number: int) -> int:
    """The number itself: for what is hidden in a document."""
    return number


def total(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def modular_power(base: int, exponent: int, modulus: int) -> int:
    """The remainder of base to the power of exponent, divided by modulus."""
    return pow(base, exponent, modulus)


def primes_between(low: int, high: int) -> int:
    """How many primes p there are with low <= p <= high."""
    sieve = bytearray([1]) * (high + 1)
    sieve[:2] = bytes(len(sieve[:2]))
    for candidate in range(2, math.isqrt(high) + 1):
        if sieve[candidate]:
            sieve[candidate * candidate :: candidate] = bytes(len(range(candidate * candidate, high + 1, candidate)))
    return sieve[low:].count(1)


def lattice_paths_avoiding(x: int, y: int, blocked_x: int, blocked_y: int) -> int:
    """Paths from (0, 0) to (x, y), each step one to the right or one up, that do not pass (blocked_x, blocked_y)."""
    every = math.comb(x + y, x)
    if blocked_x > x or blocked_y > y:
        return every
    after = math.comb(x - blocked_x + y - blocked_y, x - blocked_x)
    return every - math.comb(blocked_x + blocked_y, blocked_x) * after


def josephus_survivor(people: int, step: int) -> int:
    """People 1..n in a circle, counting from 1, every step-th leaves, counting goes on with the next: who is left."""
    survivor = 0
    for circle in range(2, people + 1):
        survivor = (survivor + step) % circle
    return survivor + 1


def coin_change(amount: int, first: int, second: int, third: int) -> int:
    """Ways to pay an amount exactly with coins of three kinds, any number of each, their order being of no matter."""
    ways = [1] + [0] * amount
    for coin in (first, second, third):
        for reached in range(coin, amount + 1):
            ways[reached] += ways[reached - coin]
    return ways[amount]


def factorial_digit_sum(n: int) -> int:
    """The sum of the decimal digits of n factorial."""
    return sum(map(int, str(math.factorial(n))))


def divisors_of_product(a: int, b: int, c: int) -> int:
    """How many positive divisors a * b * c has."""
    powers: Counter[int] = Counter()
    for number in (a, b, c):
        powers.update(_prime_factors(number))
    return math.prod(power + 1 for power in powers.values())


def _prime_factors(number: int) -> list[int]:
    factors = []
    candidate = 2
    while candidate * candidate <= number:
        while number % candidate == 0:
            factors.append(candidate)
            number //= candidate
        candidate += 1
    return [*factors, number] if number > 1 else factors


def fibonacci_modulo(index: int, modulus: int) -> int:
    """The remainder of F(index) divided by modulus, where F(1) = F(2) = 1."""
    low, high = 0, 1
    for bit in f"{index:b}":  # F(2k) and F(2k+1) from F(k) and F(k+1)
        low, high = low * (2 * high - low) % modulus, (low * low + high * high) % modulus
        if bit == "1":
            low, high = high, (low + high) % modulus
    return low % modulus


def remainders_17_19_23(by_17: int, by_19: int, by_23: int) -> int:
    """The smallest positive integer that leaves these remainders when divided by 17, 19 and 23."""
    modulus = 17 * 19 * 23
    terms = ((by_17, 17), (by_19, 19), (by_23, 23))
    return sum(rest * (modulus // m) * pow(modulus // m, -1, m) for rest, m in terms) % modulus or modulus


def knight_pairs(rows: int, columns: int) -> int:
    """Ways to place two like knights on a board of rows x columns so that they attack each other."""
    return 2 * ((rows - 1) * (columns - 2) + (rows - 2) * (columns - 1))


def strings_without_run(length: int, run: int) -> int:
    """Strings of zeros and ones of a length that hold no `run` ones in a row."""
    ending_in_ones = [1] + [0] * (run - 1)  # by how many ones they end in
    for _ in range(length):
        ending_in_ones = [sum(ending_in_ones), *ending_in_ones[:-1]]
    return sum(ending_in_ones)


def sum_of_multiples(limit: int, a: int, b: int) -> int:
    """The sum of all positive integers below limit that are multiples of a or of b."""
    return sum(_multiples(limit, a)) + sum(_multiples(limit, b)) - sum(_multiples(limit, math.lcm(a, b)))


def _multiples(limit: int, of: int) -> range:
    return range(of, limit, of)


def collatz_steps(start: int) -> int:
    """Halve an even number, triple an odd one and add one: how many steps until it first is 1."""
    steps = 0
    while start != 1:
        start = 3 * start + 1 if start % 2 else start // 2
        steps += 1
    return steps


def surjections(things: int, boxes: int) -> int:
    """Ways to deal different things to different boxes so that no box stays empty."""
    return sum((-1) ** empty * math.comb(boxes, empty) * (boxes - empty) ** things for empty in range(boxes + 1))


def coprime_up_to(limit: int, number: int) -> int:
    """How many of the integers 1..limit have no divisor in common with number except 1."""
    return sum(math.gcd(candidate, number) == 1 for candidate in range(1, limit + 1))


SOLVERS: Mapping[str, Solver] = {
    "value": Solver(function=value, bounds={"number": (-(10**12), 10**12)}),
    "sum": Solver(function=total, bounds={"a": (-(10**12), 10**12), "b": (-(10**12), 10**12)}),
    "modular_power": Solver(
        function=modular_power, bounds={"base": (0, 10**9), "exponent": (0, 10**9), "modulus": (1, 10**9)}
    ),
    "primes_between": Solver(function=primes_between, bounds={"low": (0, 100_000), "high": (0, 100_000)}),
    "lattice_paths_avoiding": Solver(
        function=lattice_paths_avoiding,
        bounds={"x": (0, 100), "y": (0, 100), "blocked_x": (0, 100), "blocked_y": (0, 100)},
    ),
    "josephus_survivor": Solver(function=josephus_survivor, bounds={"people": (1, 10_000), "step": (1, 10**6)}),
    "coin_change": Solver(
        function=coin_change, bounds={"amount": (0, 5000), "first": (1, 5000), "second": (1, 5000), "third": (1, 5000)}
    ),
    "factorial_digit_sum": Solver(function=factorial_digit_sum, bounds={"n": (0, 1000)}),
    "divisors_of_product": Solver(
        function=divisors_of_product, bounds={"a": (1, 10**6), "b": (1, 10**6), "c": (1, 10**6)}
    ),
    "fibonacci_modulo": Solver(function=fibonacci_modulo, bounds={"index": (1, 10**9), "modulus": (1, 10**9)}),
    "remainders_17_19_23": Solver(
        function=remainders_17_19_23, bounds={"by_17": (0, 16), "by_19": (0, 18), "by_23": (0, 22)}
    ),
    "knight_pairs": Solver(function=knight_pairs, bounds={"rows": (2, 10**6), "columns": (2, 10**6)}),
    "strings_without_run": Solver(function=strings_without_run, bounds={"length": (0, 300), "run": (1, 50)}),
    "sum_of_multiples": Solver(
        function=sum_of_multiples, bounds={"limit": (1, 20_000), "a": (1, 10**6), "b": (1, 10**6)}
    ),
    "collatz_steps": Solver(function=collatz_steps, bounds={"start": (1, 10**6)}),
    "surjections": Solver(function=surjections, bounds={"things": (0, 100), "boxes": (0, 50)}),
    "coprime_up_to": Solver(function=coprime_up_to, bounds={"limit": (0, 10_000), "number": (1, 10**9)}),
}
