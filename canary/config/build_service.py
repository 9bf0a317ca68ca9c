"""What checked config files say about the daemon itself, in whichever of them it stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path as File
from typing import Any

from canary.config.build_alerts import said
from canary.config.schema import ConfigFile
from canary.config.service import KeepSection, ListenSection, StatusPageSection
from canary.core.secret import Secret
from canary.core.service import Heartbeat, Listen, LogFormat, OwnNetwork, Service, StatusPage, Storage

_SQLITE = "sqlite:///"
_DAY_S = 86_400.0


def build_service(files: Sequence[tuple[File, ConfigFile]]) -> Service:
    """A relative path of a database starts from the file that says it, or from the first one where none does.

    So it is the same database for the daemon and for every command, whatever folder they are started in.
    """
    log, heartbeat, own_network = (_first(files, key) for key in ("log", "heartbeat", "own_network"))
    return Service(
        storage=storage_of(files),
        **said(
            {
                "status_page": _status_page(_first(files, "status_page") or StatusPageSection()),
                "listen": _listen(_first(files, "listen") or ListenSection()),
                "heartbeat": heartbeat and Heartbeat(**said({"url": heartbeat.url, "every_s": heartbeat.every})),
                "own_network": own_network
                and OwnNetwork(**said({"address": own_network.address, "timeout_s": own_network.timeout})),
                "shutdown_grace_s": _first(files, "shutdown_grace"),
                "concurrent_runs": _first(files, "concurrent_runs"),
                "log_format": LogFormat(log.format) if log and log.format else None,
                "include_content": _first(files, "include_content"),
            }
        ),
    )


def _first(files: Sequence[tuple[File, ConfigFile]], key: str) -> Any:
    """Where several files say it they say the same: `service_rules` saw to it."""
    return next((value for _, file in files if (value := getattr(file, key)) is not None), None)


def _listen(section: ListenSection) -> Listen:
    host, port = section.address or (None, None)
    public_url = section.public_url.rstrip("/") if section.public_url else None
    return Listen(**said({"host": host, "port": port, "token": section.token, "public_url": public_url}))


def _status_page(section: StatusPageSection) -> StatusPage:
    said_so = {"public": section.public, "title": section.title, "min_age_s": section.min_age}
    return StatusPage(**said(said_so | {"content": section.content}))


def storage_of(files: Sequence[tuple[File, ConfigFile]]) -> Storage:
    folder = next((folder for folder, file in files if file.storage and file.storage.url), files[0][0])
    section = _first(files, "storage")
    keep = section.keep if section else KeepSection()
    url = section.url if section and section.url else Storage().url
    amounts = {
        "keep_days": keep.age / _DAY_S if keep.age else None,
        "keep_runs": keep.runs,
        "keep_bytes": keep.transcripts,
        "transcript_bytes": keep.transcript,
        "passed_transcript_every": keep.passed_every,
    }
    return Storage(url=_absolute(url, folder), **said(amounts))


def _absolute(url: Secret, folder: File) -> Secret:
    if not url.reveal().startswith(_SQLITE):
        return url
    return Secret(f"{_SQLITE}{(folder / url.reveal().removeprefix(_SQLITE)).absolute()}")
