"""Verdicts as JUnit XML, for CI systems: one suite per hop or file, one case per verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from canary.cli.errors import UsageError
from canary.core.verdict import Status, Verdict

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: Path, suites: Mapping[str, Sequence[Verdict]]) -> None:
    """FAIL is a failure, UNKNOWN is skipped, WARN is output of a case that passed."""
    root = ElementTree.Element("testsuites", name="canary")
    for name, verdicts in suites.items():
        root.append(_suite(name, verdicts))
    ElementTree.indent(root)
    try:
        path.write_bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))
    except OSError as error:
        msg = f"--junit {path}: {error.strerror}"
        raise UsageError(msg) from None


def _suite(name: str, verdicts: Sequence[Verdict]) -> ElementTree.Element:
    failed = sum(verdict.status == Status.FAIL for verdict in verdicts)
    skipped = sum(verdict.status == Status.UNKNOWN for verdict in verdicts)
    counts = {"tests": str(len(verdicts)), "failures": str(failed), "skipped": str(skipped), "errors": "0"}
    suite = ElementTree.Element("testsuite", {"name": _printable(name), **counts})
    for verdict in verdicts:
        suite.append(_case(name, verdict))
    return suite


def _case(suite: str, verdict: Verdict) -> ElementTree.Element:
    title = verdict.check if verdict.subject is None else f"{verdict.check} [{verdict.subject}]"
    case = ElementTree.Element("testcase", {"classname": _printable(suite), "name": _printable(title)})
    said = {"type": verdict.reason, "message": _printable(verdict.message)}
    if verdict.status == Status.FAIL:
        ElementTree.SubElement(case, "failure", said)
    elif verdict.status == Status.UNKNOWN:
        ElementTree.SubElement(case, "skipped", {"message": said["message"]})
    elif verdict.status == Status.WARN:
        ElementTree.SubElement(case, "system-out").text = _printable(f"WARN {verdict.reason}: {verdict.message}")
    return case


def _printable(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
