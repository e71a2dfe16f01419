"""listening.py: which texts are addresses, who can reach them, and that nothing is taken over."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolmend.proxy.envoy.listening import ListenError, is_local_only, is_loopback, is_valid_address, listen


class Server:
    """As gRPC's: 0, or an exception, where it cannot listen."""

    def __init__(self, port: int | None = 4711) -> None:
        self.port, self.asked = port, list[str]()

    def add_insecure_port(self, text: str) -> int:
        self.asked.append(text)
        if self.port is None:
            raise RuntimeError
        return self.port


@pytest.mark.parametrize(
    ("text", "valid", "local"),
    [
        ("127.0.0.1:18711", True, True),
        ("127.0.0.1:0", True, True),
        ("localhost:1", True, True),
        ("[::1]:18711", True, True),
        ("unix:/run/toolmend.sock", True, True),
        ("0.0.0.0:18711", True, False),
        ("[::]:18711", True, False),
        ("worker.example:18711", True, False),
        ("unix:relative.sock", False, True),
        ("127.0.0.1", False, True),
        ("127.0.0.1:65536", False, True),
        (":18711", False, False),
        ("", False, False),
    ],
)
def test_addresses(text: str, valid: bool, local: bool) -> None:
    assert (is_valid_address(text), is_local_only(text)) == (valid, local)


@pytest.mark.parametrize(("host", "loopback"), [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("localhost.example", False), ("10.0.0.1", False), ("", False)])
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback


@pytest.mark.parametrize(("text", "at"), [("127.0.0.1:0", "127.0.0.1:4711"), ("[::1]:0", "[::1]:4711")])
def test_the_actual_port_is_returned(text: str, at: str) -> None:
    assert listen(Server(), text) == at


@pytest.mark.parametrize("port", [0, None])
def test_a_port_in_use_is_an_error(port: int | None) -> None:
    with pytest.raises(ListenError, match="127"):
        listen(Server(port), "127.0.0.1:18711")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        yield f"unix:{path}"


def test_a_socket_that_answers_is_never_taken_over(running: str) -> None:
    server = Server()
    with pytest.raises(ListenError):
        listen(server, running)
    assert server.asked == []


def test_a_socket_that_nothing_answers_at_is_used(tmp_path: Path) -> None:
    text = f"unix:{tmp_path / 's'}"
    assert listen(Server(), text) == text
