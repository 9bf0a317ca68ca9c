import re
import tomllib
from math import comb, factorial
from pathlib import Path

import pytest

from canary.config.probes import INSTALLED_FOLDER, ProbeError, canned_probes, load_probe
from canary.prompts.compose import compose
from canary.prompts.question import LAST_LINES, draw
from canary.prompts.solvers import SOLVERS

ROOT = Path(__file__).parent.parent.parent
CANNED = sorted((ROOT / "probes").glob("*.yaml"))
QUESTIONS = [
    pytest.param(question, id=f"{probe.name}-{index}-{question.language}")
    for probe in canned_probes().values()
    for index, question in enumerate(probe.questions)
]
SCRIPTS = {"en": r"[A-Za-z]", "ko": r"[\uac00-\ud7a3]", "zh": r"[\u4e00-\u9fff]"}


def recurrence(runs):
    """Strings without `run` ones, by the recurrence that a person would write down."""
    length, run = runs
    counts = [2**n for n in range(run)]
    for _ in range(run, length + 1):
        counts.append(sum(counts[-run:]))
    return counts[length]


def last_standing(people, step):
    circle = list(range(1, people + 1))
    while len(circle) > 1:
        out = (step - 1) % len(circle)
        circle = circle[out + 1 :] + circle[:out]
    return circle[0]


def fibonacci(index):
    low, high = 0, 1
    for _ in range(index):
        low, high = high, low + high
    return low


