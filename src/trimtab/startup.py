"""The beginning of a program: it makes hundreds of thousands of objects that stay for as long as it runs.

Python's cyclic collector would walk all of them again and again and find nothing, which is a tenth of the CPU from the
start of `trimtab dev` to its being ready; and later too, whenever it looks through everything.
"""

from __future__ import annotations

import gc


def begin() -> None:
    """The program begins: nothing is collected for now."""
    gc.disable()


def begun() -> None:
    """All is there: what is made from here on is collected, what was made before is not looked at any more."""
    gc.freeze()
    gc.enable()
