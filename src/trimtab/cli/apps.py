"""Finding the app that somebody means: a file, a module, or one that comes with Trimtab."""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import pkgutil
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from trimtab.errors import TrimtabError, one_line

if TYPE_CHECKING:
    from trimtab.controller import App

_BUNDLED: Final = "trimtab.controllers"


class AppError(TrimtabError):
    """What was named is no app, or cannot be imported."""


class NoSuchApp(AppError):
    """The word means nothing: there is no such file, module or app, or it does not say which."""


def bundled() -> list[str]:
    """The names of the apps that come with Trimtab."""
    package = importlib.import_module(_BUNDLED)
    return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(package.__path__))


def load_app(word: str) -> App:
    """The app that is meant by `app.py`, `app.py:name`, `package.module`, `package.module:name` or `curl-me-that`."""
    place, _, name = word.partition(":")
    path = Path(place)
    if path.suffix == ".py" or "/" in place or path.is_file():
        module = _from_file(path)
    elif place.replace("_", "-") in bundled():
        module = _imported(f"{_BUNDLED}.{place.replace('-', '_')}", place)
    else:
        module = _from_module(place)
    return _named(module, place, name) if name else _only(module, place)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise NoSuchApp(f"there is no file {path}" if not path.is_dir() else f"{path} is a folder: name a file in it")
    resolved = path.resolve()
    module_name = f"trimtab_app_{path.stem}_{len(sys.modules)}"  # nobody else's: it may be called as a library is
    spec = importlib.util.spec_from_file_location(module_name, resolved)
    if spec is None or spec.loader is None:
        raise AppError(f"{path} is no file of Python: its name has to end in .py")
    _first_in_path(str(resolved.parent))
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[module_name]
        raise _why(error, str(path), str(resolved)) from error
    return module


def _from_module(name: str) -> ModuleType:
    _first_in_path(str(Path.cwd()))
    first = name.partition(".")[0]
    if not all(part.isidentifier() for part in name.split(".")) or importlib.util.find_spec(first) is None:
        raise NoSuchApp(
            f"there is no app {name!r}: it is no file, no module, and none of those that come with Trimtab: "
            f"{', '.join(bundled())}"
        )
    return _imported(name, name)


def _imported(module: str, shown: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except BaseException as error:
        raise _why(error, shown, "") from error


def _first_in_path(folder: str) -> None:
    """What stands beside the app can be imported by it, as Python has it for programs."""
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _why(error: BaseException, shown: str, file: str) -> BaseException:
    """What went wrong in somebody's file, with their line instead of our traceback."""
    if isinstance(error, KeyboardInterrupt):
        return error
    said = one_line(str(error))
    text = (
        said if isinstance(error, TrimtabError) else f"{type(error).__name__}: {said}" if said else type(error).__name__
    )
    if isinstance(error, SystemExit):
        text = "it leaves the program while it is imported: put what it runs under `if __name__ == '__main__'`"
    place, line = _place(error, file)
    if not place:
        return AppError(f"cannot import {shown}: {text}")
    return AppError(f"cannot import {shown}: {place}: {text}{f' [{one_line(line)}]' if line else ''}")


def _place(error: BaseException, file: str) -> tuple[str, str]:
    """Where it happened, as far in as the code is that somebody wrote who is not a library; and the line there."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}, line {error.lineno}", error.text or ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        theirs = frame.filename == file if file else not _is_library(frame.filename)
        if theirs and frame.lineno is not None:
            return f"{_short(frame.filename)}, line {frame.lineno}", linecache.getline(frame.filename, frame.lineno)
    return "", ""


def _is_library(filename: str) -> bool:
    ours = str(Path(__file__).parents[1])
    return filename.startswith((ours, "<", sys.base_prefix, sys.prefix)) or "site-packages" in filename


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename


def _apps(module: ModuleType) -> dict[str, App]:
    from trimtab.controller import App

    found: dict[int, tuple[str, App]] = {}
    for name, value in vars(module).items():
        if isinstance(value, App):
            found.setdefault(id(value), (name, value))
    return dict(found.values())


def _named(module: ModuleType, place: str, name: str) -> App:
    from trimtab.controller import App

    value = getattr(module, name, None)
    if not isinstance(value, App):
        apps = ", ".join(_apps(module)) or "no app at all"
        what = "is no trimtab.App" if hasattr(module, name) else "is not in it"
        raise NoSuchApp(f"{place}: {name} {what}; there is {apps}")
    return value


def _only(module: ModuleType, place: str) -> App:
    match _apps(module):
        case {} as none if not none:
            raise AppError(f'{place} has no app in it: make one, app = trimtab.App("name")')
        case apps if len(apps) > 1:
            first = next(iter(apps))
            raise NoSuchApp(f"{place} has several apps, {', '.join(apps)}: say which, such as {place}:{first}")
        case apps:
            return next(iter(apps.values()))
