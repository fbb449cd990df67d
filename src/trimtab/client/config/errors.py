"""What can be wrong with a configuration, and reading the files that one names."""

from pathlib import Path

from trimtab.errors import TrimtabError

_LARGEST_FILE = 10 << 20


class ConfigError(TrimtabError):
    """What a client was told about its server, or about who it is, cannot be used as it stands."""


class FileMissingError(ConfigError):
    """A file that a configuration names is not there."""


def read_file(path: Path, what: str) -> bytes:
    """Read the whole of a small file, or raise a ConfigError that begins with `what`."""
    try:
        with path.open("rb") as file:  # not only regular files: `--kubeconfig <(...)` is a pipe
            content = file.read(_LARGEST_FILE + 1)
    except FileNotFoundError as error:
        raise FileMissingError(f"{what} {shown(path)} does not exist") from error
    except IsADirectoryError as error:
        raise ConfigError(f"{what} {shown(path)} is a directory, not a file") from error
    except OSError as error:
        raise ConfigError(f"{what} {shown(path)} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{what} {shown(path)} is not a path: {error}") from error
    if len(content) > _LARGEST_FILE:
        raise ConfigError(f"{what} {shown(path)} is larger than {_LARGEST_FILE >> 20} MiB")
    return content


def shown(path: Path) -> str:
    """Write a path as people do, with ~ for their home."""
    try:
        text = str("~" / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):  # elsewhere, or nobody's home is known
        text = str(path)
    return text if text.isprintable() else repr(text)
