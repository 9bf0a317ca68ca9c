"""A small agent: passes chat completions to LiteLLM and streams back only what a person should see.

Response headers go out at once, as frameworks do that answer with a streaming response; then nothing is written until
there is visible content. That silence is what the proxies in front of it cut. With `--forward-all`, reasoning goes
through.
Run as a process of its own: python agent.py --port P --upstream URL [--forward-all]; the key is in AGENT_UPSTREAM_KEY.
"""

import argparse
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientSession, ClientTimeout, web

HIDDEN = ("reasoning", "reasoning_content", "thinking_blocks", "provider_specific_fields")
UPSTREAM = web.AppKey("UPSTREAM", str)
FORWARD_ALL = web.AppKey("FORWARD_ALL", bool)
SESSION = web.AppKey("SESSION", ClientSession)


def visible(chunk: dict[str, Any]) -> dict[str, Any] | None:
    """The chunk without its reasoning; None where nothing else was in it. Usage and finish_reason are kept."""
    kept = []
    for choice in chunk.get("choices", []):
        delta = {name: value for name, value in choice.get("delta", {}).items() if name not in HIDDEN}
        if delta.get("content") or choice.get("finish_reason"):
            kept.append({**choice, "delta": delta})
    if not kept and not chunk.get("usage") and "error" not in chunk:
        return None
    return {**chunk, "choices": kept} if "choices" in chunk else chunk


async def events(answer: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The data of each event. LiteLLM writes one line of data per event."""
    async for line in answer:
        if line.startswith(b"data:"):
            yield line[5:].strip().decode()


async def chat(request: web.Request) -> web.StreamResponse:
    app = request.app
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    body = await request.json()
    await response.prepare(request)
    async with app[SESSION].post(app[UPSTREAM], json=body) as upstream:
        if upstream.status >= 400:
            await response.write(f"data: {(await upstream.read()).decode()}\n\n".encode())
            return response
        async for data in events(upstream.content):
            if app[FORWARD_ALL] or data == "[DONE]":
                await response.write(f"data: {data}\n\n".encode())
            elif chunk := visible(json.loads(data)):
                await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
    return response


async def health(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


async def session(app: web.Application) -> AsyncIterator[None]:
    authorization = {"Authorization": f"Bearer {os.environ['AGENT_UPSTREAM_KEY']}"}
    async with ClientSession(timeout=ClientTimeout(), headers=authorization, read_bufsize=2**20) as made:
        app[SESSION] = made
        yield


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--forward-all", action="store_true")
    options = parser.parse_args()
    app = web.Application()
    app[UPSTREAM], app[FORWARD_ALL] = options.upstream, options.forward_all
    app.cleanup_ctx.append(session)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_get("/health", health)
    # A caller that hangs up cancels the handler, so the engine stops working for nobody.
    web.run_app(app, host="127.0.0.1", port=options.port, handler_cancellation=True, print=None)


if __name__ == "__main__":
    main()
