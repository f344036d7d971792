"""`python -m extractkit`: the same as the command `extractkit`."""

from __future__ import annotations

import sys

from extractkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
