"""What is known of findings, incidents and checks, in the language of the page that shows it. Pure.

English names of checks and reasons are those that config, metrics and messages have, with spaces; what has no name in
another language yet keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from canary.alerting import feeling, published
from canary.alerting.message import verdict_of
from canary.alerting.published import PublicIncident, Update
from canary.core.finding import Finding
from canary.web import causes_ko, checks_ko
from canary.web.words import Words

PHRASES: Mapping[str, feeling.Phrases] = MappingProxyType({"en": feeling.ENGLISH, "ko": causes_ko.PHRASES})
WORDINGS: Mapping[str, published.Wording] = MappingProxyType({"en": published.ENGLISH, "ko": causes_ko.WORDING})
_CHECKS: Mapping[str, Mapping[str, str]] = MappingProxyType({"ko": checks_ko.CHECKS})
_REASONS: Mapping[str, Mapping[tuple[str | None, str], str]] = MappingProxyType({"ko": checks_ko.REASONS})
_NONE: Mapping[tuple[str | None, str], str] = MappingProxyType({})


def headline(t: Words, finding: Finding) -> str:
    """What and where."""
    phrases = PHRASES[t.language]
    return t("headline", title=feeling.title(finding, phrases), place=feeling.place(finding, phrases))


def felt(t: Words, finding: Finding) -> str:
    return feeling.feeling(finding, verdict_of(finding), PHRASES[t.language])


def check_name(t: Words, check: str) -> str:
    return _CHECKS.get(t.language, {}).get(check) or check.replace("_", " ")


def reason_name(t: Words, check: str, reason: str) -> str:
    named = _REASONS.get(t.language, _NONE)
    return named.get((check, reason)) or named.get((None, reason)) or reason.replace("_", " ")


def named(t: Words, check: str, reason: str) -> str:
    return t("named", check=check_name(t, check), reason=reason_name(t, check, reason)) if check else ""


def title_of(t: Words, incident: PublicIncident) -> str:
    return incident.title_in(WORDINGS[t.language])


def told(t: Words, incident: PublicIncident, update: Update) -> str:
    return incident.text(update, WORDINGS[t.language])
