"""Makes the fixtures under flows/: each pattern is streamed by a local upstream through a real mitmdump with the addon.

    scripts/record-flows kimi          all patterns of one module
    scripts/record-flows kimi/no-section

What is recorded is what mitmproxy received and sent, in its chunks. A pattern that does not come out as it says is not kept.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.patterns import Pattern, recorded_patterns
from tests.support.judges.chat import read
from tests.support.other_api_streams import Spoken, recorded_streams
from tests.support.paths import FLOWS
from tests.support.streams import body_of
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Request, Script, Upstream, make_certificate
from toolmend.recordings.read.replay import find


def main(wanted: list[str]) -> int:
    every = {**recorded_patterns(), **recorded_streams()}
    chosen = {name: one for name, one in every.items() if not wanted or any((name + "/").startswith(w + "/") for w in wanted)}
    if not chosen:
        sys.stderr.write(f"no such pattern: {' '.join(wanted)}\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        certificate = make_certificate(scratch)

        def answer(request: Request) -> Script:
            one = chosen[request.header("x-pattern") or ""]
            if isinstance(one, Spoken):
                return Script(tuple((0.0, chunk) for chunk in one.chunks), headers=(("content-type", one.content_type),))
            return Script(tuple((0.0, chunk) for chunk in events(body_of(one))))

        options = {"toolmend_hosts": "localhost", "toolmend_flows": str(scratch / "flows")}
        options["ssl_verify_upstream_trusted_ca"] = str(certificate[0])
        with (
            Upstream(answer, tls=certificate) as upstream,
            Mitmdump(options, confdir=scratch / "conf") as proxy,
            httpx.Client(proxy=proxy.url, verify=str(proxy.ca), trust_env=False) as client,
        ):
            for name, one in chosen.items():
                path = one.path if isinstance(one, Spoken) else "/v1/chat/completions"
                response = client.post(f"{upstream.url}{path}", json=one.request, headers={"x-pattern": name})
                _check(name, one, response.content)
        recordings = find(scratch / "flows")
        assert len(recordings) == len(chosen)
        for (name, _), recording in zip(chosen.items(), sorted(recordings, key=_age), strict=True):
            shutil.rmtree(FLOWS / name, ignore_errors=True)
            shutil.copytree(recording, FLOWS / name, copy_function=shutil.copyfile)
            sys.stdout.write(f"{name}\n")
    return 0


def events(body: bytes) -> Iterator[bytes]:
    """A chunk per event, as providers send them."""
    for part in body.split(b"\n\n"):
        if part:
            yield part + b"\n\n"


def _age(recording: Path) -> str:
    return str(json.loads((recording / "meta.json").read_bytes())["recorded_at"])


def _check(name: str, one: Pattern | Spoken, client: bytes) -> None:
    got: Any
    expected: Any
    if isinstance(one, Spoken):
        got, expected = one.read(client).said, one.said
    else:
        choice = read(client).only
        got = ([(c.name, c.arguments) for c in choice.calls], choice.content, choice.reasoning)
        expected = ([call[1:] for call in one.calls], one.content, one.reasoning)
    if got != expected:
        raise SystemExit(f"{name}: got {got}, expected {expected}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
