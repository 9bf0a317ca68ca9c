import re
import zlib

import pytest

from canary.prompts.context import CHARS_PER_TOKEN, document

NEEDLE = "The access code of the northern archive is 48213."


@pytest.mark.parametrize("tokens", [200, 1000, 8000, 80_000, 200_000])
@pytest.mark.parametrize("needle", [NEEDLE, None], ids=["needle", "none"])
def test_it_is_about_as_long_as_asked_for(tokens, needle):
    assert len(document(tokens, seed=3, needle=needle)) == pytest.approx(tokens * CHARS_PER_TOKEN, rel=0.1)


@pytest.mark.parametrize("seed", range(30))
def test_the_needle_is_there_once_and_away_from_both_ends(seed):
    text = document(4000, seed=seed, needle=NEEDLE)
    assert text.count(NEEDLE) == 1
    assert 0.05 < text.index(NEEDLE) / len(text) < 0.95


def test_the_needle_moves_with_the_seed():
    assert len({document(2000, seed=seed, needle=NEEDLE).index(NEEDLE) for seed in range(30)}) > 20


@pytest.mark.parametrize("tokens", [0, 1, 12, 20])
def test_the_needle_is_there_however_short_the_document(tokens):
    assert NEEDLE in document(tokens, seed=1, needle=NEEDLE)


def test_nothing_is_nothing():
    assert document(0, seed=1, needle=None) == ""


def test_the_same_seed_gives_the_same_document_and_another_another():
    assert document(900, seed=1, needle=NEEDLE) == document(900, seed=1, needle=NEEDLE)
    assert document(900, seed=1, needle=NEEDLE)[:200] != document(900, seed=2, needle=NEEDLE)[:200]


def test_it_neither_repeats_itself_nor_compresses_to_nothing():
    text = document(20_000, seed=1, needle=None)
    sentences = re.findall(r"[^.]+\.", text)
    assert len(set(sentences)) == len(sentences)
    assert len(zlib.compress(text.encode(), 9)) / len(text) > 0.14


def test_it_holds_no_other_number():
    assert re.findall(r"\d+", document(20_000, seed=1, needle=NEEDLE)) == ["48213"]
