"""A command that runs in this terminal as if nobody stood in between.

    with Foreground() as foreground:
        foreground.take()
        code = foreground.run(["claude"], environment)

Rule of this file: the command has our standard streams and stays in our process group, so what the terminal does (Ctrl-C, Ctrl-Z,
a new window size) reaches it without us; what somebody sends to us, it gets; and it decides. We stop when it stops, and what it
ended with is what we end with.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

SENT = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
"""Signals that are passed on."""

TYPED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
"""Signals that a terminal sends to the whole foreground group: they are passed on only where it cannot have been the terminal."""


class Foreground:
    """From `take` to the end of the block, signals are the command's and not ours."""

    def __init__(self) -> None:
        self._child = 0
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def take(self) -> None:
        """From here on. A handler, as what is ignored would be ignored by the command as well."""
        self._before = {number: signal.signal(number, self._pass_on) for number in (*SENT, *TYPED)}

    def run(self, command: Sequence[str], env: Mapping[str, str]) -> int:
        """Runs it and returns its exit code, or 128 and the number of the signal that ended it. Raises OSError: it cannot run."""
        process = subprocess.Popen(command, env=env)
        self._child = process.pid
        for number in self._early:
            self._send(number)
        while True:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            os.kill(os.getpid(), signal.SIGSTOP)  # so the shell knows; we go on here when it has us go on
            self._send(signal.SIGCONT)
        self._child = 0
        process.returncode = code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        if number in TYPED and in_foreground():
            return
        if self._child:
            self._send(number)
        else:
            self._early.append(number)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):  # what another thread was given is told late: it may have been waited for
            os.kill(self._child, number)


def in_foreground() -> bool:
    """Whether what is typed at the terminal reaches our process group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:  # there is none
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
