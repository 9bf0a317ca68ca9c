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
    }
