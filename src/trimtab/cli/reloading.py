"""Seeing that an app's file was changed, and loading it anew with what stands beside it."""

from __future__ import annotations

import asyncio
import importlib
import linecache
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trimtab.cli.apps import load_app

if TYPE_CHECKING:
    from trimtab.controller import App

SECONDS: Final = 0.5
"""Between two looks at the files. A look is a `stat` of each: no measurable load, and no library for it."""

Marks = Mapping[Path, tuple[int, int]]


def files_of(words: Iterable[str]) -> set[Path]:
    """The files of the apps that these words name, and of the modules that stand beside them."""
    folders = {path.resolve().parent for path in map(_file, words) if path is not None}
    found = {path.resolve() for path in map(_file, words) if path is not None}
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if name and any(Path(name).is_relative_to(folder) for folder in folders) and "site-packages" not in name:
            found.add(Path(name))
    return found


def marks_of(files: Iterable[Path]) -> Marks:
    """By what it is seen that a file has changed. One that is gone for a moment, as editors do, has not."""
    found: dict[Path, tuple[int, int]] = {}
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            continue
        found[file] = stat.st_mtime_ns, stat.st_size
    return found


async def changed(before: Marks, seconds: float = SECONDS) -> None:
    """Wait until one of the files has changed."""
    while all(before[file] == mark for file, mark in marks_of(before).items()):  # noqa: ASYNC110 - files tell nobody
        await asyncio.sleep(seconds)


def reload(word: str) -> App:
    """The app, from its file as it is now, and from the modules beside it as they are now."""
    path = _file(word)
    if path is not None:
        folder = path.resolve().parent
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and Path(file).is_relative_to(folder) and not name.startswith(("trimtab.", "__main__")):
                del sys.modules[name]
        linecache.checkcache()
        importlib.invalidate_caches()
    return load_app(word)


def _file(word: str) -> Path | None:
    path = Path(word.partition(":")[0])
    return path if path.suffix == ".py" else None
