"""Real receivers on loopback: what is told to them, and in which order."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import aiohttp

from canary.core.finding import Severity
from canary.core.incident import Page
from canary.core.metrics import Sending
from canary.core.notification import Reason, Sent
from canary.core.route import Receiver
from canary.core.spec import Plan
from canary.engine.state import Known
from canary.engine.teller import Teller
from canary.notify.alertmanager import AlertmanagerOptions
from tests.fakes.llm_server import Cut, LlmServer, whole
from tests.fakes.messages import NOW, notification

TAKEN = whole(b"{}", 200, connection="close")


def receiver(name: str, server: LlmServer) -> Receiver:
    return Receiver(name=name, kind="alertmanager", options=AlertmanagerOptions(url=server.url))


async def test_what_is_said_again_does_not_overtake_the_end():
    """While one receiver is slow to hear it again, the page is resolved at the other: that one hears no more of it."""
    now, go_on = [NOW], asyncio.Event()
    async with (
        LlmServer([(go_on, TAKEN)]) as slow,
        LlmServer([(0.0, TAKEN)]) as quick,
        aiohttp.ClientSession() as session,
        asyncio.timeout(30),
    ):
        known = Known(
            plan=Plan(pipelines=(), receivers=(receiver("slow", slow), receiver("quick", quick))), started_at=NOW
        )
        page = Page(id="p1", cause="c", opened_at=NOW, severity=Severity.CRITICAL, members=("i",))
        known.pages["p1"] = page
        teller = Teller(known=known, session=session, now=lambda: now[0])
        for name in ("slow", "quick"):
            teller.told(replace(notification(), receiver=name), Sending.SENT, "")
        now[0] += timedelta(minutes=2)
        again = asyncio.create_task(teller.say_again())
        await slow.arrived.wait()
        known.pages["p1"] = replace(page, members=(), resolved_at=now[0])
        assert isinstance(await teller.deliver(replace(notification(Reason.RESOLVED), receiver="quick"), None), Sent)
        go_on.set()
        await again
    assert [json.loads(request.body)[0]["endsAt"][:4] for request in quick.requests] == [str(NOW.year)], "only its end"


async def test_who_does_not_take_one_page_again_is_not_asked_to_take_the_others():
    """With a page more each, a receiver that is silent would hold up reminders by its whole patience for each page."""
    now = [NOW]
    async with (
        LlmServer([(0.0, whole(b"", 503, connection="close")), (0.0, Cut.FIN)]) as away,
        LlmServer([(0.0, TAKEN), (0.0, Cut.FIN)]) as quick,
        aiohttp.ClientSession() as session,
        asyncio.timeout(30),
    ):
        plan = Plan(pipelines=(), receivers=(receiver("away", away), receiver("quick", quick)))
        known = Known(plan=plan, started_at=NOW)
        teller = Teller(known=known, session=session, now=lambda: now[0])
        for name in ("p1", "p2", "p3"):
            known.pages[name] = Page(id=name, cause=name, opened_at=NOW, severity=Severity.CRITICAL, members=("i",))
            for told in ("away", "quick"):
                teller.told(replace(notification(page=name), receiver=told), Sending.SENT, "")
        for _ in range(2):
            now[0] += timedelta(minutes=2)
            await teller.say_again()
    assert (len(away.requests), len(quick.requests)) == (2, 6)
