"""One hop from options, without a config: what `probe --url` and `record` send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from canary.cli.arguments import chat_url, parse_headers, parse_params, seconds
from canary.cli.errors import UsageError
from canary.client.redact import public_url
from canary.client.target import Target, ssl_context
from canary.config.probes import canned_probes
from canary.core.spec import Assignment, Hop, Pipeline, Probe, QuestionTemplate, Tls
from canary.core.timeout import Timeout

HOP = "target"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHopOptions:
    """As typed; nothing is checked yet. `probe`: the canned probe that asks where `prompt` does not."""

    url: str
    model: str | None
    probe: str = "reasoning-heavy"
    prompt: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    params: Sequence[str] = ()
    headers: Sequence[str] = ()
    api_key_env: str | None = None
    no_stream: bool = False
    deadline: str = "300s"
    accept_encoding: str = "identity"
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    insecure: bool = False
    proxy: str | None = None
    inline_reasoning: bool = False
    first_visible: str | None = None
    timeouts: tuple[Timeout, ...] = ()


def one_hop(options: OneHopOptions) -> tuple[Pipeline, Assignment]:
    """A pipeline of one probed hop under a nameless listener that holds the timers. Raises UsageError."""
    if not options.model:
        msg = "--url needs --model NAME, the model's name at that URL"
        raise UsageError(msg)
    url = chat_url(options.url)
    hop = Hop(
        name=HOP,
        url=url,
        model=options.model,
        headers=parse_headers(options.headers, api_key_env=options.api_key_env),
        body=parse_params(options.params),
        stream=not options.no_stream,
        inline_reasoning=options.inline_reasoning,
        accept_encoding=options.accept_encoding,
        tls=_tls(options),
        proxy=options.proxy,
    )
    _check_sendable(hop, url)
    listener = Hop(name="", timeouts=options.timeouts)
    assignment = Assignment(
        probe=_probe(options),
        deadline_s=seconds(options.deadline, "--deadline"),
        first_visible_s=seconds(options.first_visible, "--first-visible") if options.first_visible else None,
    )
    return Pipeline(name=public_url(url), hops=(listener, hop)), assignment


def _check_sendable(hop: Hop, url: str) -> None:
    """What the client would refuse, or could not load, is a fault of the command line."""
    try:
        Target(
            url=url,
            protocol=hop.protocol,
            headers=hop.headers,
            accept_encoding=hop.accept_encoding,
            proxy=hop.proxy,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        if hop.tls is not None:
            ssl_context(hop.tls)
    except OSError as error:
        msg = f"--ca-file, --cert-file or --key-file: {error.strerror or error}"
        raise UsageError(msg) from None


def _tls(options: OneHopOptions) -> Tls | None:
    files = {"--ca-file": options.ca_file, "--cert-file": options.cert_file, "--key-file": options.key_file}
    for option, file in files.items():
        if file is not None and not file.is_file():
            msg = f"{option} {file}: no such file"
            raise UsageError(msg)
    if not options.insecure and not any(files.values()):
        return None
    names = [str(file) if file else None for file in files.values()]
    return Tls(ca_file=names[0], cert_file=names[1], key_file=names[2], verify=not options.insecure)


def _probe(options: OneHopOptions) -> Probe:
    canned = canned_probes()
    if options.probe not in canned:
        msg = f"no canned probe {options.probe!r}; there are {', '.join(canned)}"
        raise UsageError(msg)
    probe = canned[options.probe]
    if options.prompt is not None:
        questions = (QuestionTemplate(text=options.prompt),)
        probe = Probe(name="prompt", summary="A prompt from the command line.", questions=questions, max_tokens=4096)
    if options.max_tokens is not None:
        probe = replace(probe, max_tokens=options.max_tokens)
    return probe if options.temperature is None else replace(probe, temperature=options.temperature)
