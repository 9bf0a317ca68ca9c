"""Imports only go down. The table is the architecture; whoever changes it changes the architecture."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "canary"

LAYERS = {
    "core": 1,
    "analysis": 2,
    "prompts": 3,
    "wire": 3,
    "checks": 3,
    "alerting": 3,
    "client": 4,
    "store": 4,
    "notify": 4,
    "web": 4,
    "config": 5,
    "engine": 5,
    "demo": 5,
    "daemon": 6,
    "cli": 7,
}
PURE = ("core", "analysis", "prompts", "wire", "checks", "alerting")
IMPURE_IN_PURE = {
    "asyncio",
    "aiohttp",
    "logging",
    "structlog",
    "random",
    "secrets",
    "time",
    "os",
    "socket",
    "threading",
}
FILES = sorted(ROOT.rglob("*.py"))
MAX_LINES = 400


def part_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def violations(part: str, imports: set[str]) -> list[str]:
    """What in `imports` a module of `part` may not import, one line each."""
    found = []
    for name in sorted(imports):
        root, _, rest = name.partition(".")
        if root == "canary" and rest:
            target = rest.split(".")[0]
            if target != part and target in LAYERS and LAYERS[target] >= LAYERS[part]:
                found.append(f"{part} (layer {LAYERS[part]}) imports {name} (layer {LAYERS[target]})")
        if part in PURE and root in IMPURE_IN_PURE:
            found.append(f"{part} is pure and imports {name}")
        if part == "core" and root in {"yaml", "rich", "typer", "pydantic"}:
            found.append(f"core takes the standard library only, and imports {name}")
    return found


@pytest.mark.parametrize("path", [p for p in FILES if part_of(p) in LAYERS], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_go_down(path: Path):
    assert violations(part_of(path), imports_of(path)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_has_a_layer_and_stays_readable(path: Path):
    assert part_of(path) in {*LAYERS, "__init__", "__main__"}
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize(
    ("part", "imports"),
    [
        pytest.param("core", {"canary.wire"}, id="up"),
        pytest.param("wire", {"canary.checks.idle_timeout"}, id="sideways"),
        pytest.param("checks", {"asyncio"}, id="asyncio in a pure layer"),
        pytest.param("core", {"yaml"}, id="a library in core"),
    ],
)
def test_the_layer_test_can_fail(part: str, imports: set[str]):
    assert violations(part, imports)


@pytest.mark.parametrize("part", PURE)
def test_pure_layers_have_no_coroutines(part: str):
    for path in sorted((ROOT / part).rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert not [n for n in nodes if isinstance(n, ast.AsyncFunctionDef | ast.Await)], path
