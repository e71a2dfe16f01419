r"""What plays the providers: floods, paced streams, endless ones, over TLS, in a process of its own.

    with Load(certificate) as load:  load.port, load.sent()

A request says in its text what is to be played, so that it says so in any API and after any translation:

    [[flood prose 20 100000]]     100,000 events, twenty a chunk, made before they are asked for twice, sent at once
    [[paced prose 100 300]]       300 events, 100 a second, each with the time it left: " @123456789@"
    [[repeat prose 20 1024]]      1024 MiB of events
    [[hold prose 50]]             50 events, and then nothing until the client leaves
    [[first prose 30000]]         one event at once, so many milliseconds later the end

Rule of this file: it must never be what is waited for. So: blocking sockets, a thread a connection, bodies made beforehand, and
nothing of asyncio or HTTP that is not needed. It is run as `python -m bench.load CERT KEY`, and ends when its input does.
"""

import functools
import gc
import itertools
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from . import bodies

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
BLOCK = 1 << 20

GOLDEN = (5**0.5 - 1) / 2
"""Paced streams that are asked for one after the other keep this part of a step between them, so that any few of them are spread
evenly. Left to when a proxy passed their requests on, they fall into step, in one proxy more than in another."""

OPEN = (
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "functions.task:0",
    "<|tool_call_argument_begin|>",
    '{"description": "',
)
CLOSE = ('"}', "<|tool_call_end|>", "<|tool_calls_section_end|>")

PARTS = {"prose": ((), " item", ()), "markup": (OPEN, " item", CLOSE)}
"""By name: the deltas at the beginning, the one that is repeated, those at the end."""


class Load:
    """The process; `sent` tells how many bytes of `repeat` have left it."""

    def __init__(self, certificate: tuple[Path, Path]) -> None:
        self._certificate = certificate

    def sent(self) -> int:
        """The bytes of the `repeat` under way, or of the last one; one at a time can be asked for."""
        self._say("sent")
        return int(self._hear())

    def __enter__(self) -> Self:
        command = [sys.executable, "-P", "-m", "bench.load", *map(str, self._certificate)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="ascii")
        self.port = int(self._hear())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def _say(self, word: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()


def directive(play: str) -> str:
    """What a request says."""
    return f"[[{play}]]"


# in the process

_SENT = [0]
_PHASES = (number * GOLDEN % 1 for number in itertools.count())


def main(certificate: str, key: str) -> None:
    """Serve until the input ends; each line of it is a question for `sent`."""
    gc.disable()  # to look for garbage takes 50 ms, in which all streams wait
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    threading.Thread(target=_accept, args=(listener, context), daemon=True).start()
    print(listener.getsockname()[1], flush=True)  # noqa: T201  the parent reads it
    for _ in sys.stdin:
        print(_SENT[0], flush=True)  # noqa: T201


def _accept(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        plain, _ = listener.accept()
        threading.Thread(target=_serve, args=(plain, context), daemon=True).start()


def _serve(plain: socket.socket, context: ssl.SSLContext) -> None:
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        with context.wrap_socket(plain, server_side=True) as tls:
            buffered = b""
            while True:
                while b"\r\n\r\n" not in buffered:
                    if not (more := tls.recv(65536)):
                        return
                    buffered += more
                head, _, buffered = buffered.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)\ncontent-length: *(\d+)", head)
                size = int(length[1]) if length else 0
                while len(buffered) < size:
                    buffered += tls.recv(1 << 20)
                body, buffered = buffered[:size], buffered[size:]
                said = re.search(rb"\[\[([^\]]+)\]\]", body)
                what, *arguments = said[1].decode().split() if said else ("flood", "prose", "1", "1")
                _PLAYS[what](tls, *arguments)
    except OSError:
        pass  # the client has left


def chunked(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


END = b"0\r\n\r\n"


@functools.cache
def parts(name: str) -> tuple[list[bytes], bytes, list[bytes]]:
    """The events at the beginning, the one that is repeated, those at the end."""
    before, middle, after = PARTS[name]
    said = [{"content": text} for text in (*before, middle, *after)]
    events = bodies.chunks(bodies.chat([{"role": "assistant", "content": ""}, *said], "stop"), 1)
    at = 1 + len(before)
    return events[:at], events[at], events[at + 1 :]


@functools.cache
def _flood(name: str, per_chunk: str, events: str) -> bytes:
    before, middle, after = parts(name)
    groups = itertools.batched([*before, *[middle] * int(events), *after], int(per_chunk))
    return HEAD + b"".join([chunked(b"".join(group)) for group in groups]) + END


def _flooded(tls: ssl.SSLSocket, name: str, per_chunk: str, events: str) -> None:
    tls.sendall(_flood(name, per_chunk, events))


def _paced(tls: ssl.SSLSocket, name: str, rate: str, events: str) -> None:
    before, middle, after = parts(name)
    tls.sendall(HEAD + b"".join(map(chunked, before)))
    head, tail = middle.split(b" item")
    step = 1 / float(rate)
    due = (time.monotonic() // step + 1 + next(_PHASES)) * step
    for _ in range(int(events)):
        due += step
        time.sleep(max(0.0, due - time.monotonic()))
        tls.sendall(chunked(b"%b @%d@%b" % (head, time.monotonic_ns(), tail)))
    tls.sendall(b"".join(map(chunked, after)) + END)


def _repeat(tls: ssl.SSLSocket, name: str, per_chunk: str, megabytes: str) -> None:
    before, middle, after = parts(name)
    tls.sendall(HEAD + b"".join(map(chunked, before)))
    many = int(per_chunk)
    one = chunked(middle * many)
    block = one * max(1, BLOCK // len(one))
    sent = _SENT[0] = 0
    while sent < int(megabytes) << 20:
        tls.sendall(block)
        sent += len(block)
        _SENT[0] = sent
    tls.sendall(b"".join(map(chunked, after)) + END)


def _hold(tls: ssl.SSLSocket, name: str, events: str) -> None:
    before, middle, _ = parts(name)
    tls.sendall(HEAD + b"".join(map(chunked, [*before, *[middle] * int(events)])))
    tls.recv(1)


def _first(tls: ssl.SSLSocket, name: str, milliseconds: str) -> None:
    before, middle, after = parts(name)
    tls.sendall(HEAD + b"".join(map(chunked, [*before, middle])))
    time.sleep(int(milliseconds) / 1000)
    tls.sendall(b"".join(map(chunked, after)) + END)


_PLAYS: dict[str, Callable[..., None]] = {
    "flood": _flooded,
    "paced": _paced,
    "repeat": _repeat,
    "hold": _hold,
    "first": _first,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
