"""`toolmend serve`: a local provider that plays recordings, so that an agent runs offline against captured responses.

Only the address goes to stdout. request_matching.py chooses the recording for a request, and playback.py plays it.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from errno import EACCES, EADDRINUSE
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ...config.store_url import StoreUrl, is_url
from ...recordings.playback.playback import Player, Side, shelf
from ...recordings.playback.request_matching import Shelf
from ...recordings.playback.server import Request, Upstream, make_certificate
from ...recordings.read.library import Entry, entries
from .. import CliError, Exit, visible
from ..launcher.proxy import addon_path
from ..recordings import FLOW, FOLDER, Place, fetch_recordings, flows_option

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POINTERS = (
    # APIs, and the variables that make a client use the address
    (("chat", "responses"), "OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=none"),
    (("messages",), "ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=none"),
    (("gemini",), "GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY=none"),
    (("ollama",), "OLLAMA_HOST={url}"),
)


@click.command()
@click.argument("flows", nargs=-1, metavar="[FLOWS]...")
@flows_option("root")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to listen at; default: any free one.")
@click.option("--speed", type=click.FloatRange(min=0), default=1.0, help="2.0 is twice as fast as recorded, 0 never waits.")
@click.option("--order", is_flag=True, help="Play them in the recorded order, whatever the requests are.")
@click.option("--tls", is_flag=True, help="Serve HTTPS, and so HTTP/2, with a temporary certificate.")
@click.option("--client", is_flag=True, help="Play the client's side, already mended, instead of the upstream's.")
def serve(flows: tuple[str, ...], root: Place, port: int, speed: float, order: bool, tls: bool, client: bool) -> None:
    """Play recordings to an agent or an SDK, with their chunks and timing.

    FLOWS are folders of recordings or their URLs, names of recordings, or `last`; by default all recordings. A request is
    answered by the recording of a request with the same API, model and last messages; without one, by an error that names the
    nearest. The upstream's bytes are played, so that a proxy with toolmend in between has something to mend.

    \b
    Examples:
      toolmend serve flows/kimi               a folder of fixtures
      toolmend serve last --client            the newest recording, as the client got it
      toolmend serve --speed 0 --port 4010    all recordings, without waiting

    Ends with Ctrl-C. Exit code 1: a request was not answered.
    """
    side: Side = "client" if client else "upstream"
    takes, left_out = shelf(_chosen(flows, root), side, order=order)
    for line in left_out:
        click.echo(f"not played: {visible(line)}", err=True)
    if not takes.takes:
        raise CliError(f"no playable recording in {', '.join(flows) or root}", try_="toolmend flows", code=Exit.USAGE)
    player = Player(takes, side, speed=speed)
    with _signals_wait(), TemporaryDirectory(prefix="toolmend-serve-") if tls else nullcontext("") as folder:
        certificate = make_certificate(Path(folder)) if tls else None
        try:
            with Upstream(player, tls=certificate, port=port) as upstream:
                player.report = partial(_print_request, upstream)
                _point(upstream, takes, side)
                signal.sigwait(SIGNALS)
        except OSError as error:
            if error.errno not in (EADDRINUSE, EACCES):
                raise
            raise CliError(f"cannot listen on port {port}: {os.strerror(error.errno)}", try_="omit --port") from None
    if player.misses:
        raise click.exceptions.Exit(Exit.FINDINGS)


def _chosen(words: Sequence[str], root: Place) -> Iterator[Entry]:
    """Yields the named recordings, without duplicates."""
    found: dict[Path, Entry] = {}
    context = click.get_current_context()
    for word in words or [str(root)]:
        place = FOLDER.convert(word, None, context) if is_url(word) or Path(word).is_dir() else None
        if place is None:
            chosen = [FLOW.convert(word, None, context)]
        else:
            chosen = fetch_recordings(place) if isinstance(place, StoreUrl) else entries(place)
        found |= {entry.folder.absolute(): entry for entry in chosen}
    yield from found.values()


def _point(upstream: Upstream, takes: Shelf, side: Side) -> None:
    """Prints what is served, and how clients reach it."""
    url = upstream.url.replace("localhost", "127.0.0.1")
    count, what = len(takes.takes), "as the client got them" if side == "client" else "as the upstream sent them"
    lines = [f"{count} recording{'' if count == 1 else 's'}, {what}; Ctrl-C ends it. For an agent or an SDK:"]
    apis = {ask.api for take in takes.takes for ask in take.asks}
    lines += [f"  export {line.format(url=url)}" for spoken, line in POINTERS if apis & {*spoken}]
    trusted = f" --set ssl_verify_upstream_trusted_ca={upstream.tls[0]}" if upstream.tls else ""
    if upstream.tls:
        lines.append(f"  export SSL_CERT_FILE={upstream.tls[0]} NODE_EXTRA_CA_CERTS={upstream.tls[0]}")
    if side == "upstream":
        host = url.partition("//")[2]
        lines.append("To mend them again, run toolmend in between and use the same variables with the address of:")
        lines.append(f"  mitmdump -s {addon_path()} --mode reverse:{url} --set toolmend_hosts={host}{trusted}")
    click.echo("\n".join(lines), err=True)
    click.echo(url)


def _print_request(upstream: Upstream, request: Request, words: str) -> None:
    upstream.requests.clear()  # a log for tests, which would fill the memory here
    line = f"{request.method} {request.path[:100]}: {words}"
    click.echo(visible(line), err=True)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Blocks SIGNALS in this thread and those it starts, so that only `sigwait` gets them and everything ends in order."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
