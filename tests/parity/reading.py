"""Reads scripts written as text: one request a line.

    == what the script is about
    POST cms cm a {data: {k: v}}
    PATCH cms/a?fieldManager=one {data: {k: w}} @apply
    GET cms @table
    KUBECTL get configmap a -n $NS

A line that begins with spaces goes on with the one before. A body is YAML, or the name of a template, the object's
name, and what is laid over it. `@` adds a header by a short name, or as @Name=value; @as=USER impersonates,
@until=TEXT repeats until the answer contains that, @live goes on during what follows, @raw sends the body as it is.
`with V: one | two` after the title makes a script for each, in which %V stands for the value; several names have
their values parted by `;`. `let V = value`, before the first script, holds for the whole file. `#` begins a remark;
`!alone` after the title lets nothing be played beside the script, `!since=1.36` leaves it out on older servers.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import yaml
from tests.parity.playing import Script, Step
from tests.parity.scripts.making import PATHS, TEMPLATES

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "KUBECTL", "HOOKS")
_MARK = re.compile(r"\s@(\w[\w-]*)(?:=(\"[^\"]*\"|\S*))?\s*\Z")
_TITLE_MARK = re.compile(r"\s!(alone|since)=?(\S*)")
_GO = "application/json;as={};v=v1;g=meta.k8s.io"
_MARKS = {
    "merge": ("Content-Type", "application/merge-patch+json"),
    "json": ("Content-Type", "application/json-patch+json"),
    "strategic": ("Content-Type", "application/strategic-merge-patch+json"),
    "apply": ("Content-Type", "application/apply-patch+yaml"),
    "yaml": ("Content-Type", "application/yaml"),
    "table": ("Accept", _GO.format("Table")),
    "partial": ("Accept", _GO.format("PartialObjectMetadata")),
    "partials": ("Accept", _GO.format("PartialObjectMetadataList")),
}


def read(path: Path) -> list[Script]:
    """All scripts of a file."""
    scripts: list[Script] = []
    head, *blocks = re.split(r"^== *", path.read_text(), flags=re.MULTILINE)
    always = dict(re.findall(r"^let (\w+) = (.*)$", head, re.MULTILINE))
    for block in blocks:
        title, _, rest = block.partition("\n")
        lines = _lines(rest)
        names, rows = _table(lines)
        marks = dict(_TITLE_MARK.findall(title))
        for row in rows:
            values = {**always, **dict(zip(names, row, strict=True))}
            name = _put(_TITLE_MARK.sub("", title).strip(), values)
            steps = [step(_put(line, values)) for line in lines]
            scripts.append(Script(name, steps, alone="alone" in marks, since=marks.get("since", "")))
    return scripts


def step(line: str) -> Step:
    """One request of one line."""
    headers: dict[str, str] = {}
    until, live, raw = "", False, False
    while match := _MARK.search(line):
        line = line[: match.start()]
        name, value = match[1], (match[2] or "").strip('"')
        if name == "until":
            until = value
        elif name == "live":
            live = True
        elif name == "raw":
            raw = True
        elif name == "as":
            headers["Impersonate-User"] = value
        elif name in _MARKS:
            headers[_MARKS[name][0]] = _MARKS[name][1]
        else:
            headers[name] = value
    method, _, rest = line.partition(" ")
    if method == "KUBECTL":
        arguments, _, stdin = rest.partition("<<")
        return Step(method, arguments.strip(), stdin.lstrip("\n") or None, until=until)
    parts = rest.strip().split(None, 1)
    path = _path(parts[0]) if parts else ""
    body = None if len(parts) < 2 else parts[1] if raw else _body(parts[1])
    if method == "PATCH" and "Content-Type" not in headers:
        headers["Content-Type"] = _MARKS["merge"][1]
    return Step(method, path, body, headers, until, live)


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith((" ", "\t")) and lines:
            lines[-1] += "\n" + line.removeprefix("  ")
        elif line.strip() and not line.startswith("#"):
            lines.append(line)
    return lines


def _table(lines: list[str]) -> tuple[list[str], list[list[str]]]:
    if not lines or not lines[0].startswith("with "):
        return [], [[]]
    head, _, values = lines.pop(0).removeprefix("with ").partition(":")
    names = [name.strip() for name in head.split(",")]
    rows = [[_cell(cell) for cell in row.split(";", len(names) - 1)] for row in re.split(r"(?<!\|)\|(?!\|)", values)]
    return names, rows


def _put(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"%{name}", value)
    return text


def _path(text: str) -> str:
    if text.startswith("/"):
        return text
    word = re.match(r"[\w-]+", text)
    if word is None or word[0] not in PATHS:
        raise ValueError(f"{text!r} begins with no known path")
    return PATHS[word[0]] + text[word.end() :]


def _body(text: str) -> Any:
    template, _, rest = text.partition(" ")
    if template not in TEMPLATES:
        return yaml.safe_load(text)
    name, _, over = rest.partition(" ")
    made = copy.deepcopy(TEMPLATES[template])
    made["metadata"] = {"name": name}
    return _laid_over(made, yaml.safe_load(over)) if over.strip() else made


def _laid_over(under: Any, over: Any) -> Any:
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return {**under, **{key: _laid_over(under.get(key), value) for key, value in over.items()}}


def _cell(text: str) -> str:
    text = text.strip()
    return "" if text == '""' else text
