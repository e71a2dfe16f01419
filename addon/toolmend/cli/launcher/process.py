"""Runs a program as a process: started, awaited by a line of its output, and always ended.

    with Process("the name in errors", [sys.executable, "-c", "…"], ready="a pattern") as process:
        process.wait_for("another"), process.log, process.pid

Whatever happens in the block or while entering it, Ctrl-C included, the process is gone after it. It is ended by its pid: with
SIGTERM, so that it can finish, and with SIGKILL if it does not. It has its own session, so the terminal's Ctrl-C does not reach
it.
"""

import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import IO, Self

START = 60.0
"""Seconds until it must be ready; 0.5 s is usual, but a busy machine that creates its first CA takes longer."""

GRACE = 15.0
"""Seconds between SIGTERM and SIGKILL: more than the recorder's limit for finishing."""

MAX_LINES = 20_000
"""Lines of the log that are kept, some MB: an agent may run for weeks."""


class ProcessError(RuntimeError):
    """A process did not do what was awaited; the message has the end of its log."""


class Process:
    """A command that runs while the `with` block does.

    Args:
        name: Its name in errors.
        command: The command line.
        ready: A pattern in its log that means it is ready.
        env: Its environment; by default that of this process.

    Raises:
        ProcessError: It ended or was not ready in time; a subclass may set another class as `error`.
    """

    error: type[ProcessError] = ProcessError
    stdin, stderr = subprocess.DEVNULL, subprocess.PIPE
    """As for Popen. If stderr is a pipe, it is the log and stdout's lines are in `out`; otherwise the log is stdout."""

    def __init__(self, name: str, command: Sequence[str], ready: str, env: Mapping[str, str] | None = None) -> None:
        self.name, self.command, self.ready, self.env = name, command, ready, env
        self.out: list[str] = []
        self._log: list[str] = []
        self._dropped = 0  # lines that were dropped at the beginning
        self._ended = False
        self._news = threading.Condition()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative if a signal ended it."""
        return self._process.poll()

    @property
    def log(self) -> str:
        """Its log so far."""
        with self._news:
            return "".join(self._log)

    def signal(self, number: int) -> None:
        """Sends it a signal."""
        self._process.send_signal(number)

    def wait(self, seconds: float = GRACE) -> int:
        """Returns its exit code when it has ended. Raises subprocess.TimeoutExpired."""
        return self._process.wait(seconds)

    def wait_for(self, pattern: str, seconds: float = 10.0) -> re.Match[str]:
        """Waits until a regular expression is found in the log.

        Raises:
            ProcessError: It is not found in time, or the process ends.
        """
        with self._news:
            self._news.wait_for(lambda: self._ended or re.search(pattern, "".join(self._log)), seconds)
            log, ended = "".join(self._log), self._ended
        if found := re.search(pattern, log):
            return found
        problem = f"ended with exit code {self._process.wait()}" if ended else f"did not print {pattern!r}"
        raise self.error(f"{self.name} {problem}; the end of its log:\n{tail(log)}")

    def wait_for_output(self, holds: Callable[[list[str]], bool], seconds: float = 10.0) -> list[str]:
        """Waits until a condition holds for the lines of stdout, and returns them. Raises `error` if it does not hold in time."""
        with self._news:
            if not self._news.wait_for(lambda: holds(self.out), seconds):
                raise self.error(f"{self.name} did not print what was awaited; its last lines:\n" + "".join(self.out[-5:]))
            return list(self.out)

    def follow(self) -> Iterator[str]:
        """Yields every line of the log from now on, until the process ends."""
        at = self._dropped + len(self._log)
        while new := self._lines_from(at):
            yield from new
            at += len(new)

    def stop(self) -> None:
        """Ends the process and waits until it is gone; does nothing if it is."""
        try:
            self._process.terminate()
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()
            for reader in self._readers:
                reader.join()
            if self._process.stdin:
                self._process.stdin.close()

    def __enter__(self) -> Self:
        self._process = process = subprocess.Popen(
            self.command,
            env=self.env,
            start_new_session=True,
            stdin=self.stdin,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            encoding="utf-8",
            errors="replace",
        )
        assert process.stdout
        pipes = ((process.stdout, self.out), (process.stderr, self._log)) if process.stderr else ((process.stdout, self._log),)
        name = f"{self.name} output"
        self._readers = [threading.Thread(target=self._read, args=pipe, name=name, daemon=True) for pipe in pipes]
        for reader in self._readers:
            reader.start()
        try:
            self.wait_for(self.ready, START)
            self._started()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _started(self) -> None:
        """Waits for what else a subclass needs."""

    def _lines_from(self, at: int) -> list[str]:
        """Waits for lines from number `at` on and returns them; none at the end."""
        with self._news:
            self._news.wait_for(lambda: self._ended or self._dropped + len(self._log) > at)
            return self._log[max(0, at - self._dropped) :]

    def _read(self, pipe: IO[str], into: list[str]) -> None:
        is_log = into is self._log
        with pipe:
            for line in pipe:
                with self._news:
                    into.append(line)
                    if is_log and len(into) > MAX_LINES:
                        self._dropped += MAX_LINES // 2
                        del into[: MAX_LINES // 2]
                    self._news.notify_all()
        with self._news:
            self._ended = self._ended or is_log
            self._news.notify_all()


def tail(log: str, lines: int = 15) -> str:
    """Returns the last lines of a log."""
    return "\n".join(log.splitlines()[-lines:])


def free_port() -> int:
    """Returns a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
