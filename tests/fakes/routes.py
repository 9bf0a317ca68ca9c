"""Every route of the site with a request that it takes."""

import base64

from canary.web.app import ROUTES

HUSH = b'{"match": {"hop": "vllm", "env": "prod", "severity": "critical"}, "for": "2h", "comment": "upgrade"}'
# Each route with a request that it takes: method, path as asked, body, status.
ASKED = {
    "/": ("GET", "/", b"", 200),
    "/style.css": ("GET", "/style.css", b"", 200),
    "/metrics": ("GET", "/metrics", b"", 200),
    "/api/v1/state": ("GET", "/api/v1/state", b"", 200),
    "/-/healthy": ("GET", "/-/healthy", b"", 200),
    "/-/ready": ("GET", "/-/ready", b"", 200),
    "/-/reload": ("POST", "/-/reload", b"", 200),
    "/-/probe/{pipeline}": ("POST", "/-/probe/chat", b"", 202),
    "/-/probe/{pipeline}/{probe}": ("POST", "/-/probe/chat/heavy", b"", 202),
    "/-/deploy": ("POST", "/-/deploy", b'{"text": "vLLM 0.23"}', 201),
    "/-/ack/{page}": ("POST", "/-/ack/p1", b"", 200),
    "/-/silence": ("POST", "/-/silence", HUSH, 201),
    "/-/silence/{id}": ("DELETE", "/-/silence/s1", b"", 200),
}
PATHS = [path for _, path, _ in ROUTES]
ACTING = [path for path in PATHS if ASKED[path][0] != "GET"]
GIVEN = {
    "no token": ({}, False),
    "wrong": ({"Authorization": "Bearer wrong-horse"}, False),
    "half": ({"Authorization": "Bearer"}, False),
    "right": ({"Authorization": "Bearer correct-horse"}, True),
    "right, basic": ({"Authorization": "Basic " + base64.b64encode(b"anna:correct-horse").decode()}, True),
}


async def ask(running, path, **more):
    method, asked, data, _ = ASKED[path]
    return await running.ask(method, asked, data=data or None, **more)
