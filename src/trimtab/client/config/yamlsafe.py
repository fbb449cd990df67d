"""YAML from a file that nobody has checked yet: as plain data, in bounded time and memory."""

from functools import cache
from typing import Any

import msgspec

from trimtab.client.config.errors import ConfigError
from trimtab.errors import one_line

_DEEPEST = 100
_LARGEST = 1_000_000
_PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:str")


def load_yaml(content: bytes, origin: str) -> Any:
    """Return the one document in `content`, YAML or JSON; `origin` names the file in errors."""
    if content.lstrip().startswith(b"{"):
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError):
            pass  # YAML's own flow mapping, or a mistake that the YAML parser tells better: it knows lines
    import yaml  # noqa: PLC0415 - 10 ms, and most clients run in a cluster, without a kubeconfig

    try:
        _check_size(content, origin)
        return yaml.load(content, _loader())  # noqa: S506 - made from a SafeLoader
    except yaml.MarkedYAMLError as error:
        said = ", ".join(filter(None, (error.context, error.problem)))
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{origin} is not YAML: {one_line(said)}{line}") from None
    except yaml.reader.ReaderError as error:
        raise ConfigError(f"{origin} is not YAML: {one_line(error.reason)}, byte {error.position + 1}") from None
    except ValueError:  # a number of a million digits; its text would quote the file
        raise ConfigError(f"{origin} is not YAML: a number in it cannot be read") from None


def _check_size(content: bytes, origin: str) -> None:
    """Refuse, from the flat stream of events, a document that would be too large or too deep as a tree.

    A few hundred bytes of aliases of aliases stand for billions of values, and libyaml's composer, being recursive,
    crashes the process on some ten thousand brackets.
    """
    import yaml  # noqa: PLC0415

    sizes: dict[str, int] = {}  # of the values that have an anchor
    outer: list[tuple[str | None, int]] = []  # anchor and size so far of each collection around the current one
    anchor: str | None = None
    size = 0
    for event in yaml.parse(content, _loader()):
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag not in _PLAIN_TAGS:
            raise ConfigError(f"{origin} has the YAML tag {one_line(event.tag, 80)!r}, and must have none")
        if isinstance(event, yaml.CollectionStartEvent):
            outer.append((anchor, size))
            anchor, size = event.anchor, 1
        elif isinstance(event, yaml.CollectionEndEvent):
            whole = size
            if anchor is not None:
                sizes[anchor] = whole
            anchor, size = outer.pop()
            size += whole
        elif isinstance(event, yaml.ScalarEvent):
            if event.anchor is not None:
                sizes[event.anchor] = 1
            size += 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                alias = one_line(event.anchor or "", 80)
                raise ConfigError(f"{origin} is not YAML: the alias *{alias} refers to nothing before it")
            size += sizes[event.anchor]
        if size > _LARGEST or len(outer) > _DEEPEST:
            raise ConfigError(f"{origin} is too large: over {_LARGEST} values, or {_DEEPEST} levels of them")


@cache
def _loader() -> Any:
    import yaml  # noqa: PLC0415

    # Timestamps stay text: a context may be named 2024-01-31, and Go's YAML reads it so.
    resolvers = {
        first: [(tag, pattern) for tag, pattern in candidates if not tag.endswith(":timestamp")]
        for first, candidates in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    fastest = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return type("Loader", (fastest,), {"yaml_implicit_resolvers": resolvers})
