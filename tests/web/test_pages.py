"""The pages over HTTP: what is on them, in which language, for whom, and that nothing of a target runs in them."""

import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import pytest

from canary.core.conclusion import Conclusion
from canary.core.deploy import Deploy
from canary.core.finding import HopVerdict
from canary.core.incident import State
from canary.core.kept import Case
from canary.core.notification import HopRow, Reason, Withheld
from canary.core.secret import Secret
from canary.core.service import Listen, Storage
from canary.core.snapshot import Readiness
from canary.core.verdict import Status, Verdict
from canary.engine.records import records_of
from canary.store import open_store
from canary.web.causes_ko import WORDING
from canary.web.markup import FILES
from canary.web.records import NO_RECORDS
from canary.web.words import MESSAGES
from tests.fakes.boards import DOWN, PUBLIC, UNFELT, WELL, page_of
from tests.fakes.evidence import evidence, headers, timer
from tests.fakes.scripted_answer import done, finish, say
from tests.fakes.snapshots import NOW, finding, incident, page, pipeline, result, run, snapshot
from tests.fakes.stored import conclusion_of, notification_of, result_of, run_of

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\x00\u202eevil\" onload='x' {{ 7*7 }}"
FAST = evidence(
    request={"stream": True}, first_visible_limit_s=20.0, timeouts=(timer(60.0, name="idle", hop="browser"),)
)
SLOW = evidence(
    headers(0.1), say(50.0), finish(50.1), done(50.2), first_visible_limit_s=20.0, timeouts=(timer(30.0, hop="edge"),)
)
NAME = HOSTILE.replace("\0", "")  # nothing with a NUL in its name can be configured
EN = {"Accept-Language": "en"}


