"""shell.py: variables of a shell that lead agents to the proxy, or past it."""

import pytest

from tests.support.machines import Box, box
from toolmend.cli.doctor import shell

__all__ = ["box"]


@pytest.mark.parametrize(
    ("entry", "around"),
    [
        ("*", True),
        ("api.openai.com", True),
        ("OpenAI.com", True),
        (".openai.com", True),
        ("*.openai.com", True),
        ("api.openai.com:443", True),
        ("penai.com", False),
        ("localhost", False),
        ("10.0.0.0/8", False),
        (".", False),
    ],
)
def test_goes_around(entry: str, around: bool) -> None:
    assert shell.bypasses("api.openai.com", entry) is around


@pytest.mark.parametrize(
    ("version", "reads"),
    [("v20.20.2", False), ("v22.20.0", False), ("v22.21.0", True), ("v23.11.0", False), ("v24.4.1", False), ("v24.5.0", True), ("v25.0.0", True)],
)
def test_which_node_reads_proxy_variables(version: str, reads: bool, box: Box) -> None:
    box.program("node", version)
    (found,) = shell.node(box.machine)
    assert found.state == "ok"
    assert ("can read proxy variables" in found.text) is reads
