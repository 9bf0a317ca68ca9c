"""Every route of the site with a request that it takes."""

import base64

from canary.web.app import ROUTES
from canary.web.markup import FILES
from canary.web.public import API_PATHS, FEED_PATHS
from canary.web.site import Access

HUSH = b'{"match": {"hop": "vllm", "env": "prod", "severity": "critical"}, "for": "2h", "comment": "upgrade"}'
# Each route with a request that it takes: method, path as asked, body, status.
ASKED = {
    "/": ("GET", "/", b"", 200),
    "/pipelines/{pipeline}": ("GET", "/pipelines/chat", b"", 200),
    "/incidents/{page}": ("GET", "/incidents/a1b2", b"", 200),
    "/runs/{run}": ("GET", "/runs/r1", b"", 404),
    "/runs/{run}/transcript/{place}": ("GET", "/runs/r1/transcript/0", b"", 404),
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
    "/-/note/{page}": ("POST", "/-/note/a1b2", b'{"text": "We have found the cause.", "by": "kim"}', 201),
    "/-/override": ("POST", "/-/override", b'{"pipeline": "chat", "status": "partial_outage", "for": "2h"}', 201),
    "/-/override/{id}": ("DELETE", "/-/override/o1", b"", 200),
}
ASKED |= {f"/{name}": ("GET", f"/{name}", b"", 200) for name in FILES}
ASKED |= {path: ("GET", path, b"", 200) for path in (*API_PATHS, *FEED_PATHS)}
ASKED |= {
    f"/badge{name}.{kind}": ("GET", f"/badge{asked}.{kind}", b"", 200)
    for name, asked in {"": "", "/{pipeline}": "/chat", "/{pipeline}/{hop}": "/chat/vllm"}.items()
    for kind in ("svg", "json")
}
PATHS = [path for _, path, _, _ in ROUTES]
OPEN = {path for _, path, _, access in ROUTES if access is Access.OPEN}
PUBLIC = {path for _, path, _, access in ROUTES if access is Access.PUBLIC}
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