def tripled(number):
    steps = 0
    while number > 1:
        number, steps = (number // 2, steps + 1) if number % 2 == 0 else ((3 * number + 1) // 2, steps + 2)
    return steps


# The answer to each canned question again, from the numbers in the order in which the solver is given them.
AGAIN = {
    "value": lambda number: number,
    "sum": lambda a, b: a + b,
    "primes_between": lambda a, b: sum(all(p % d for d in range(2, p)) for p in range(a, b + 1)),
    "sum_of_multiples": lambda n, a, b: sum({*range(a, n, a), *range(b, n, b)}),
    "remainders_17_19_23": lambda a, b, c: next(n for n in range(1, 9999) if (n % 17, n % 19, n % 23) == (a, b, c)),
    "divisors_of_product": lambda a, b, c: len(
        {x * y * z for x in divisors(a) for y in divisors(b) for z in divisors(c)}
    ),
    "strings_without_run": lambda n, k: recurrence((n, k)),
    "lattice_paths_avoiding": lambda x, y, p, q: comb(x + y, y) - comb(p + q, q) * comb(x + y - p - q, y - q),
    "surjections": lambda n, k: factorial(k) * second_kind(n, k),
    "josephus_survivor": last_standing,
    "factorial_digit_sum": lambda n: sum(int(digit) for digit in str(factorial(n))),
    "coin_change": lambda n, a, b, c: sum(
        (n - x * c - y * b) % a == 0 for x in range(n // c + 1) for y in range((n - x * c) // b + 1)
    ),
    "collatz_steps": tripled,
    "modular_power": lambda a, b, m: a**b % m,
    "fibonacci_modulo": lambda n, m: fibonacci(n) % m,
}


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


def second_kind(n, k):
    if k in (0, n):
        return int(k == n)
    return k * second_kind(n - 1, k) + second_kind(n - 1, k - 1)


def test_the_canned_probes_are_the_files_of_the_folder():
    assert {path.stem for path in CANNED} == set(canned_probes())
    assert {"reasoning-heavy", "tiny-budget", "long-context", "quick", "tool-call"} <= set(canned_probes())


@pytest.mark.parametrize("path", CANNED, ids=lambda path: path.stem)
def test_a_canned_file_reads_as_the_canned_probe(path):
    assert canned_probes()[path.stem] == load_probe(path)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_canned_question_draws_for_many_seeds(question):
    drawn = [draw(question, seed=seed) for seed in range(200)]
    assert not [one for one in drawn if re.search(r"[{}]", one.text + (one.needle or ""))]
    assert all((one.answer is None) == (question.solver is None) for one in drawn)
    assert len({one.text + (one.needle or "") for one in drawn}) > 1


@pytest.mark.parametrize("question", [one for one in QUESTIONS if one.values[0].solver])
def test_a_canned_answer_is_right(question):
    for seed in range(25):
        told = {**question.draws, **drawn_numbers(question, seed)}
        expected = AGAIN[question.solver](*(told[name] for name in question.arguments))
        assert str(expected) == draw(question, seed=seed).answer


def drawn_numbers(question, seed):
    """The numbers as they stand in the drawn text: found by matching it against the template."""
    one = draw(question, seed=seed)
    found = {}
    for template, text in ((question.text.strip(), one.text), ((question.needle or "").strip(), one.needle or "")):
        names: list[str] = []
        pattern = ""
        for piece in re.split(r"(\{\w+\})", template):
            name = piece[1:-1]
            if not re.fullmatch(r"\{\w+\}", piece):
                pattern += re.escape(piece)
            else:
                pattern += f"(?P={name})" if name in names else rf"(?P<{name}>-?\d+)"
                names.append(name)
        found |= {name: int(number) for name, number in re.match(pattern, text).groupdict().items()}
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_canned_question_is_written_in_its_language(question):
    assert question.language in LAST_LINES
    letters = re.sub(r"\{\w+\}|[\W\d_]", "", question.text)
    assert len(re.findall(SCRIPTS[question.language], letters)) > 0.5 * len(letters)


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_enough_hard_questions_in_each_language(language):
    questions = [one for one in canned_probes()["reasoning-heavy"].questions if one.language == language]
    assert len(questions) >= 4
    assert all(one.solver for one in questions)
    assert {language} <= {one.language for one in canned_probes()["tiny-budget"].questions}


def test_the_prompt_of_long_context_is_long_and_holds_its_answer():
    composed = compose(canned_probes()["long-context"], seed=3, nonce="7f3a")
    assert len(composed.text) == pytest.approx(320_000, rel=0.1)
    assert composed.answer in composed.text


def test_only_the_tool_call_probe_offers_a_tool():
    offers = {name for name, probe in canned_probes().items() if compose(probe, seed=1, nonce="x").tools}
    assert {"tool-call"} == offers


def test_the_wheel_puts_the_probes_where_they_are_looked_up():
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert {"probes": f"canary/{INSTALLED_FOLDER}"} == hatch["wheel"]["force-include"]


def test_the_readme_lists_every_solver_and_probe():
    readme = (ROOT / "probes" / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| ([^|]+) \|", readme, re.MULTILINE))
    assert {*SOLVERS, *canned_probes()} == set(rows)
    assert {name: ", ".join(solver.bounds) for name, solver in SOLVERS.items()} == {
        name: rows[name] for name in SOLVERS
    }


def test_the_readmes_example_holds(tmp_path):
    readme = (ROOT / "probes" / "README.md").read_text(encoding="utf-8")
    file = tmp_path / "my-probe.yaml"
    file.write_text(re.search(r"```yaml\n(.*?)```", readme, re.DOTALL)[1], encoding="utf-8")
    assert load_probe(file).name == "my-probe"


GOOD = """\
name: mine
summary: One.
max_tokens: 256
questions:
  - language: en
    text: "{a} to the {b} by {m}?"
    draw: {a: [2, 9], b: [1, 9], m: [2, 9]}
    answer: {modular_power: [a, b, m]}
"""


def test_a_small_file_of_ones_own(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD, encoding="utf-8")
    probe = load_probe(file)
    assert (
        probe.name,
        probe.max_tokens,
        probe.temperature,
        probe.context_tokens,
        probe.checks,
        probe.tool_call,
        probe.body,
    ) == ("mine", 256, None, 0, None, False, {})
    assert (
        probe.questions[0].draws,
        probe.questions[0].solver,
    ) == ({"a": (2, 9), "b": (1, 9), "m": (2, 9)}, "modular_power")


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("language: en", "language: tlh"),
        ("language: en", "language: zh-Hant-TW"),
        ("max_tokens: 256", "max_tokens: 64"),
        ("max_tokens: 256", "max_tokens: 256\ntemperature: 0"),
        (
            "max_tokens: 256",
            "max_tokens: 256\nchecks: [reachable]\nbody: {seed: 1}\ncontext_tokens: 10\ntool_call: true",
        ),
        ('by {m}?"', 'by {m}?"\n    needle: It is {a}.'),
        ("[2, 9], b", "[2, 2], b"),
    ],
)
def test_what_is_allowed(tmp_path, change, to):
    assert change in GOOD
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD.replace(change, to), encoding="utf-8")
    load_probe(file)


SOLVER_NAMES = " or ".join(", ".join(sorted(SOLVERS)).rsplit(", ", 1))
DRAWN = "expected a name that is drawn: a, b or m"


