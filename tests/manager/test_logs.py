"""The log: one line an entry, the same way for everybody, and without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from tests.cache.samples import config_map, virtual

from trimtab.client.config.credentials import bearer
from trimtab.controller import App, Context
from trimtab.kube.core.v1 import ConfigMap
from trimtab.manager import Manager, configure_logs

from .test_manager import Server, running

Log = Callable[[], list[dict[str, Any]]]


def broken(text: str, secret: str = "") -> None:
    raise ValueError(text)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


@pytest.fixture
def log() -> Log:
    stream = io.StringIO()
    configure_logs("json", stream=stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_libraries_and_structlog_go_the_same_way(log: Log) -> None:
    logging.getLogger("some.library").warning("it is %s", "late")
    structlog.stdlib.get_logger("mine").info("done", key="a/b")
    logging.getLogger("some.library").info("heard")
    logging.getLogger("some.library").debug("not heard")
    late, done, heard = log()
    assert (late["message"], late["level"], late["logger"]) == ("it is late", "warning", "some.library")
    assert (done["message"], done["level"], done["logger"], done["key"]) == ("done", "info", "mine", "a/b")
    assert done["timestamp"].endswith("Z")
    assert heard["message"] == "heard"


@virtual
async def test_each_line_of_a_reconcile_names_controller_key_and_reconcile() -> None:
    stream = io.StringIO()
    configure_logs("json", stream=stream)
    server = Server()
    server.put(config_map("a"))
    app = App("talker")
    ids: list[str] = []

    @app.controller(ConfigMap)
    async def talk(obj: ConfigMap, ctx: Context) -> None:
        ids.append(ctx.reconcile_id)
        ctx.log.info("hello", size=1)
        logging.getLogger("a.library").warning("beside")
        broken("oh no")

    async with running(Manager(app, server, listen=False)):
        await asyncio.sleep(1)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    spoken = [line for line in lines if line.get("key")]
    assert {(line["controller"], line["key"]) for line in spoken} == {("talk", "default/a")}
    assert [line["reconcile_id"] for line in spoken] == [each for each in ids for _ in range(3)]
    assert [line["logger"] for line in spoken[:3]] == ["trimtab.controller", "a.library", "trimtab.controller"]
    failed = next(line for line in spoken if line["level"] == "error")
    assert "ValueError: oh no" in failed["exception"]
    assert all("\n" not in line for line in stream.getvalue().splitlines())


def test_what_is_a_secret_is_hidden(log: Log) -> None:
    mine = structlog.stdlib.get_logger("mine")
    mine.info("x", password="p4ss", api_key="p4ss", db_password="p4ss", data=b"p4ss", tokens=3, key="a/token")
    mine.info("sent Authorization: Bearer p4ss.p4ss-p4ss to https://me:p4ss@host/x")
    mine.info("sends", headers={"Authorization": "p4ss", "Accept": "all"}, urls=["https://me:p4ss@host"], of=(b"p4ss",))
    endless: list[object] = []
    endless.append(endless)
    mine.info("goes round", endless=endless)
    headers = bearer("p4ss-p4ss-p4ss")
    logging.getLogger("library").warning("failed with %s", headers)
    mine.info("with", error=ValueError("https://me:p4ss@host refused"))
    try:
        broken("no access with Bearer p4ssp4ssp4ss")
    except ValueError:
        mine.exception("failed")
    text = json.dumps(log())
    assert "p4ss" not in text
    first = log()[0]
    assert (first["tokens"], first["key"]) == (3, "a/token")
    assert "https://[hidden]@host/x" in text
    assert log()[2]["headers"] == {"Authorization": "[hidden]", "Accept": "all"}


def test_a_secret_in_a_traceback_is_hidden_on_a_terminal_too() -> None:
    stream = io.StringIO()
    configure_logs("console", stream=stream)
    try:
        broken("no access with Bearer p4ssp4ssp4ss")
    except ValueError:
        structlog.stdlib.get_logger("mine").exception("failed")
        logging.getLogger("library").exception("failed")
    assert stream.getvalue().count("ValueError: no access with Bearer [hidden]") == 2
    assert "p4ss" not in stream.getvalue()


def test_tracebacks_do_not_show_the_values_of_variables() -> None:
    for form in ("json", "console"):
        stream = io.StringIO()
        configure_logs(form, stream=stream)  # type: ignore[arg-type]
        try:
            broken("4 letters", "p4ss")
        except ValueError:
            structlog.stdlib.get_logger("mine").exception("failed")
        assert "4 letters" in stream.getvalue()
        assert "'p4ss'" not in stream.getvalue()


def test_the_level_is_for_all(log: Log) -> None:
    stream = io.StringIO()
    configure_logs("console", "error", stream=stream)
    logging.getLogger("library").warning("not heard")
    structlog.stdlib.get_logger("mine").info("not heard")
    structlog.stdlib.get_logger("mine").error("heard", key="a")
    assert stream.getvalue().count("heard") == 1
    assert "\x1b" not in stream.getvalue()  # it is no terminal


def test_warnings_are_lines_too(log: Log) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("it is old", stacklevel=1)
    assert any("it is old" in line["message"] for line in log())
