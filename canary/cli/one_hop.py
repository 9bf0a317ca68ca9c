"""One hop from options, without a config: what `probe --url` and `record` send."""

from __future__ import annotations

from dataclasses import dataclass, replace

from canary.cli import options
from canary.cli.arguments import chat_url, parse_headers, parse_params, seconds, timers_of
from canary.cli.errors import UsageError
from canary.client.redact import public_url
from canary.client.target import Target, ssl_context
from canary.config.probes import canned_probes
from canary.core.spec import Assignment, Hop, Pipeline, Probe, QuestionTemplate, Tls
from canary.core.timeout import Timeout

HOP = "target"
_PROBE = "reasoning-heavy"  # whose questions are asked where no prompt is given


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent and how, as typed; nothing is checked yet."""

    url: options.Url = None
    model: options.Model = None
    prompt: options.PromptText = None
    max_tokens: options.MaxTokens = None
    temperature: options.Temperature = None
    param: options.Params = None
    header: options.Headers = None
    api_key_env: options.ApiKeyEnv = None
    no_stream: options.NoStream = False
    deadline: options.Deadline = "300s"
    accept_encoding: options.AcceptEncoding = "identity"
    ca_file: options.CaFile = None
    cert_file: options.CertFile = None
    key_file: options.KeyFile = None
    insecure: options.Insecure = False
    proxy: options.Proxy = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a stream is held against, as typed. Its properties raise UsageError."""

    timeout: options.Timeouts = None
    preset: options.Presets = None
    first_visible: options.FirstVisible = None
    inline_reasoning: options.InlineReasoning = False

    @property
    def timers(self) -> tuple[Timeout, ...]:
        return timers_of(self.timeout or (), self.preset or ())

    @property
    def first_visible_s(self) -> float | None:
        return seconds(self.first_visible, "--first-visible") if self.first_visible else None


def one_hop(request: Request, terms: Terms) -> tuple[Pipeline, Assignment]:
    """A pipeline of one probed hop under a nameless listener that holds the timers. Raises UsageError."""
    if not request.model:
        msg = "--url needs --model NAME, the model's name at that URL"
        raise UsageError(msg)
    url = chat_url(request.url or "")
    hop = Hop(
        name=HOP,
        url=url,
        model=request.model,
        headers=parse_headers(request.header or (), api_key_env=request.api_key_env),
        body=parse_params(request.param or ()),
        stream=not request.no_stream,
        inline_reasoning=terms.inline_reasoning,
        accept_encoding=request.accept_encoding,
        tls=_tls(request),
        proxy=request.proxy,
    )
    _check_sendable(hop, url)
    listener = Hop(name="", timeouts=terms.timers)
    assignment = Assignment(
        probe=_probe(request),
        deadline_s=seconds(request.deadline, "--deadline"),
        first_visible_s=terms.first_visible_s,
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


def _tls(request: Request) -> Tls | None:
    files = {"--ca-file": request.ca_file, "--cert-file": request.cert_file, "--key-file": request.key_file}
    for option, file in files.items():
        if file is not None and not file.is_file():
            msg = f"{option} {file}: no such file"
            raise UsageError(msg)
    if not request.insecure and not any(files.values()):
        return None
    names = [str(file) if file else None for file in files.values()]
    return Tls(ca_file=names[0], cert_file=names[1], key_file=names[2], verify=not request.insecure)


def _probe(request: Request) -> Probe:
    probe = canned_probes()[_PROBE]
    if request.prompt is not None:
        questions = (QuestionTemplate(text=request.prompt),)
        probe = Probe(name="prompt", summary="A prompt from the command line.", questions=questions, max_tokens=4096)
    if request.max_tokens is not None:
        probe = replace(probe, max_tokens=request.max_tokens)
    return probe if request.temperature is None else replace(probe, temperature=request.temperature)
