"""The layers of the package: each imports only what stands above it, and the internals of others are touched in one place."""

import ast
from functools import cache
from pathlib import Path

import toolmend

TOP = Path(toolmend.__file__).parent
LAYERS = (
    "core",
    "secrets",
    "providers",
    "dialects",
    "apis",
    "requests",
    "pipeline",
    "config",
    "recordings",
    "telemetry",
    "proxy",
    "cli",
)
MITMPROXY = ("proxy/", "recordings/export/", "config/", "cli/")
"""Where mitmproxy may be imported: the addon, flow files, mitmproxy's options, and what starts mitmdump."""


@cache
def imports() -> list[tuple[str, int, str]]:
    """Every import in the package: the file, its line, and the module with its package."""
    found: list[tuple[str, int, str]] = []
    for file in sorted(TOP.rglob("*.py")):
        package = ["toolmend", *file.relative_to(TOP).parts[:-1]]
        name = file.relative_to(TOP).as_posix()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found += ((name, node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                found.append((name, node.lineno, ".".join([*base, *([node.module] if node.module else []), node.names[0].name])))
    return found


def test_the_top_holds_packages_alone() -> None:
    assert {path.name for path in TOP.iterdir() if path.name != "__pycache__"} == {*LAYERS, "__init__.py", "__main__.py"}


def test_each_package_imports_only_those_above_it() -> None:
    upwards = []
    for file, line, module in imports():
        own, target = file.split("/")[0], module.split(".")[1] if module.startswith("toolmend.") else ""
        if own in LAYERS and target in LAYERS and LAYERS.index(target) > LAYERS.index(own):
            upwards.append(f"{file}:{line} imports {module}")
    assert upwards == []


def test_mitmproxy_is_imported_by_the_proxy() -> None:
    others = [f"{file}:{line}" for file, line, module in imports() if module.split(".")[0] == "mitmproxy" and not file.startswith(MITMPROXY)]
    assert others == []


def test_private_modules_of_others_are_imported_by_patches() -> None:
    private = [
        f"{file}:{line} imports {module}"
        for file, line, module in imports()
        if not module.startswith("toolmend") and any(part.startswith("_") and part != "__future__" for part in module.split("."))
        if not file.startswith("proxy/patches/")
    ]
    assert private == []
