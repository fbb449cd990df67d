"""The command `trimtab`.

What belongs here is reading words from the command line and printing; each command imports what it needs when it runs,
so that `trimtab --help` answers at once.
"""

from trimtab.cli.main import main

__all__ = ["main"]
