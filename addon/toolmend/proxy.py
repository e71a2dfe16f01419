"""A real mitmdump with the addon, as a process of its own: started, waited for, and always ended.

    with Mitmdump({"toolmend_hosts": "localhost"}, confdir=folder) as proxy:
        proxy.url, proxy.port, proxy.ca, proxy.log

The rule: whatever happens inside the block or on the way into it, Ctrl-C included, the process is gone after it. It is
ended by its own id, with SIGTERM, so that it can finish its recordings; with SIGKILL if it does not.
"""

import re
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import certifi

OPTIONS = {
    "listen_host": "127.0.0.1",
    "listen_port": "0",  # any that is free
    "connection_strategy": "lazy",  # a client's CONNECT is answered also where the host itself cannot be reached
    "tcp_timeout": "3600",  # a model that thinks is silent for longer than the 600 seconds that are usual
}

COMMAND = (sys.executable, "-u", "-P", "-c", "from mitmproxy.tools.main import mitmdump; mitmdump()")
"""The mitmdump of this environment. -P: nothing is imported from the working directory. -u: its log comes at once."""

START = 60.0
"""Seconds until it must listen; half a second is usual, a loaded machine that makes its first CA takes longer."""

GRACE = 15.0
"""Seconds between SIGTERM and SIGKILL: more than the recorder's bound for finishing."""


PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
REPLACING = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CODEX_CA_CERTIFICATE",
    "DENO_CERT",
    "CARGO_HTTP_CAINFO",
)
"""Variables that replace a client's trust store: the system's CAs have to be in the file as well."""


class ProxyError(RuntimeError):
    """mitmdump did not do what was waited for; the message ends with what it said last."""


def addon_path() -> Path:
    """The file for `mitmdump -s`: beside the package in a checkout, inside it where it is installed."""
    package = Path(__file__).resolve().parent
    inside = package / "main.py"
    return inside if inside.exists() else package.parent / "main.py"


def write_bundle(path: Path, *extra: Path) -> Path:
    """Write the CAs that this system trusts and `extra` ones into one PEM file; returns its path.

    For the variables that replace a trust store rather than add to it (SSL_CERT_FILE and its like).
    """
    system = ssl.get_default_verify_paths().cafile or certifi.where()  # the first one heeds SSL_CERT_FILE
    path.write_bytes(b"\n".join(source.read_bytes() for source in (Path(system), *extra)))
    return path


class Mitmdump:
    """One mitmdump process, listening on 127.0.0.1 while the `with` block runs.

    options: mitmproxy options beside, and before, `OPTIONS`; each becomes `--set name=value`.
    confdir: where its CA is kept, or made.
    scripts: what it loads; by default the addon.
    ready: a pattern for what it says when all of that is at work. mitmdump listens before it ends for a script's error,
    so that it listens is not enough.
    Raises ProxyError if it ends, or does not get ready, at the start.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        *,
        confdir: Path,
        scripts: Sequence[Path] | None = None,
        ready: str = "toolmend: listens",
    ) -> None:
        self.confdir = confdir
        self.options = {**OPTIONS, "confdir": str(confdir), **options}
        self.scripts = [addon_path()] if scripts is None else scripts
        self.ready = ready
        self.port = 0
        self._lines: list[str] = []
        self._ended = False
        self._news = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ca(self) -> Path:
        """The certificate that a client has to trust."""
        return self.confdir / "mitmproxy-ca-cert.pem"

    def environment(self) -> dict[str, str]:
        """The variables that send a client through this proxy and make it trust the CA; writes the CA bundle."""
        bundle = str(write_bundle(self.confdir / "toolmend-ca-bundle.pem", self.ca))
        proxies = dict.fromkeys(PROXY_VARIABLES, self.url)
        direct = {"NO_PROXY": "localhost,127.0.0.1,::1"}
        return {
            **proxies,
            **direct,
            **{name.lower(): value for name, value in (proxies | direct).items()},
            **dict.fromkeys(REPLACING, bundle),
            "NODE_EXTRA_CA_CERTS": str(self.ca),  # adds to the store: our CA alone
            "NODE_USE_ENV_PROXY": "1",
        }

    @property
    def log(self) -> str:
        """All that it has said so far."""
        with self._news:
            return "".join(self._lines)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative if a signal ended it."""
        return self._process.poll()

    def wait_for(self, pattern: str, seconds: float = 10.0) -> re.Match[str]:
        """Wait until a regular expression is found in the log. Raises ProxyError if that takes longer, or it ends."""
        with self._news:
            self._news.wait_for(lambda: self._ended or re.search(pattern, "".join(self._lines)), seconds)
            log, ended = "".join(self._lines), self._ended
        if found := re.search(pattern, log):
            return found
        what = f"mitmdump ended with exit code {self._process.wait()}" if ended else f"mitmdump did not say {pattern!r}"
        raise ProxyError(f"{what}; its last words:\n{tail(log)}")

    def follow(self) -> Iterator[str]:
        """Every line of the log from here on, until the process ends."""
        at = len(self._lines)
        while new := self._behind(at):
            yield from new
            at += len(new)

    def stop(self) -> None:
        """End the process and wait until it is gone; harmless when it is."""
        try:
            self._process.terminate()
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()

    def __enter__(self) -> Self:
        arguments = [word for name, value in self.options.items() for word in ("--set", f"{name}={value}")]
        arguments += [word for script in self.scripts for word in ("-s", str(script))]
        self._process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, name="mitmdump log", daemon=True)
        self._reader.start()
        try:
            self.wait_for(self.ready, START)
            self.port = int(self.wait_for(r"proxy (?:to \S+ |\(upstream mode\) )?listening at \S+:(\d+)")[1])
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _behind(self, at: int) -> list[str]:
        """The lines from the `at`-th on, when there are any; none at the end."""
        with self._news:
            self._news.wait_for(lambda: self._ended or len(self._lines) > at)
            return self._lines[at:]

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line)
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


def tail(log: str, lines: int = 15) -> str:
    """The last lines of a log."""
    return "\n".join(log.splitlines()[-lines:])