class Tags(HTMLParser):
    """Every tag with its attributes, and the text beside them; void and closed as a browser has them."""

    VOID = frozenset({"meta", "link", "br", "img"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open, self.current = [], "", [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "
        if self.tags and self.tags[-1][1].get("aria-current") == "true" and data.strip():
            self.current.append(data)

    @property
    def words(self):
        return " ".join(self.text.split())


async def shown(site, given, path="/", *, records=NO_RECORDS, headers=None, **more):
    async with site(given, records=records, **more) as running:
        status, _, body = await running.ask("GET", path, headers={**EN, **(headers or {})})
    assert status == 200, (path, status)
    tags = Tags(body.decode())
    assert tags.open == []
    return tags


@pytest.fixture
async def kept(tmp_path):
    async with open_store(Storage(url=Secret(f"sqlite:///{tmp_path}/c.db"), passed_transcript_every=1)) as store:
        yield store


async def test_the_front_page_in_words(site):
    fires = incident("chat", probe="heavy")
    given = snapshot(
        pipeline(labels={"env": "prod"}),
        runs=[run(result(SLOW))],
        incidents=(fires,),
        pages=(page(fires, acked_by="anna"), replace(page(fires), id="old", resolved_at=NOW)),
        readiness=Readiness(problems=("the schedule is 4 min late",), notes=("the config was refused",)),
    )
    words = (await shown(site, given)).words
    for said in (
        "Open incidents: 1",
        "The monitor itself is not well the schedule is 4 min late",
        "Worth knowing of the monitor the config was refused",
        "Silence beyond an idle timeout, at agent critical acknowledged by anna People are affected.",
        "opened 11:48:00 UTC, 12 min ago · Affected: edge, ui · Seen by: chat / heavy edge/nginx would have cut",
        "chat critical env=prod",
        "browser not probed",
        "edge no answer yet",
        "vllm failing First visible text 50.0 s limit 20.0 s Nearest timeout would fire edge/t 30.0 s",
        "heavy : last 12:00:00 UTC, next 12:05:00 UTC",
        "History cannot be read now: no history is kept.",
    ):
        assert said in words
    assert "old" not in words.replace("hold", "")


async def test_the_front_page_in_korean(site):
    late = incident("chat", probe="heavy", found=finding(check="first_visible", reason="never", edge=("edge", "vllm")))
    given = snapshot(pipeline(), runs=[run(result(SLOW))], incidents=(late,), pages=(page(late),))
    words = (await shown(site, given, "/?lang=ko")).words
    for said in (
        "진행 중인 장애 1건",
        "첫 답변 지연 (edge → vllm 사이) 심각",
        "11:48:00 UTC 장애 등록, 12분 경과 · 영향받는 구간: edge, ui",
        "첫 답변까지 50.0초 한도 20.0초",
        "타임아웃에 걸림 edge/t 30.0초",
    ):
        assert said in words


async def test_the_pages_for_everybody_in_korean(site, token):
    asked = {"token": token, "status_page": PUBLIC, "headers": {}}
    settings = Listen(token=Secret(token))
    for given, headline in ((DOWN, "일부 서비스에 장애가 있습니다"), (UNFELT, "일부 서비스에 문제가 있습니다")):
        state = snapshot(
            pipeline(), pages=(page_of(given),), incidents=(given,), latest=WELL, status_page=PUBLIC, listen=settings
        )
        front = (await shown(site, state, "/?lang=ko", **asked)).words
        assert headline in front
        assert f"{WORDING.checks[given.key.check]}: chat" in front
        assert "조사 중" in front
        alone = (await shown(site, state, "/incidents/a1b2?lang=ko", **asked)).words
        assert f"{WORDING.checks[given.key.check]}. 발견된 구간: " in alone


async def test_the_page_of_a_pipeline_begins_with_what_is_open_there(site):
    mine, other = incident("chat", probe="heavy"), incident("other", incident_id="i2")
    pages = (replace(page(mine), pipelines=("chat",)), page(other, id="p2", pipelines=("other",)))
    tags = await shown(site, snapshot(pipeline(), incidents=(mine, other), pages=pages), "/pipelines/chat")
    leads = [attributes["href"] for tag, attributes in tags.tags if tag == "a" and "incidents/" in attributes["href"]]
    assert leads == ["../incidents/p1"]
    assert "Silence beyond an idle timeout, at agent critical" in tags.words


async def test_a_quiet_front_page(site):
    well = run(result(FAST), result(FAST, hop="edge"))
    words = (await shown(site, snapshot(pipeline(), runs=[well]))).words
    assert "All pipelines pass" in words
    assert "chat passing" in words
    assert "First visible text 2.00 s limit 20.0 s Nearest timeout 98 % left browser/idle 60.0 s" in words
    for alarm in ("not well", "Open incidents", "failing"):
        assert alarm not in words


async def test_what_was_never_probed_is_not_called_well(site):
    words = (await shown(site, snapshot(pipeline()))).words
    assert "Not every hop has answered yet" in words
    assert "heavy : no run yet" in words
    assert "passing" not in words
    assert "No pipeline is configured." in (await shown(site, snapshot())).words


async def test_an_incident_that_recovers(site):
    back = incident("chat", state=State.RECOVERING)
    given = snapshot(pipeline(), incidents=(back,), pages=(page(back),))
    assert "critical recovering" in (await shown(site, given)).words


async def test_the_page_of_a_pipeline(site, kept):
    at = NOW - timedelta(minutes=20)
    await kept.save_run(run_of("r1", at), conclusion_of("r1", at=at), quiet=True)
    await kept.save_conclusion(
        Conclusion(pages=tuple(replace(each, pipelines=("chat",)) for each in conclusion_of().pages))
    )
    await kept.add_deploy(Deploy(at=at, text="vLLM 0.23", pipeline="chat"))
    await kept.add_deploy(Deploy(at=at, text="another one", pipeline="other"))
    tags = await shown(site, snapshot(pipeline()), "/pipelines/chat?range=24h", records=records_of(kept))
    alts = [attributes["aria-label"] for tag, attributes in tags.tags if attributes.get("class") == "plot"]
    assert len(alts) == 3 * 2  # edge, which never answered, and vllm
    assert any(
        re.search(r"First reasoning: last [\d.]+ ms, worst .*; answers without visible text: 1", alt) for alt in alts
    )
    assert alts[0] == "First visible text. nothing measured in this time; limit 20.0 s"
    for said in ("Deploy vLLM 0.23", "Incident", "r1", "24h 7d 30d 90d"):
        assert said in tags.words
    assert "another one" not in tags.words


@pytest.mark.parametrize(
    ("query", "current"),
    [
        pytest.param("", ["24h", "English"], id="a day by default"),
        pytest.param("?range=90d", ["90d", "English"], id="asked for"),
        pytest.param("?range=9999y&probe=nobody", ["24h", "English"], id="nonsense"),
    ],
)
async def test_the_range_of_a_pipeline(site, query, current):
    tags = await shown(site, snapshot(pipeline()), f"/pipelines/chat{query}")
    assert tags.current == current


async def test_the_page_of_a_run(site, kept):
    await kept.save_run(run_of("r1", status=Status.FAIL), Conclusion(), quiet=True)
    records = records_of(kept)
    tags = await shown(site, snapshot(pipeline()), "/runs/r1", records=records)
    for said in (
        "Run r1 failing",
        "Answers break off, between litellm and vllm critical complete: cut",
        "it is slow",
        "Repeat this request curl -N",
    ):
        assert said in tags.words
    assert any(attributes.get("href") == "../runs/r1/transcript/0" for _, attributes in tags.tags)
    async with site(snapshot(pipeline()), records=records) as running:
        status, answered, body = await running.ask("GET", "/runs/r1/transcript/0")
        assert (status, answered["Content-Type"]) == (200, "application/x-ndjson; charset=utf-8")
        assert answered["Content-Disposition"].startswith("attachment")
        assert body.startswith(b'{"canary_transcript": 1')
        for path in (
            "/runs/r1/transcript/9",
            "/runs/r1/transcript/-1",
            "/runs/nobody",
            "/runs/%00",
            "/incidents/nobody",
        ):
            assert (await running.ask("GET", path))[0] == 404, path


async def test_when_a_fault_was_first_seen_and_when_its_page_opened(site):
    seen = replace(DOWN, seen_at=NOW - timedelta(minutes=90))

    async def case(_):
        return Case(page=replace(page_of(DOWN), opened_at=NOW - timedelta(minutes=75)), incidents=(seen,))

    tags = await shown(site, snapshot(pipeline()), "/incidents/a1b2", records=replace(NO_RECORDS, case=case))
    assert "first seen 2026-01-31 10:30:00 UTC · opened 2026-01-31 10:45:00 UTC · 1 h 15 min" in tags.words


@pytest.mark.parametrize(
    ("minutes", "probe", "linked"),
    [
        pytest.param(0, "heavy", True, id="it opened it"),
        pytest.param(5, "heavy", True, id="while it is open"),
        pytest.param(-3, "heavy", True, id="the first failure, before it opened"),
        pytest.param(-4, "heavy", False, id="before anything failed"),
        pytest.param(5, "tiny", False, id="of another probe"),
    ],
)
async def test_a_run_leads_to_the_incidents_of_its_time(site, kept, minutes, probe, linked):
    opening = conclusion_of("r1")
    pages = tuple(
        replace(
            page,
            pipelines=("chat",),
            probes=("heavy",),
            lead=replace(opening.incidents[0], seen_at=page.opened_at - timedelta(minutes=3)),
        )
        for page in opening.pages
    )
    await kept.save_run(run_of("r1"), replace(opening, pages=pages), quiet=True)
    at = pages[0].opened_at + timedelta(minutes=minutes)
    await kept.save_run(replace(run_of("r2", status=Status.FAIL), started_at=at, probe=probe), Conclusion(), quiet=True)
    tags = await shown(site, snapshot(pipeline()), "/runs/r2", records=records_of(kept))
    assert any(attributes.get("href") == "../incidents/p1" for _, attributes in tags.tags) is linked
    assert ("Incidents then: Answers break off" in tags.words) is linked


async def test_a_run_whose_streams_are_gone(site, tmp_path):
    storage = Storage(url=Secret(f"sqlite:///{tmp_path}/c.db"), passed_transcript_every=10**9)
    async with open_store(storage) as store:
        await store.save_run(run_of("r1"), Conclusion(), quiet=True)
        tags = await shown(site, snapshot(pipeline()), "/runs/r1", records=records_of(store))
    assert "No stream of this run was kept, so there is no picture." in tags.words
    assert "The stream was not kept; the numbers are." in tags.words


async def test_the_page_of_an_incident(site, kept):
    await kept.save_run(run_of("r1"), conclusion_of("r1"), quiet=True)
    held = Withheld(page_id="p1", receiver="mail", reason=Reason.SILENCED, at=NOW)
    await kept.save_conclusion(Conclusion(withheld=(held,)))
    await kept.dead("n1", NOW + timedelta(seconds=30), "the token was revoked")
    words = (await shown(site, snapshot(pipeline()), "/incidents/p1", records=records_of(kept))).words
    for said in (
        "Answers break off, between litellm and vllm critical open",
        "it is slow",
        "chat, heavy: pending → firing r1",
        "slack opened Not sent the token was revoked",
        "mail silenced",
    ):
        assert said in words


@pytest.mark.parametrize("path", ["/", "/pipelines/chat", "/incidents/a1b2"])
async def test_every_page_speaks_both_languages(site, path):
    async with site() as running:
        for language in MESSAGES:
            _, answered, body = await running.ask("GET", f"{path}?lang={language}")
            assert f'<html lang="{language}">' in body.decode()
            _, _, body = await running.ask("GET", path, headers={"Accept-Language": f"{language};q=0.9"})
            assert f'<html lang="{language}">' in body.decode()
            assert "Accept-Language" in answered["Vary"]


async def test_links_keep_the_language_that_was_asked_for(site):
    assert "pipelines/chat?lang=ko" in [
        a.get("href") for _, a in (await shown(site, snapshot(pipeline()), "/?lang=ko")).tags
    ]
    assert "pipelines/chat" in [a.get("href") for _, a in (await shown(site, snapshot(pipeline()))).tags]


@pytest.mark.parametrize("path", ["/", "/pipelines/chat", "/incidents/a1b2"])
async def test_a_page_that_did_not_change_is_not_sent_again(site, path):
    async with site() as running:
        _, answered, _ = await running.ask("GET", path, headers=EN)
        again = {**EN, "If-None-Match": answered["ETag"]}
        running.snapshot = replace(running.snapshot, at=running.snapshot.at + timedelta(seconds=1))
        status, after, body = await running.ask("GET", path, headers=again)
        assert (status, body, after["ETag"]) == (304, b"", answered["ETag"])
        running.snapshot = replace(running.snapshot, readiness=Readiness(problems=("late",)))
        assert (await running.ask("GET", "/", headers=again))[0] == 200
        assert (await running.ask("GET", path, headers={"Accept-Language": "ko", "If-None-Match": "x"}))[0] == 200


async def test_a_store_that_is_away_takes_no_page_with_it(site):
    async with site(records=NO_RECORDS) as running:
        for path in ("/", "/pipelines/chat"):
            status, _, body = await running.ask("GET", path, headers=EN)
            assert (status, b"History cannot be read now" in body) == (200, True), path
        for path in ("/runs/r1", "/incidents/a1b2"):
            assert (await running.ask("GET", path))[0] == 503, path


def hostile():
    found = finding(HOSTILE, origin=HOSTILE)
    fires = incident(HOSTILE, probe=HOSTILE, found=found)
    slow = result(SLOW, hop=HOSTILE)
    said = replace(slow, verdicts=tuple(replace(each, message=HOSTILE, subject=HOSTILE) for each in slow.verdicts))
    return snapshot(
        pipeline(HOSTILE, hops=(HOSTILE,), probe=HOSTILE, labels={HOSTILE: HOSTILE}),
        runs=[run(said, pipeline=HOSTILE, probe=HOSTILE)],
        incidents=(fires,),
        pages=(page(fires, acked_by=HOSTILE, affected=(HOSTILE,)),),
        readiness=Readiness(problems=(HOSTILE,), notes=(HOSTILE,)),
    )


async def _hostile_case(_):
    verdict = Verdict(check="complete", status=Status.FAIL, reason=HOSTILE, message=HOSTILE, subject=HOSTILE)
    found = finding(HOSTILE, origin=HOSTILE, evidence=(HopVerdict(hop=HOSTILE, variant=HOSTILE, verdict=verdict),))
    fires = incident(HOSTILE, probe=HOSTILE, found=found)
    row = HopRow(hop=HOSTILE, status=HOSTILE, said=HOSTILE)
    open_page = page(
        fires, acked_by=HOSTILE, acked_at=NOW, lead=fires, hops=(row,), changed=(HOSTILE,), pipelines=(HOSTILE,)
    )
    return Case(page=open_page, incidents=(fires,), transitions=conclusion_of().transitions)


@pytest.fixture
async def hostile_records(kept):
    said = result_of(hop=NAME, status=Status.FAIL)
    said = replace(said, verdicts=tuple(replace(each, message=HOSTILE, subject=HOSTILE) for each in said.verdicts))
    made = run_of("r1", status=Status.FAIL, results=(said,), pipeline=NAME, probe=NAME)
    found = tuple(replace(each, message=HOSTILE, origin=HOSTILE) for each in made.findings)
    await kept.save_run(replace(made, findings=found), Conclusion(), quiet=True)
    await kept.add_deploy(Deploy(at=NOW, text=HOSTILE))
    return replace(records_of(kept), case=_hostile_case)


@pytest.mark.parametrize("path", ["/", "/runs/r1", "/incidents/p1"])
async def test_what_targets_say_is_text_and_nothing_else(site, hostile_records, path):
    async with site(hostile(), records=hostile_records) as running:
        _, _, body = await running.ask("GET", path, headers=EN)
    text, tags = body.decode(), Tags(body.decode())
    assert tags.open == []
    scripts = [
        attributes.get("src", "").partition("?")[0].rpartition("/")[2]
        for tag, attributes in tags.tags
        if tag == "script"
    ]
    assert scripts == ["canary.js"]
    assert {"img", "style", "iframe", "object", "form"} & {tag for tag, _ in tags.tags} == set()
    assert not [name for _, attributes in tags.tags for name in attributes if name.startswith("on") or name == "style"]
    assert "<script>alert(1)</script>" in tags.text
    assert "49" not in tags.text or "{{ 7*7 }}" in tags.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


async def test_nothing_is_loaded_from_elsewhere(site, hostile_records):
    async with site(hostile(), records=hostile_records) as running:
        for path in ("/", "/runs/r1", "/incidents/p1"):
            _, _, body = await running.ask("GET", path, headers=EN)
            for _, attributes in Tags(body.decode()).tags:
                link = attributes.get("href") or attributes.get("src") or ""
                assert not re.match(r"[a-z]+:|//", link), link
    for name in ("style.css", "icon.svg"):
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", FILES[name][1]), name


async def test_a_long_message_is_cut(site):
    fires = incident("chat", found=finding("x" * 5_000_000))
    given = snapshot(pipeline(), incidents=(fires,), pages=(page(fires),))
    assert len((await shown(site, given)).text) < 5_000


async def test_the_notification_that_waits(site, kept):
    await kept.save_conclusion(conclusion_of())
    await kept.save_conclusion(Conclusion(notifications=(notification_of("n2", receiver="mail"),)))
    await kept.postponed("n2", NOW + timedelta(minutes=1), "it is busy")
    words = (await shown(site, snapshot(pipeline()), "/incidents/p1", records=records_of(kept))).words
    assert "mail opened waiting, next try 12:01:00 UTC it is busy" in words
