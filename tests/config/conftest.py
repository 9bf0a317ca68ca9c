from pathlib import Path

import pytest

SECRET = "sk-very-secret-value"


@pytest.fixture
def here() -> Path:
    return Path(__file__).parent


@pytest.fixture
def env() -> dict[str, str]:
    """Every value but HOST and MODEL is one that no error and no printed plan may show."""
    return {
        "KEY": SECRET,
        "PASSWORD": f"{SECRET}-2",
        "BEARER": f"Bearer {SECRET}",
        "TWO_LINES": f"{SECRET}\nX-Evil: 1",
        "EMPTY": "",
        "HOST": "vllm.example.com",
        "MODEL": "env-model",
        "URL": f"https://{SECRET}.example.com/x",
        "FTP": f"ftp://{SECRET}/x",
    }


@pytest.fixture(scope="session")
def example_env() -> dict[str, str]:
    """All that config/canary.example.yaml refers to. No error and no printed plan may show any of it."""
    names = (
        "EDGE_PASSWORD",
        "LITELLM_KEY",
        "SLACK_TOKEN",
        "PD_KEY",
        "ALERTMANAGER_TOKEN",
        "HOOK_SECRET",
        "CANARY_TOKEN",
        "STATUSPAGE_KEY",
    )
    urls = ("SLACK_WEBHOOK", "HOOK_URL", "APPRISE_URL", "HEARTBEAT_URL")
    return dict.fromkeys(names, SECRET) | dict.fromkeys(urls, f"https://{SECRET}.example.com/x")
