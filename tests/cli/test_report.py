"""`canary report`: the table that one would make by hand."""

import csv
import io
import math
from datetime import UTC, datetime

import pytest
from rich.console import Console

from canary.analysis.report import MOST_EXACT, Row, Times, report
from canary.cli.report_table import COLUMNS, as_csv, as_markdown, records, show_report
from canary.core.history import Answer, Past
from canary.core.measurement import Fingerprint
from canary.core.verdict import Status
from tests.fakes.stored_runs import HOPS

DAY = ("--since", "2026-01-31T00:00Z", "--until", "2026-02-01T00:00Z")
PLACES = ["pipeline", "probe", "variant", "hop"]
HOSTILE = "\x1b[2J\x9b31m\u202egnp|`<b>`\n"


def rows_of(said):
    return list(csv.DictReader(io.StringIO(said.out)))


def table_of(said):
    """The cells of a Markdown table, by its heads."""
    lines = [line.strip("|").split("|") for line in said.out.splitlines() if line.startswith("|")]
    heads, rule, *rows = ([cell.strip() for cell in line] for line in lines)
    assert {len(line) for line in (heads, rule, *rows)} == {len(PLACES) + len(COLUMNS)}
    assert all(set(cell) <= {"-", ":"} for cell in rule)
    return [dict(zip(heads, row, strict=True)) for row in rows]


def test_every_hop_and_variant_has_a_row(canary, daemon_store):
    said = canary("report", *DAY, "--storage", daemon_store, "--json")
    assert said.code == 0, said.err
    assert (said.json["since"], said.json["until"]) == ("2026-01-31T00:00:00+00:00", "2026-02-01T00:00:00+00:00")
    places = [tuple(row[name] for name in PLACES[1:]) for row in said.json["rows"]]
    assert places == [
        *(("reasoning-heavy", "plain", hop) for hop in HOPS),
        *(("tiny-budget", "control", hop) for hop in HOPS),
        *(("tiny-budget", "thinking_token_budget=32", hop) for hop in HOPS),
    ]


def test_the_numbers_of_the_runs(canary, daemon_store, made_runs):
    rows = canary("report", *DAY, "--probe", "reasoning-heavy", "--storage", daemon_store, "--json").json["rows"]
    by_hop = {row["hop"]: row for row in rows}
    heavy = [run for run in made_runs if run.probe == "reasoning-heavy"]
    engine = [result.measurement for run in heavy for result in run.results if result.hop == "engine"]
    assert by_hop["engine"]["requests"] == len(engine) == 4
    assert by_hop["engine"]["zero_visible"] == 0
    waits = [measurement.time_to_first_visible_content_s for measurement in engine]
    assert by_hop["engine"]["first_visible_mean_s"] == pytest.approx(sum(waits) / 4, abs=1e-5)
    assert by_hop["engine"]["first_visible_p95_s"] == pytest.approx(max(waits), abs=1e-5)
    tokens = [measurement.usage.completion_tokens for measurement in engine]
    assert by_hop["engine"]["output_tokens_mean"] == pytest.approx(sum(tokens) / 4)
    assert 0.5 < by_hop["engine"]["reasoning_share_mean"] < 1
    for hop in HOPS[:-1]:  # one of four runs was a 502 at the gateway
        assert (by_hop[hop]["requests"], by_hop[hop]["zero_visible"]) == (4, 1)
        assert by_hop[hop]["first_visible_p95_s"] == by_hop[hop]["end_to_end_p95_s"] == "never"
        assert by_hop[hop]["first_visible_over_10s_share"] == 0.25


def test_csv_and_markdown_say_the_same_as_json(canary, daemon_store):
    known = canary("report", *DAY, "--storage", daemon_store, "--json").json["rows"]
    sheet = rows_of(canary("report", *DAY, "--format", "csv", "--storage", daemon_store))
    page = table_of(canary("report", *DAY, "--format", "markdown", "--storage", daemon_store))
    assert len(known) == len(sheet) == len(page) == 15
    for row, line, cells in zip(known, sheet, page, strict=True):
        assert list(line) == list(row)
        for name, value in row.items():
            number = math.inf if value == "never" else value
            same = line[name] == value if isinstance(value, str) and value != "never" else _read(line[name]) == number
            assert same, (name, line[name], value)
        assert [cells[name].replace("\\", "") for name in PLACES] == [row[name] for name in PLACES]
        assert int(cells["requests"]) == row["requests"]
        assert (cells["visible p95"] == "never") == (row["first_visible_p95_s"] == "never")


def _read(text):
    if text in ("true", "false"):
        return text == "true"
    return float(text) if text else None


