"""The mitmdump processes that are compared, side by side for a whole run.

    with compared(folder, load.port, certificate) as proxies:  proxies["identity"].port

Rule of this file: they differ in nothing but what is compared. All have the same options, the same certificates, the same CA.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from toolmend.cli.launcher.process import tail
from toolmend.cli.launcher.proxy import Mitmdump

STREAM, IDENTITY, TOOLMEND, RECORDING = "stream = True", "identity", "toolmend", "toolmend, recording"
ALL = (STREAM, IDENTITY, TOOLMEND, RECORDING)

_STREAMING = "def responseheaders(flow):\n    flow.response.stream = {}\n"
SCRIPTS = {STREAM: _STREAMING.format("True"), IDENTITY: _STREAMING.format("lambda data: data")}
"""Scripts of three lines and less."""

ROUTE = """
[[route]]
from = "https://localhost:{0}/routed/v1/messages"
to   = "https://localhost:{0}/v1/chat/completions"
"""


@contextmanager
def compared(
    folder: Path, port: int, certificate: Path, names: Sequence[str] = ALL, options: Mapping[str, str] = {}
) -> Iterator[dict[str, Mitmdump]]:
    """A proxy for each name, while the block runs."""
    config = folder / "toolmend.toml"
    config.write_text(ROUTE.format(port))
    given = {"ssl_verify_upstream_trusted_ca": str(certificate), "flow_detail": "0"}
    mending = {**given, "toolmend_hosts": "localhost", "toolmend_config": str(config), "toolmend_keep": "all", **options}
    with ExitStack() as stack:
        proxies = {}
        for name in names:
            flows = {"toolmend_flows": str(folder / "flows") if name == RECORDING else "off"}
            if name in SCRIPTS:
                script = folder / f"{name.split()[0]}.py"
                script.write_text(SCRIPTS[name])
                proxy = Mitmdump(given, confdir=folder / "conf", scripts=[script], ready="listening at")
            else:
                proxy = Mitmdump(mending | flows, confdir=folder / "conf")
            proxies[name] = stack.enter_context(proxy)
        try:
            yield proxies
        except Exception as error:
            for name, proxy in proxies.items():
                error.add_note(f"{name}, last words:\n{tail(proxy.log)}")
            raise
