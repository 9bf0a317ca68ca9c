"""What the pages for people point at and tell them to type is there."""

import re
from pathlib import Path

import pytest
import typer.main

from canary.cli import app
from canary.notify import NOTIFIERS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = typer.main.get_command(app()).commands
OPTIONS = {name for command in COMMANDS.values() for each in command.params for name in each.opts}
OF_OTHERS = {"--rm", "--reasoning-parser"}  # docker's, vLLM's


def anchors(page):
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_to_be_typed_exists(page):
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"(?:`|^    |&& )canary ([a-z][a-z-]+)", text, re.MULTILINE)) <= set(COMMANDS)
    assert set(re.findall(r"(?<=[ `])--[a-z-]+", text)) - OF_OTHERS <= OPTIONS


def test_every_receiver_is_told_of():
    text = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8").split("| receiver |", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(NOTIFIERS)
