"""`python -m toolmend`: the command line, without an installed script.

Rule: `--version` is answered here, as a fifth of what anything else costs is click's import.
"""

import sys

from toolmend import __version__


def main() -> int:
    """Run the command line of this process; returns its exit code."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"toolmend {__version__}\n")
        return 0
    from toolmend.cli import main as run  # noqa: PLC0415

    return run()


if __name__ == "__main__":
    sys.exit(main())
