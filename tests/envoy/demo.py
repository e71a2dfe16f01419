"""`scripts/demo-envoy`: a team's deployment on one machine, and a worker that dies, before your eyes.

    client ─► Envoy ─► upstream (plays Kimi K2, leaking)
                │ gRPC
                └──► two workers, of which one is killed

Rule of this file: as with `toolmend demo`, what it claims is what a client read, it is checked, and it fails if it is not so.
"""

import http.client
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from toolmend.cli.launcher.envoy import Envoy, EnvoyWorker
from toolmend.cli.launcher.process import ProcessError
from toolmend.cli.launcher.sample_stream import EXPECTED, PATH, REQUEST, SampleAnswer, events, fold
from toolmend.cli.shutdown import ended_by_signals
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.bootstrap import Listener, Plan
from toolmend.recordings.playback.server import Script, Upstream

PACE = 0.01
"""Seconds between two tokens."""
MANY = 40
"""Requests after a worker's death."""


def main() -> int:
    """0 if all was as it should be."""
    console = Console(highlight=False, soft_wrap=True)
    with ended_by_signals(), TemporaryDirectory(prefix="toolmend-demo-envoy-") as scratch, ExitStack() as stack:
        try:
            return _run(console, stack, Path(scratch))
        except ProcessError as error:
            print(f"error: {error}\ntry: scripts/test-envoy -k config", file=sys.stderr)  # noqa: T201
            return 1


def _run(console: Console, stack: ExitStack, folder: Path) -> int:
    upstream = stack.enter_context(Upstream([Script(tuple((PACE, event) for event in events()))]))
    console.print(f"An upstream at {upstream.url} plays Kimi K2, and leaves the tool call in the text.")
    options = {"toolmend_hosts": "localhost", "toolmend_flows": str(folder / "flows")}
    workers = [stack.enter_context(EnvoyWorker(options)) for _ in range(2)]
    for worker in workers:
        console.print(f"A worker: toolmend serve-envoy --listen {worker.at[0]}:{worker.at[1]}   (process {worker.pid})")
    listener = Listener("127.0.0.1", 0, Origin("http", "localhost", upstream.port))
    plan = Plan(tuple(worker.at for worker in workers), (listener,), admin=("127.0.0.1", 0), fail_open=False)
    envoy = stack.enter_context(Envoy(Path(os.environ["ENVOY_BINARY"]), plan, folder))
    console.print(f"Envoy at {envoy.url}, with what `toolmend envoy-config` prints   (process {envoy.pid})\n")

    before, after = _ask(upstream.port), _ask(envoy.port())
    _show(console, "straight from the upstream", before)
    _show(console, "through Envoy and a worker", after)
    if after != EXPECTED:
        return _failed(console, f"the call did not arrive whole: {after}")

    console.print(f"\nNow worker {workers[0].pid} is killed, and {MANY} more requests come, four at a time:")
    workers[0].signal(signal.SIGKILL)
    workers[0].wait()
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: _ask(envoy.port()), range(MANY)))
    lost = sum(one != EXPECTED for one in answers)
    console.print(f"  {MANY - lost} of {MANY} mended, {lost} lost", style="green" if not lost else "red")
    if lost:
        return _failed(console, "requests were lost with one of two workers dead")
    console.print("\nEnvoy's access log says of the last one (the id is that of its recording):")
    console.print(f"  {envoy.wait_for_output(lambda lines: len(lines) > MANY)[-1].strip()}")
    console.print("\nAll is as it should be.", style="bold green")
    return 0


def _ask(port: int) -> SampleAnswer:
    """What a client makes of the stream; an empty answer if it has none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", PATH, json.dumps(REQUEST), {"Content-Type": "application/json"})
        return fold(connection.getresponse())
    except (OSError, http.client.HTTPException, ValueError, LookupError):
        return SampleAnswer()
    finally:
        connection.close()


def _show(console: Console, title: str, answer: SampleAnswer) -> None:
    console.print(f"{title}:", style="bold")
    console.print(f"  content        {answer.content!r}", markup=False)
    calls = [f"{call.name} {call.arguments}  id {call.id}" for call in answer.calls.values()]
    console.print(f"  tool_calls     {', '.join(calls) or 'none'}", markup=False, style="green" if calls else "red")
    console.print(f"  finish_reason  {answer.finish_reason}")


def _failed(console: Console, what: str) -> int:
    console.print(what, style="bold red", markup=False)
    return 1


if __name__ == "__main__":
    sys.exit(main())
