"""`toolmend serve`: a local provider that plays recordings, so that an agent runs offline against what was captured.

Rule of this file: the address alone goes to stdout, words and the log go to stderr. What answers a request is told by
matching.py, and how it is played by playing.py.
"""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ..library import Entry, entries
from ..matching import Shelf
from ..playing import Player, Side, shelf
from ..proxy import addon_path
from ..upstream import Request, Upstream, make_certificate
from . import Exit, Problem
from .recordings import FLOW, flows_option

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POINTERS = (
    # APIs, and what sends a client there
    (("chat", "responses"), "OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=none"),
    (("messages",), "ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=none"),
    (("gemini",), "GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY=none"),
    (("ollama",), "OLLAMA_HOST={url}"),
)


@click.command()
@click.argument("flows", nargs=-1, metavar="[FLOWS]...")
@flows_option("root")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen; by default any port that is free.")
@click.option("--speed", type=click.FloatRange(min=0), default=1.0, help="2.0 is twice as fast as recorded, 0 is at once.")
@click.option("--order", is_flag=True, help="Play them in the order they were recorded, whatever is asked.")
@click.option("--tls", is_flag=True, help="Speak HTTPS, and so HTTP/2 too, with a certificate made for the occasion.")
@click.option("--client", is_flag=True, help="Play what the client got, already mended, instead of the upstream's bytes.")
def serve(flows: tuple[str, ...], root: Path, port: int, speed: float, order: bool, tls: bool, client: bool) -> None:
    """Play recordings to an agent or an SDK, in their chunks and their time.

    FLOWS are folders of recordings, or recordings by name, or `last`; by default all that there are. A request is answered by
    the recording of a request with the same API, model and last messages; one that no recording answers gets an error that
    names the nearest. Played are the upstream's bytes, so that a proxy with toolmend between has something to mend.

    \b
    Examples:
      toolmend serve flows/kimi               a folder of fixtures, to whoever asks what they were asked
      toolmend serve last --client            the newest recording, as the client got it
      toolmend serve --speed 0 --port 4010    all recordings, without the waiting

    Ends with Ctrl-C. Exit code 1: a request was not answered.
    """
    side: Side = "client" if client else "upstream"
    takes, left_out = shelf(_chosen(flows, root), side, order=order)
    for line in left_out:
        click.echo(f"not played: {line}", err=True)
    if not takes.takes:
        raise Problem(f"there is nothing to play in {', '.join(flows) or root}", try_="toolmend flows", code=Exit.USAGE)
    player = Player(takes, side, speed=speed, told=_tell)
    with _signals(), TemporaryDirectory(prefix="toolmend-serve-") if tls else nullcontext("") as folder:
        certificate = make_certificate(Path(folder)) if tls else None
        upstream = Upstream(player, tls=certificate, port=port)
        try:
            upstream.__enter__()
        except OSError as error:
            raise Problem(f"it cannot listen on port {port}: {error.strerror or error}", try_="toolmend serve --port 0") from None
        with upstream:
            pass
    if player.misses:
        raise click.exceptions.Exit(Exit.FINDINGS)
