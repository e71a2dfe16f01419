"""`toolmend demo`: mends a leaked stream before the user's eyes. Only the provider is simulated.

    upstream (plays Kimi K2, leaking) ─TLS─ mitmdump with the addon ─TLS─ openai SDK

"Before" and "after" are what the SDK itself reads, once without the proxy and once through it. The result is checked, and the
command fails if the call is not whole.
"""

import shlex
import ssl
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...recordings.playback.server import Script, Upstream, make_certificate
from .. import CliError
from ..launcher.certificates import write_bundle
from ..launcher.process import tail
from ..launcher.proxy import Mitmdump, ProxyError
from ..launcher.sample_stream import EXPECTED, MESSAGES, MODEL, TOOLS, SampleAnswer, SampleCall, events
from ..launcher.sample_stream import TOKENS as LEAK
from ..shutdown import ended_by_signals

PACE = 0.02
"""Seconds between two tokens."""


@click.command()
@click.option("--keep-running", is_flag=True, help="Keep the proxy running until Ctrl-C, and show how to use it with an agent.")
@click.option(
    "--flows",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to record in; by default toolmend/flows in your data folder.",
)
def demo(keep_running: bool, flows: Path | None) -> None:
    """Watch a real proxy mend a leaked stream, from start to end.

    A local server plays a Kimi K2 stream over TLS in which the provider left the tool call in the text. The openai SDK
    reads it twice: directly, and through mitmdump with the addon. Exits with 0 only if the call arrived whole.

    \b
    Examples:
      toolmend demo
      toolmend demo --keep-running      then start your agent in another terminal
    """
    console = Console(highlight=False)
    with ended_by_signals(), TemporaryDirectory(prefix="toolmend-demo-") as scratch:
        folder = Path(scratch)
        certificate = make_certificate(folder)
        with Upstream([_leak()], tls=certificate, alpn=["http/1.1"]) as upstream:
            options = {
                "toolmend_hosts": f"localhost:{upstream.port}",
                "ssl_verify_upstream_trusted_ca": str(write_bundle(folder / "upstream-cas.pem", certificate[0])),
            }
            if flows:
                options["toolmend_flows"] = str(flows.absolute())
            try:
                with Mitmdump(options, confdir=folder / "mitmproxy") as proxy:
                    _run(console, upstream, proxy, certificate[0])
                    if keep_running:
                        _keep_running(console, proxy, folder)
            except ProxyError as error:
                raise CliError(str(error), try_="toolmend doctor") from error


def _run(console: Console, upstream: Upstream, proxy: Mitmdump, upstream_ca: Path) -> None:
    console.print(f"Upstream at {upstream.url}, mitmdump at {proxy.url}.", soft_wrap=True)
    before = _read_answer(upstream.url, upstream_ca, None)
    try:
        after = _read_answer(upstream.url, proxy.ca, proxy.url)
    except CliError:
        _show_log(proxy)
        raise
    console.print(_side_by_side(before, after))
    if after != EXPECTED:
        _show_log(proxy)
        raise CliError(f"the call did not arrive whole, the client got {after}", try_="toolmend demo  (and report this)")
    recorded = proxy.wait_for(r"recorded in (.*)\)")[1]
    console.print("The call arrived whole.", style="bold green")
    console.print(f"Recorded in {recorded}", soft_wrap=True)


def _show_log(proxy: Mitmdump) -> None:
    click.echo(f"the end of mitmdump's log:\n{tail(proxy.log)}\n", err=True)


def _leak() -> Script:
    return Script(tuple((PACE, event) for event in events(LEAK)))


def _read_answer(url: str, ca: Path, proxy: str | None) -> SampleAnswer:
    """Returns what the openai SDK reads. Raises CliError if it cannot read the stream."""
    try:
        import openai  # noqa: PLC0415  takes half a second, and is an optional extra
    except ImportError:
        raise CliError(
            "the demo's client, the openai SDK, is not installed", try_=f"{sys.executable} -m pip install openai"
        ) from None
    trusting = ssl.create_default_context(cafile=ca)
    whole = {"response": [lambda response: response.read()]}  # the SDK stops at [DONE], which would look like a disconnect
    answer = SampleAnswer()
    try:
        with (
            openai.DefaultHttpxClient(proxy=proxy, verify=trusting, trust_env=False, timeout=30, event_hooks=whole) as http,
            openai.OpenAI(base_url=f"{url}/v1", api_key="none", http_client=http, max_retries=0) as client,
            client.chat.completions.create(model=MODEL, messages=MESSAGES, tools=TOOLS, stream=True) as stream,
        ):
            for chunk in stream:
                for choice in chunk.choices:
                    answer.content += choice.delta.content or ""
                    answer.finish_reason = choice.finish_reason or answer.finish_reason
                    for delta in choice.delta.tool_calls or ():
                        call = answer.calls.setdefault(delta.index, SampleCall())
                        call.id += delta.id or ""
                        call.name += (delta.function and delta.function.name) or ""
                        call.arguments += (delta.function and delta.function.arguments) or ""
    except Exception as error:
        raise CliError(f"the openai SDK could not read the stream: {error!r}", try_="toolmend doctor") from error
    return answer


def _side_by_side(before: SampleAnswer, after: SampleAnswer) -> Table:
    table = Table(expand=True, show_lines=True, title="The same stream, as the openai SDK reads it")
    for title in ("without toolmend", "with toolmend"):
        table.add_column(title, ratio=1, overflow="fold")
    table.add_row(Text(f"content\n{before.content}"), Text(f"content\n{after.content}"))
    table.add_row(_calls(before), _calls(after))
    table.add_row(f"finish_reason\n{before.finish_reason}", f"finish_reason\n{after.finish_reason}")
    return table


def _calls(answer: SampleAnswer) -> Text:
    if not answer.calls:
        return Text("tool_calls\nnone", style="red")
    calls = (f"{call.name}\n{call.arguments}\nid {call.id}" for call in answer.calls.values())
    return Text("\n".join(("tool_calls", *calls)), style="green")


def _keep_running(console: Console, proxy: Mitmdump, folder: Path) -> None:
    variables = proxy.environment()
    env = folder / "env"
    env.write_text("".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()))
    lines = [
        "",
        f"The proxy stays up at {proxy.url} until Ctrl-C. In another terminal:",
        "",
        f"  . {shlex.quote(str(env))}",
        "  claude           # or codex, qwen, opencode, kimi: any agent, started from that terminal",
        "",
        "The file sets, for that terminal only, among others:",
        "",
        f"  HTTPS_PROXY={proxy.url}",
        f"  NODE_EXTRA_CA_CERTS={variables['NODE_EXTRA_CA_CERTS']}",
        f"  SSL_CERT_FILE={variables['SSL_CERT_FILE']}",
        "",
        "Node adds the proxy's CA to its own; Python, Rust and Go get a file with the system's CAs and the proxy's.",
        "Only LLM APIs are read, mended and recorded. The log of toolmend:",
        "",
    ]
    console.print("\n".join(lines), soft_wrap=True)
    try:
        for line in proxy.follow():
            if "toolmend:" in line:
                click.echo(line, nl=False)
    except KeyboardInterrupt:
        click.echo("stopping")
        return
    raise ProxyError(f"mitmdump has ended; the end of its log:\n{tail(proxy.log)}")
