from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from canary.cli.grouped import grouped


@dataclass(frozen=True, kw_only=True)
class Parcel:
    name: Annotated[str, typer.Option("--name")]
    weight: Annotated[int, typer.Option("--weight")] = 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["here", "--name", "a"], ("here", Parcel(name="a"), False), id="defaults"),
        pytest.param(
            ["here", "--name", "a", "--weight", "2", "--fast"], ("here", Parcel(name="a", weight=2), True), id="all"
        ),
    ],
)
def test_the_fields_are_options_and_the_command_gets_the_group(words, expected):
    got = []

    @grouped
    def send(
        where: Annotated[str, typer.Argument()],
        *,
        parcel: Parcel,
        fast: Annotated[bool, typer.Option("--fast")] = False,
    ) -> None:
        got.append((where, parcel, fast))

    app = typer.Typer()
    app.command()(send)
    app(words, standalone_mode=False)
    assert got == [expected]


def test_a_field_without_a_default_is_required():
    @grouped
    def send(*, parcel: Parcel) -> None:
        pytest.fail(str(parcel))

    app = typer.Typer()
    app.command()(send)
    with pytest.raises(typer.exceptions.TyperException, match="Missing parameter: name"):
        app([], standalone_mode=False)
