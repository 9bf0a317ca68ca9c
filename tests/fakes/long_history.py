"""A store after months: runs of many hops, their spans, incidents, deploys and a new version, with plausible noise."""

import math
from datetime import timedelta
from random import Random  # noqa: TID251  # seeded

from canary.core.conclusion import Conclusion
from canary.core.deploy import Deploy
from canary.core.measurement import Fingerprint
from canary.core.span import RANGES, WHOLE_RUN, floor
from canary.core.timeout import Clock
from canary.store.codec import encode
from canary.store.tables import SPANS
from tests.fakes.stored import fill, incident_of, page_of

EVERY_S = 300.0
OLD = Fingerprint(model="qwen3", system_fingerprint="vllm-0.22.1-5eed")
NEW = Fingerprint(model="qwen3", system_fingerprint="vllm-0.23.0-5eed")


async def fill_history(store, hops, *, days, now, pipeline="chat", probe="heavy", runs=True):
    """One run each five minutes, until now. `runs` False: only what pages over time are made of."""
    begin = now - timedelta(days=days)
    if runs:
        count = round(days * 86400 / EVERY_S)
        await fill(store, count, hops=hops, every_s=EVERY_S, begin=begin, pipeline=pipeline, probe=probe)
    rows = [
        row | {"pipeline": pipeline, "probe": probe, "grain_s": round(each.grain.total_seconds())}
        for each in RANGES.values()
        for start in each.starts(now)
        if start >= floor(begin, each.grain)
        for row in _spans(hops, start, each.grain, now)
    ]
    async with store.database.writing() as connection:
        await connection.execute(SPANS.delete())  # of the run that others were made from
        for first in range(0, len(rows), 5000):
            await connection.execute(SPANS.insert(), rows[first : first + 5000])
    await store.save_conclusion(Conclusion(pages=tuple(_pages(begin, now, pipeline)), incidents=(incident_of(),)))
    for back in (0.3, 3.0, 20.0, 60.0):
        if back < days:
            await store.add_deploy(Deploy(at=now - timedelta(days=back), text="vLLM 0.23.0", pipeline=pipeline))


def _spans(hops, start, grain, now):
    count = max(round(min(grain, now - start).total_seconds() / EVERY_S), 1)
    day = (now - start).total_seconds() / 86400
    wave = 1.0 + 0.35 * math.sin(2 * math.pi * (start.timestamp() % 86400) / 86400)
    ill = any(abs(day - at) < wide for at, wide in ((0.4, 0.05), (11.0, 0.5), (47.0, 1.0)))
    for place, hop in enumerate((WHOLE_RUN, *hops)):
        noise = Random(f"{hop}{start}")
        mine = ill and place < len(hops) // 2 + 1
        failed = max(count // 4, 1) if mine else 0
        first = (2.1 + 0.15 * place) * wave * noise.uniform(0.9, 1.15)
        yield {
            "at": start,
            "hop": hop,
            "passed": count - failed,
            "warned": 0,
            "failed": failed,
            "unknown": 0,
            "never": failed // 2,
            "fingerprint": encode(NEW if day < 20 else OLD),
            **_spread("first_visible", count, first, first * (9.0 if mine else 1.6)),
            **_spread("first_reasoning", count, 0.3 * wave, 0.5),
            **_spread("reasoning_share", count, 0.72, 0.9),
            **{f"silence_{clock}": first * (9.0 if mine else 1.4) for clock in Clock},
        }


def _spread(name, count, mean, most):
    return {f"{name}_count": count, f"{name}_sum": mean * count, f"{name}_least": mean * 0.6, f"{name}_most": most}


def _pages(begin, now, pipeline):
    for number, back in enumerate((0.42, 11.3, 47.5)):
        at = now - timedelta(days=back)
        if at >= begin:
            over = at + timedelta(minutes=70)
            yield page_of(f"p{number}", at, resolved_at=over, members=(), pipelines=(pipeline,), lead=incident_of())