@pytest.mark.parametrize(
    ("change", "to", "problem"),
    [
        ("max_tokens", "max_token", '1: found no "max_tokens", expected it: this key is required'),
        ("256", "32", "3: max_tokens: found 32, expected 64 to 2,000,000"),
        ("256", "many", '3: max_tokens: found "many", expected a whole number'),
        ("256", "256\ntemperature: 3", "4: temperature: found 3, expected 0 to 2"),
        ("256", "256\ncontext_tokens: -1", "4: context_tokens: found -1, expected 0 to 2,000,000"),
        ("256", "256\ntool_call: maybe", '4: tool_call: found "maybe", expected true or false'),
        ("256", "256\nchecks: []", "4: checks: found an empty list, expected at least one entry"),
        ("256", "256\nbody: 3", "4: body: found 3, expected a mapping"),
        ("name: mine", "name: My probe", '1: name: found "My probe", expected small letters, digits and hyphens'),
        ("summary: One.", "summary: ''", "2: summary: found empty text, expected text"),
        (
            "language: en",
            "language: e1",
            '5: questions[0].language: found "e1", expected a language code like en, ko or zh-CN',
        ),
        ("by {m}", "by {n}", f"6: questions[0].text: found the place {{n}}, {DRAWN}"),
        ("{a} to", "{A} to", f'6: questions[0].text: found the place {{A}}, {DRAWN} (did you mean "a"?)'),
        ("[a, b, m]}", "[a, b, n]}", f'8: questions[0].answer.modular_power[2]: found "n", {DRAWN}'),
        (
            'by {m}?"',
            'by {m}?"\n    needle: It is {q}.',
            f"7: questions[0].needle: found the place {{q}}, {DRAWN}",
        ),
        (
            "[2, 9], b",
            "[9, 2], b",
            "7: questions[0].draw.a: found [9, 2], expected the smaller number first (write [2, 9])",
        ),
        (
            "[2, 9], b",
            "[2], b",
            "7: questions[0].draw.a: found [2], expected the smallest and the largest number, like [2, 9]",
        ),
        (
            "[2, 9], b",
            "5, b",
            "7: questions[0].draw.a: found 5, expected the smallest and the largest number, like [2, 9]",
        ),
        (
            "[2, 9], b",
            "[2, true], b",
            "7: questions[0].draw.a: found [2, true], expected the smallest and the largest number, like [2, 9]",
        ),
        (
            "m: [2, 9]",
            "m: [0, 9]",
            '7: questions[0].draw.m: found [0, 9], expected at least 1 and at most 1000000000, for "modulus" of',
        ),
        (
            "m: [2, 9]",
            "m: [2, 1000000001]",
            "7: questions[0].draw.m: found [2, 1000000001], expected at least 1 and at most 1000000000",
        ),
        (
            "m: [2, 9]",
            "m: [2, 9], z: [1, 2]",
            '7: questions[0].draw.z: found "z", which nothing tells, expected {z} in the text or the needle',
        ),
        (
            "modular_power",
            "modular_powers",
            f'8: questions[0].answer.modular_powers: found the solver "modular_powers", expected {SOLVER_NAMES} (did',
        ),
        (
            "[a, b, m]}",
            "[a, b]}",
            "8: questions[0].answer.modular_power: found 2 names, expected 3: base, exponent, modulus",
        ),
        (
            "[a, b, m]}",
            "[a, b, m], sum: [a, b]}",
            "8: questions[0].answer: found 2 solvers, expected one, like {modular_power: [a, b, m]}",
        ),
        (
            "{modular_power: [a, b, m]}",
            "{}",
            "8: questions[0].answer: found 0 solvers, expected one, like {modular_power: [a, b, m]}",
        ),
        ("language: en", "language: en\n    languages: en", "6: questions[0].languages: found an unknown key"),
        (
            "summary: One.",
            "summary: One.\nsummary: Two.",
            '3: found a second key "summary", expected it once; the first is in line 2',
        ),
    ],
)
def test_an_error_names_its_place_what_it_found_and_what_it_expected(tmp_path, change, to, problem):
    assert change in GOOD
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD.replace(change, to), encoding="utf-8")
    with pytest.raises(ProbeError) as raised:
        load_probe(file)
    lines = str(raised.value).splitlines()
    assert [line for line in lines if line.startswith(f"{file}:{problem}")], "\n".join(lines)


def test_all_problems_at_once_in_the_order_of_the_lines(tmp_path):
    file = tmp_path / "mine.yaml"
    text = GOOD.replace("256", "3").replace("language: en", "language: 7").replace("[2, 9], b", "[9, 2], b")
    second = GOOD.partition("questions:\n")[2].replace("by {m}", "by {n}").replace("modular_power", "modular")
    file.write_text(text.replace("name: mine", "nam: mine") + second, encoding="utf-8")
    with pytest.raises(ProbeError) as raised:
        load_probe(file)
    problems = raised.value.problems
    assert [problem.line for problem in problems] == [1, 1, 3, 5, 7, 10, 11, 12], str(raised.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name: [", "a YAML error"),
        ("", "nothing"),
        ("- 1", "a list"),
        ("questions: 3", "3"),
        ("questions: [3]", "3"),
    ],
)
def test_what_is_no_probe_at_all(tmp_path, text, found):
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ProbeError, match=f"found {found}"):
        load_probe(file)


def test_a_missing_file(tmp_path):
    with pytest.raises(ProbeError, match="no such file"):
        load_probe(tmp_path / "none.yaml")


def test_a_probe_error_is_a_value_error():
    assert issubclass(ProbeError, ValueError)
