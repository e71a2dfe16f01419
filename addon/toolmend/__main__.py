"""`python -m toolmend`: the command line, without an installed script."""

import sys

from toolmend.cli import main

if __name__ == "__main__":
    sys.exit(main())
