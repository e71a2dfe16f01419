"""`toolmend addon-path`: prints the file for mitmproxy's own tools, and nothing else."""

import click

from ..launcher.proxy import addon_path as path


@click.command()
def addon_path() -> None:
    """Print the file that `mitmdump -s` loads, for a mitmproxy that you start yourself.

    It has to be the mitmproxy that toolmend is installed with.

    \b
    Examples:
      mitmdump -s "$(toolmend addon-path)" --set connection_strategy=lazy --set tcp_timeout=3600
      mitmweb -s "$(toolmend addon-path)"
    """
    click.echo(path())
