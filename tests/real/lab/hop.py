"""One running hop of the lab: where it answers, with which key, and which process it is."""

import subprocess
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    name: str
    port: int
    process: subprocess.Popen[bytes]
    api_key: str | None = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.base}/v1/chat/completions"
