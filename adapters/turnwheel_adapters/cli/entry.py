"""The console script: Ctrl-C counts from the first import on."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command on the arguments of the process, and return its exit status: 130 where Ctrl-C came first."""
    try:
        from turnwheel_adapters.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("turnwheel: interrupted\n")
        return 130
