"""What is known of a finding, in Korean: for who operates the pipeline, and for everybody.

The keys are those of `alerting.feeling` and `alerting.published`, whose sentences these stand for. Particles that
depend on the word before them are avoided: what fills a place may be any name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from canary.alerting.feeling import Phrases
from canary.alerting.incidents import BLIND
from canary.alerting.published import Turn, Wording
from canary.web.figures import in_units
from canary.web.words import Words

_UNITS: Mapping[str, str] = MappingProxyType(
    {"tokens": "토큰", "characters": "자", "requests": "건", "flaws": "건", "lumps": "덩어리", "share": ""}
)


def _number(value: float, unit: str | None) -> str:
    if unit == "s":
        return in_units(value, Words(language="ko"))
    return f"{value:.3g}{_UNITS.get(unit or '', f' {unit}' if unit else '')}"


PHRASES = Phrases(
    titles=MappingProxyType(
        {
            ("reachable", None): "정상 응답 없음",
            ("complete", None): "응답이 도중에 끊김",
            ("complete", "hung"): "응답이 시작되지 않음",
            ("complete", "oversized"): "응답이 끝나지 않음",
            ("visible_content", None): "빈 답변",
            ("idle_timeout", None): "유휴 타임아웃보다 긴 무응답",
            ("first_visible", None): "첫 답변 지연",
            ("budget", None): "추론 예산 미적용: `{subject}`",
            ("budget", "rejected"): "추론 예산 거부: `{subject}`",
            ("streaming", None): "스트리밍되지 않고 몰아서 전달됨",
            ("streaming", "reasoning_stripped"): "추론이 전달되지 않음",
            ("streaming", "field_renamed"): "추론이 클라이언트가 모르는 필드로 전달됨",
            ("reasoning_leak", None): "답변에 추론 노출",
            ("answer", None): "틀린 답변",
            ("protocol", None): "프로토콜 위반",
            ("baseline", None): "평소보다 나쁨",
            (BLIND, None): "모니터가 판단할 수 없음",
        }
    ),
    feelings=MappingProxyType(
        {
            ("reachable", None): "사용자는 답변 대신 오류를 받습니다.",
            (
                "reachable",
                "auth",
            ): "사용자는 오류를 받습니다. 이 구간이 모니터의 키를 거부하며, 사용자의 키도 그럴 수 있습니다.",
            ("reachable", "no_response"): "사용자는 기다려도 아무 응답을 받지 못합니다.",
            ("reachable", "deadline"): "사용자는 기다려도 아무 응답을 받지 못합니다.",
            ("reachable", "gateway_timeout"): "사용자는 기다린 끝에 답변 대신 타임아웃 오류를 받습니다.",
            ("complete", None): "사용자의 답변이 도중에 끊기거나 시작되지 않습니다.",
            ("complete", "deadline"): "사용자는 끝나지 않는 답변을 계속 기다립니다.",
            (
                "complete",
                "hung",
            ): "사용자는 아무것도 보지 못한 채 기다립니다. 스트림이 열린 뒤 아무 내용도 오지 않습니다.",
            ("complete", "oversized"): "사용자는 끝나지 않는 답변을 계속 기다립니다.",
            ("complete", "stalled"): "사용자가 보던 답변이 중간에 멈춥니다.",
            ("complete", "error_in_stream"): "사용자가 보던 답변이 오류와 함께 끊깁니다.",
            ("visible_content", None): "사용자는 빈 답변을 받지만 상태 코드는 정상입니다.",
            ("visible_content", "budget_exhausted"): "사용자는 빈 답변을 받습니다. 추론이 토큰을 모두 소모했습니다.",
            ("visible_content", "all_in_reasoning"): "사용자는 빈 답변을 받습니다. 답변이 추론 필드에만 들어 있습니다.",
            ("visible_content", "stripped"): "사용자는 빈 답변을 받습니다. 답변 본문이 전달 도중에 사라집니다.",
            ("idle_timeout", None): "사용자 쪽은 {observed} 동안 아무것도 받지 못하고, {limit}에 연결이 끊깁니다.",
            ("first_visible", None): "사용자는 첫 글자를 보기까지 {observed} 기다립니다. 한도는 {limit}입니다.",
            ("first_visible", "never"): "사용자는 기다려도 아무것도 보지 못합니다. 한도는 {limit}입니다.",
            ("budget", None): "추론이 요청한 만큼 짧아지지 않아 사용자는 더 기다리고 토큰 비용이 늘어납니다.",
            ("budget", "rejected"): "추론을 줄여 달라는 요청이 거부됩니다.",
            ("budget", "inverted"): "추론을 줄여 달라고 하면 오히려 늘어나 사용자는 더 기다립니다.",
            ("streaming", None): "사용자는 한참 아무것도 보지 못하다가 답변을 한꺼번에 받습니다.",
            ("streaming", "reasoning_stripped"): "모델이 추론하는 동안 사용자에게는 아무 움직임도 보이지 않습니다.",
            ("streaming", "field_renamed"): "모델이 추론하는 동안 사용자에게는 아무 움직임도 보이지 않습니다. "
            "클라이언트가 이 필드를 모릅니다.",
            ("reasoning_leak", None): "사용자가 받는 답변에 모델의 내부 추론이나 그 표식이 섞여 있습니다.",
            ("answer", None): "사용자는 정답이 알려진 질문에 틀린 답변을 받습니다.",
            ("protocol", None): "규격대로 스트림을 읽는 클라이언트가 오류를 일으킵니다.",
            ("baseline", None): "평소와 다릅니다.",
            ("baseline", "slower"): "사용자는 평소보다 오래 기다립니다.",
            (
                "baseline",
                "more_reasoning",
            ): "모델이 평소보다 오래 추론합니다. 사용자는 더 기다리고 토큰 비용이 늘어납니다.",
            ("baseline", "less_reasoning"): "모델이 평소보다 적게 추론합니다. 답변 품질이 떨어질 수 있습니다.",
            (BLIND, None): "사용자 상황을 알 수 없습니다. 모니터가 이 구간을 보지 못하고 있습니다.",
        }
    ),
    other_title="검사 실패: {check}",
    other_feeling="사용자에게 영향이 있습니다.",
    not_felt="아직 사용자와 가장 가까운 구간까지 미치지 않았습니다.",
    at="{origin}",
    at_or_below="{origin} 또는 그 아래",
    between="{above} → {below} 사이",
    number=_number,
)
WORDING = Wording(
    checks=MappingProxyType(
        {
            "reachable": "요청에 응답하지 않음",
            "complete": "답변이 도중에 끊김",
            "protocol": "답변 형식이 깨짐",
            "visible_content": "빈 답변",
            "idle_timeout": "답변이 오래 멈춰 연결이 끊김",
            "first_visible": "답변 시작이 늦음",
            "budget": "추론 시간 제한이 지켜지지 않음",
            "streaming": "답변이 조금씩 나오지 않고 한꺼번에 나옴",
            "reasoning_leak": "답변에 답변이 아닌 내용이 섞임",
            "answer": "답변이 틀림",
            "usage": "사용량이 잘못 집계됨",
            "served_model": "요청한 것과 다른 모델이 답변함",
            "saturation": "처리할 수 있는 것보다 요청이 많음",
            "baseline": "답변이 평소보다 느리거나 다름",
            BLIND: "모니터링이 상태를 판단할 수 없음",
        }
    ),
    otherwise="예상대로 동작하지 않음",
    seen_at="발견된 구간: {hops}.",
    turns=MappingProxyType(
        {
            Turn.BACK: "다시 발생했습니다.",
            Turn.TAKEN: "담당자가 조치하고 있습니다.",
            Turn.CALM: "최근 검사는 정상입니다. 확실해질 때까지 지켜보고 있습니다.",
            Turn.OVER: "해결되었습니다.",
        }
    ),
)