def test_a_treatment_that_we_stopped_is_not_called_invisible(canary, daemon_store):
    rows = canary("report", *DAY, "--probe", "tiny-budget", "--storage", daemon_store, "--json").json["rows"]
    stopped = next(row for row in rows if (row["hop"], row["variant"][:8]) == ("ui", "thinking"))
    assert (stopped["requests"], stopped["failed"], stopped["zero_visible"]) == (1, 1, 0)
    assert stopped["end_to_end_mean_s"] is None


@pytest.mark.parametrize(
    ("options", "count"),
    [
        pytest.param([], 15, id="all"),
        pytest.param(["--pipeline", "demo"], 15, id="a pipeline"),
        pytest.param(["--pipeline", "other"], 0, id="another"),
        pytest.param(["--probe", "tiny-budget"], 10, id="a probe"),
        pytest.param(["--since", "2026-01-31T12:30Z", "--until", "2026-01-31T12:40Z"], 10, id="until is not within"),
    ],
)
def test_which_answers(canary, daemon_store, options, count):
    said = canary("report", *DAY, *options, "--storage", daemon_store, "--format", "json")
    assert len(said.json["rows"]) == count


@pytest.mark.parametrize("form", ["text", "csv", "markdown", "json"])
def test_nothing_in_that_time(canary, daemon_store, form):
    said = canary("report", "--since", "1h", "--format", form, "--storage", daemon_store)
    assert said.code == 0
    assert len(said.out.splitlines()) <= 4
    assert ("no answers in that time" in said.out) == (form == "text")


def test_since_after_until(canary, daemon_store):
    said = canary("report", "--since", "1h", "--until", "2h", "--storage", daemon_store)
    assert said.code == 3
    assert "is not before --until" in said.err


def test_as_text(canary, daemon_store):
    said = canary("report", *DAY, "--storage", daemon_store)
    assert [line for line in said.out.splitlines() if line.startswith("demo, ")] == [
        "demo, reasoning-heavy, plain",
        "demo, tiny-budget, control",
        "demo, tiny-budget, thinking_token_budget=32",
    ]
    assert "never" in said.out


def shown(rows, width):
    console = Console(width=width, file=io.StringIO(), highlight=False)
    show_report(console, rows)
    return console.file.getvalue()


def row(hop="engine", *, exact=True, **values):
    times = Times(counted=9, never=1, mean_s=1.5, p95_s=123.4, p99_s=math.inf, slow_share=0.333, exact=exact)
    known = {
        "pipeline": "chat",
        "probe": "ask",
        "variant": "plain",
        "requests": 100_000,
        "failed": 1,
        "unknown": 0,
        "zero_visible": 1,
        "input_tokens": 1234.5,
        "output_tokens": None,
        "reasoning_share": 0.931,
    }
    return Row(hop=hop, first_token=times, first_visible=times, end_to_end=times, **{**known, **values})


@pytest.mark.parametrize("width", [80, 100, 160, 200])
@pytest.mark.parametrize("hop", ["engine", "an-agent-with-a-very-long-name-indeed-longer-than-any-column"])
def test_every_line_fits_and_no_number_is_cut(width, hop):
    text = shown([row(hop)], width)
    assert max(map(len, text.splitlines())) <= width
    for number in ("100000", "1234", "93.1%", "33.3%", "123", "1.50", "never"):
        assert number in text.split(), number
    assert "…" not in text


def test_one_table_where_it_fits_and_else_two():
    heads = [sum(line.startswith("hop") for line in shown([row()], width).splitlines()) for width in (80, 160)]
    assert heads == [2, 1]


def test_it_says_where_percentiles_are_not_exact():
    assert f"{MOST_EXACT:,}" not in shown([row()], 80)
    assert f"Of more than {MOST_EXACT:,} answers: percentiles within 0.5 %." in shown([row(), row(exact=False)], 80)
    assert [each["exact"] for each in records([row(), row(exact=False)])] == [True, False]


def test_names_are_shown_and_not_obeyed():
    past = Past(run_id="r", at=datetime(2026, 1, 1, tzinfo=UTC), values={}, fingerprint=Fingerprint(), clean=True)
    place = dict.fromkeys(PLACES, HOSTILE)
    rows = report([Answer(status=Status.PASS, past=past, **place)])
    for text in (shown(rows, 200), as_csv(rows), as_markdown(rows)):
        assert not set(text) & {"\x1b", "\x9b", "\u202e"}
    lines = [line for line in as_markdown(rows).splitlines() if "gnp" in line]
    assert len(lines) == 1
    assert lines[0].replace("\\|", "").count("|") == len(PLACES) + len(COLUMNS) + 1
    assert len(list(csv.reader(io.StringIO(as_csv(rows))))) == 2
