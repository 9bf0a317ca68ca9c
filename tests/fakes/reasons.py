"""The reasons that checks can give, read from their source: there is no list of them to forget a row in."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

from canary.checks import CHECKS
from canary.checks.budget_arms import STATUS, Outcome
from canary.checks.protocol import RISKS
from canary.core.observation import Phase
from canary.core.run import CutShort
from canary.core.verdict import Status

_SOURCE = Path(__file__).parents[2] / "canary" / "checks"
_BEFORE_THE_REQUEST = (Phase.DNS, Phase.CONNECT, Phase.TLS)


def reasons() -> dict[str, set[str]]:
    """By check, what a FAIL or WARN may say; under "UNKNOWN", what any check may say that could not tell."""
    found: dict[str, set[str]] = {name: set() for name in (*CHECKS, "budget", Status.UNKNOWN)}
    for name in (*CHECKS, "evidence"):
        module = importlib.import_module(f"canary.checks.{name}")
        for status, reason in _given(ast.parse((_SOURCE / f"{name}.py").read_text(encoding="utf-8")), vars(module)):
            if status != Status.PASS:
                found[status if status == Status.UNKNOWN else name].add(reason)
    found["reachable"] |= set(_BEFORE_THE_REQUEST)
    found["reachable"].discard("rate_limited")  # in the table of statuses, and never a FAIL
    found["protocol"] |= set(RISKS) | {"comment_after_id"}
    found["budget"] |= set(STATUS)
    found[Status.UNKNOWN] |= (set(Outcome) - set(STATUS)) | set(CutShort) | {"no_verdict"}
    return found


def _given(tree: ast.Module, names: dict[str, object]) -> Iterator[tuple[str, str]]:
    """(status, reason) of each verdict that is made; a reason that is decided elsewhere counts as a FAIL's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _in_call(node, node.func.id, names)
        else:
            status, found = _elsewhere(node, names)
            yield from ((status, text) for text in found)


def _in_call(call: ast.Call, name: str, names: dict[str, object]) -> Iterator[tuple[str, str]]:
    by_name = {each.arg: each.value for each in call.keywords if each.arg in ("status", "reason")}
    match name:
        case "unknown" | "cannot_judge":
            yield from ((Status.UNKNOWN, text) for text in _texts(call.args[1], names))
        case "_fail":
            yield from ((Status.FAIL, text) for text in _texts(call.args[0], names))
        case "replace" if "reason" in by_name:  # one FAIL told apart from the others
            yield from ((Status.FAIL, text) for text in _texts(by_name["reason"], names))
        case "_verdict" | "Verdict":
            yield from _made([*call.args, *by_name.values()], names)


def _elsewhere(node: ast.AST, names: dict[str, object]) -> tuple[str, Iterator[str]]:
    """Where a reason is decided before its verdict is made."""
    match node:
        case ast.Return(value=ast.Tuple(elts=[ast.Constant(value=str(text)), _])) if text.isidentifier():
            return Status.FAIL, iter([text])
        case ast.AnnAssign(target=ast.Name(id="REASON_BY_STATUS")) | ast.Assign(targets=[ast.Name(id="reason")]):
            return Status.FAIL, _texts(node, names)
        case ast.FunctionDef(name="_reason" | "unusable" as name):
            status = Status.FAIL if name == "_reason" else Status.UNKNOWN
            returns = [each for each in ast.walk(node) if isinstance(each, ast.Return)]
            return status, (text for each in returns for text in _texts(each, names))
    return "", iter(())


def _made(given: list[ast.expr], names: dict[str, object]) -> Iterator[tuple[str, str]]:
    """The arguments of one verdict: its status, then its reason."""
    at = next((index for index, each in enumerate(given) if _status_in(each)), None)
    if at is None or at + 1 >= len(given):
        return
    status = _status_in(given[at])
    for text in _texts(given[at + 1], names):
        yield status, text


def _status_in(node: ast.expr) -> str:
    """The worst status that stands in an expression; "" where none does. One that is decided elsewhere may be any."""
    if isinstance(node, ast.Name) and node.id == "status":
        return Status.FAIL
    said = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.attr in set(Status)}
    return next((status for status in (Status.FAIL, Status.WARN, Status.UNKNOWN, Status.PASS) if status in said), "")


def _texts(node: ast.AST, names: dict[str, object]) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier():
            yield each.value
        elif isinstance(each, ast.Name) and each.id.isupper() and isinstance(names.get(each.id), str):
            yield str(names[each.id])
