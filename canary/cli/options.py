"""Options that several commands share, each with its help once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canary.cli.arguments import check_output


def writable(option: typer.CallbackParam, file: Path | None) -> Path | None:
    """Asked before a request is paid for whose answer could not be kept."""
    if file is not None and str(file) != "-":
        check_output(file, option.opts[0])
    return file


Timeouts = Annotated[
    list[str] | None,
    typer.Option(
        "--timeout",
        metavar="NAME:KIND:CLOCK:SECONDS",
        help="A timer to hold against the stream. Kind: headers, idle, total. Clock: byte, event, token, visible.",
    ),
]
Presets = Annotated[
    list[str] | None,
    typer.Option("--preset", metavar="NAME[=IDLE]", help="The timers of a known component; see `canary presets`."),
]
FirstVisible = Annotated[
    str | None, typer.Option("--first-visible", metavar="DURATION", help="Limit for the first visible text, like 20s.")
]
InlineReasoning = Annotated[
    bool, typer.Option("--inline-reasoning", help="Reasoning between tags in content is meant to be there.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a picture.")]
EveryVerdict = Annotated[bool, typer.Option("--verbose", "-v", help="Show the verdicts that pass, too.")]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", callback=writable, help="Also write the verdicts as JUnit XML."),
]

Url = Annotated[
    str | None,
    typer.Option("--url", help="One hop's chat URL; a base URL like http://host:4000 gets /v1/chat/completions."),
]
Model = Annotated[str | None, typer.Option("--model", help="The model's name at that URL.")]
PromptText = Annotated[str | None, typer.Option("--prompt", metavar="TEXT", help="Ask this, not a canned question.")]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", min=1, help="Cap on all tokens, reasoning included; the probe's own by default."),
]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", min=0.0, max=2.0, help="Sampling temperature; the model's own by default."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="Add to the body: JSON values, dots reach into objects."),
]
Headers = Annotated[
    list[str] | None, typer.Option("--header", metavar="'NAME: VALUE'", help="Add a request header; it is never shown.")
]
ApiKeyEnv = Annotated[
    str | None, typer.Option("--api-key-env", metavar="VAR", help="Environment variable that holds the bearer token.")
]
NoStream = Annotated[bool, typer.Option("--no-stream", help="Ask for one JSON answer instead of a stream.")]
Deadline = Annotated[
    str,
    typer.Option("--deadline", metavar="DURATION", help="Give up on an answer after this long: 250ms, 30s, 5m, 1h30m."),
]
AcceptEncoding = Annotated[
    str, typer.Option("--accept-encoding", help="Content codings to accept; anything but identity may hide the shape.")
]
CaFile = Annotated[Path | None, typer.Option("--ca-file", help="PEM file of the authorities to trust.")]
CertFile = Annotated[Path | None, typer.Option("--cert-file", help="PEM file of our own certificate.")]
KeyFile = Annotated[Path | None, typer.Option("--key-file", help="PEM file of its key.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Accept any server certificate.")]
Proxy = Annotated[str | None, typer.Option("--proxy", help="HTTP proxy to go through; none is used unless given.")]
