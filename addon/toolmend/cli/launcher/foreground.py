"""Runs a command in this terminal as if it had been started directly.

    with Foreground() as foreground:
        foreground.take_signals()
        code = foreground.run(["claude"], environment)

The command shares standard streams and process group, so what the terminal sends (Ctrl-C, Ctrl-Z, a new window size) reaches it
directly. Signals sent to this process are forwarded, and the command decides how to react. This process stops when the command
stops, and ends with its exit code.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
"""Signals that are forwarded."""

TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
"""Signals that a terminal sends to the whole foreground group: forwarded only if they cannot have come from the terminal."""


class Foreground:
    """Forwards signals to the command from `take_signals` to the end of the block."""

    def __init__(self) -> None:
        self._child = 0
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def take_signals(self) -> None:
        """Installs the handlers. Ignoring the signals would make the command ignore them, too."""
        self._before = {number: signal.signal(number, self._forward) for number in (*FORWARDED, *TERMINAL)}

    def run(self, command: Sequence[str], env: Mapping[str, str]) -> int:
        """Runs a command.

        Returns:
            Its exit code, or 128 and the number of the signal that ended it.

        Raises:
            OSError: It cannot be run.
        """
        process = subprocess.Popen(command, env=env)
        self._child = process.pid
        for number in self._early:
            self._send(number)
        while True:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            os.kill(os.getpid(), signal.SIGSTOP)  # the shell sees the stop; execution goes on here when it continues this process
            self._send(signal.SIGCONT)
        self._child = 0
        process.returncode = code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _forward(self, number: int, _: FrameType | None) -> None:
        if number in TERMINAL and in_foreground():
            return
        if self._child:
            self._send(number)
        else:
            self._early.append(number)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):  # Python runs handlers late: the command may be gone
            os.kill(self._child, number)


def in_foreground() -> bool:
    """Returns whether keys typed at the terminal reach this process group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:  # no terminal
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
