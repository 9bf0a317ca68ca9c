"""The status page, and the receiver that pushes to one, as a config says them."""

from pathlib import Path

import pytest

from canary.config.load import load_plan
from canary.config.show_service import receiver_line, service_line
from canary.core.secret import Secret
from canary.core.service import StatusPage
from canary.notify.statuspage import StatuspageOptions

HEAD = """
pipelines:
  - name: chat-prod
    hops: [{name: vllm, url: "http://vllm:8000/v1/chat/completions", model: m}]
    probes: [{use: quick}]
"""
ENV = {"KEY": "s3cr3t-token"}


def plan_of(tmp_path: Path, text: str):
    path = tmp_path / "canary.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return load_plan([path], env=ENV)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", StatusPage(), id="nothing said: nothing public"),
        pytest.param(
            "status_page: {title: Chat, min_age: 5m}", StatusPage(title="Chat", min_age_s=300.0), id="private"
        ),
        pytest.param(
            'listen: {token: "${env:KEY}"}\nstatus_page: {public: true, content: true, min_age: 0s}',
            StatusPage(public=True, content=True, min_age_s=0.0),
            id="public",
        ),
    ],
)
def test_the_status_page(tmp_path: Path, text: str, expected: StatusPage):
    assert plan_of(tmp_path, text).service.status_page == expected


def test_in_words(tmp_path: Path):
    plan = plan_of(tmp_path, 'listen: {token: "${env:KEY}"}\nstatus_page: {public: true, title: Chat}')
    assert "public status page 'Chat' of incidents from 2 min on" in service_line(plan.service)
    assert "public" not in service_line(plan_of(tmp_path, "status_page: {title: Chat}").service)


def test_the_receiver(tmp_path: Path):
    text = """
receivers:
  - name: status
    statuspage:
      api_key: "${env:KEY}"
      page_id: pg1
      components: {chat-prod: c1, chat-prod/vllm: c2}
"""
    (receiver,) = plan_of(tmp_path, text).receivers
    components = {"chat-prod": "c1", "chat-prod/vllm": "c2"}
    assert receiver.options == StatuspageOptions(api_key=Secret(ENV["KEY"]), page_id="pg1", components=components)
    assert ENV["KEY"] not in receiver_line(receiver)
