"""`trimtab run`."""

from __future__ import annotations

import asyncio
import copy
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

import click

from trimtab.errors import TrimtabError

if TYPE_CHECKING:
    from trimtab.controller import App, Option, Options

_FLAG: Final = bool
_END_SECONDS: Final = 1.0  # for what is left in the loop to end
F = TypeVar("F", bound=Callable[..., Any])


class Seconds(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic in the newest click alone
    """Seconds, as a number or as Go writes durations: `30`, `1m30s`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A number of seconds."""
        if isinstance(value, int | float):
            return float(value)
        from trimtab.kube.duration import parse_duration

        try:
            return float(value)
        except ValueError:
            pass
        try:
            return parse_duration(value).total_seconds()
        except ValueError:
            self.fail(f"{value!r} is no duration: give seconds, or such as 1m30s", param, ctx)


class Several(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # as above
    """A word; in the environment several have commas between."""

    name = "text"
    envvar_list_splitter = ","


def own_option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """A flag with the variable of the environment that stands for it."""
    longest = max(names, key=len)
    variable = f"TRIMTAB_{longest.partition('/')[0].strip('-').replace('-', '_').upper()}"
    return click.option(*names, envvar=variable, show_envvar=True, **attributes)


class RunCommand(click.Command):
    """A command whose options are also those of the apps that it is given."""

    apps: Mapping[str, App] = {}

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Load the apps that are named, and read the rest with their options among those that are known."""
        command = self._with({})
        while new := [word for word in command.sure_words(args, info_name, parent) if word not in command.apps]:
            command = self._with(_load({**command.apps}, new))  # whose options tell more words from values
        try:
            ctx = click.Command.make_context(command, info_name, [*args], parent, **extra)
        except click.NoSuchOption as error:
            if command.apps:
                raise
            hint = "options of an app come after the app"
            raise click.UsageError(f"{error.format_message()} ({hint})", error.ctx) from error
        ctx.obj = command.apps
        return ctx

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of `trimtab run`, and then those of each app."""
        own = copy.copy(self)
        own.params = [one for one in self.params if not isinstance(one, _AppOption)]
        click.Command.format_options(own, ctx, formatter)
        for app in self.apps.values():
            records = [
                one.get_help_record(ctx) for one in self.params if isinstance(one, _AppOption) and one.app is app
            ]
            if shown := [record for record in records if record]:
                with formatter.section(f"Options of {app.name}"):
                    formatter.write_dl(shown)

    def _with(self, apps: Mapping[str, App]) -> RunCommand:
        command = copy.copy(self)
        command.apps = apps
        own = [one for one in self.params if not isinstance(one, _AppOption)]
        command.params = [*own, *_app_options(list(apps.values()), own)]
        return command

    def sure_words(self, args: list[str], info_name: str | None, parent: click.Context | None) -> tuple[str, ...]:
        """The apps that surely are apps: what comes before the first option that is not ours."""
        ctx = self.context_class(self, info_name=info_name, parent=parent)
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        try:
            values, _, _ = parser.parse_args([*args])
        except click.UsageError:
            return ()  # it is said when they are read again
        found = values.get("apps")
        words = cast("tuple[str, ...]", found) if isinstance(found, tuple) else ()
        stop = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
        return words[:stop]


class _AppOption(click.Option):
    """An option of an app."""

    def __init__(self, app: App, option: Option[Any], declarations: list[str], variables: list[str]) -> None:
        self.app = app
        self.option = option
        default = option.default
        shown = "" if default in ((), "", None, False) else f"  [default: {default}]"
        super().__init__(
            declarations,
            help=f"{option.about}{shown}",
            type=None if option.parse is _FLAG and not option.many else Several(),
            multiple=option.many,
            default=None,
            envvar=variables,
            show_envvar=True,
        )


def _app_options(apps: list[App], own: list[click.Parameter]) -> list[_AppOption]:
    """The options of the apps: under their own name where that is free, and always as `--APP.NAME`."""
    taken = {name for one in own for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    names = [name for app in apps for name in app.options]
    made: list[_AppOption] = []
    for number, app in enumerate(apps):
        for name, option in app.options.items():
            forms = [f"{app.name}.{name}"]
            if f"--{name}" not in taken and names.count(name) == 1:
                forms.insert(0, name)
            is_flag = option.parse is _FLAG and not option.many
            flags = [f"--{form}/--no-{form}" if is_flag else f"--{form}" for form in forms]
            variables = ["TRIMTAB_" + form.upper().replace("-", "_").replace(".", "_") for form in forms]
            made.append(_AppOption(app, option, [f"app_{number}_{len(made)}", *flags], variables))
    return made


def _load(apps: dict[str, App], words: Sequence[str]) -> dict[str, App]:
    from trimtab.cli.apps import NoSuchApp, load_app

    try:
        return apps | {word: load_app(word) for word in words}
    except NoSuchApp as error:
        raise click.UsageError(str(error)) from error
    except TrimtabError as error:
        sys.exit(f"error: {error}")


def options_given(ctx: click.Context) -> Options:
    """The values of the apps' options."""
    from trimtab.controller import Options

    given: dict[Option[Any], Any] = {}
    for one in ctx.command.params:
        value = ctx.params.get(one.name or "")
        if isinstance(one, _AppOption) and value not in (None, ()):
            words = [str(each) for each in value] if one.option.many else [str(value)]
            given[one.option] = one.option.read(words)
    return Options(given)


def words_given(ctx: click.Context) -> dict[str, dict[str, list[str]]]:
    """What was given for the apps' options, by the names of app and option: for apps that are loaded again."""
    found: dict[str, dict[str, list[str]]] = {}
    for one in ctx.command.params:
        value = ctx.params.get(one.name or "")
        if isinstance(one, _AppOption) and value not in (None, ()):
            words = [str(each) for each in value] if one.option.many else [str(value)]
            found.setdefault(one.app.name, {})[one.option.name] = words
    return found


def workers_given(words: Sequence[str]) -> dict[str, int]:
    """`4` is for all controllers, `NAME=4` for one."""
    workers: dict[str, int] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not number.isdecimal() or int(number) < 1:
            raise TrimtabError(f"--workers cannot be {word!r}: give a number of at least 1, or such as NAME=4")
        workers[name] = int(number)
    return workers


def start(ctx: click.Context, given: MutableMapping[str, Any]) -> None:
    """Run the apps until a signal comes."""
    from trimtab.client import load_config
    from trimtab.client.program import run
    from trimtab.manager import Address, LeaderElection, Manager, Timing, configure_logs, stop_on_signals

    form = configure_logs(given["log_format"], given["log_level"])

    async def main() -> None:
        with _words(ctx):
            election = None
            if given["leader_elect"]:
                timing = Timing(given["lease_duration"], given["renew_deadline"], given["retry_period"])
                lease = given["lease_name"] or ""
                election = LeaderElection(name=lease, namespace=given["lease_namespace"], timing=timing)
            listen = False if given["listen"] == "off" else Address.parse(given["listen"]) if given["listen"] else None
            options, workers = options_given(ctx), workers_given(given["workers"])
        config = load_config(given["kubeconfig"], given["context"])
        with _words(ctx):
            manager = Manager(
                ctx.obj.values(),
                config,
                namespaces=given["namespace"],
                leader_election=election,
                listen=listen,
                options=options,
                workers=workers,
                grace=given["grace"],
                sync_timeout=given["sync_timeout"],
            )
        stopping = asyncio.Event()
        with stop_on_signals(stopping):
            failure: Exception | None = None
            try:
                await manager.run(stopping)
            except Exception as error:  # noqa: BLE001  # raised below, where the loop can be closed
                failure = error
            if await _something_goes_on():
                _exit(_tell(failure, form))
        if failure is not None:
            raise failure

    try:
        run(main())
    except SystemExit as left:
        if form == "json" and isinstance(left.code, str):
            left.code = _tell_json(left.code)
        _leave(left.code)
        raise
    _leave(0)


@contextmanager
def _words(ctx: click.Context) -> Generator[None]:
    """What is wrong in here is wrong on the command line."""
    try:
        yield
    except TrimtabError as error:
        raise click.UsageError(str(error), ctx) from error


async def _something_goes_on() -> bool:
    """Whether something stays in the loop although it is cancelled: closing the loop would wait for it for ever."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    threads = asyncio.create_task(asyncio.get_running_loop().shutdown_default_executor())
    _, left = await asyncio.wait({*tasks, threads}, timeout=_END_SECONDS)
    return bool(left)


def _tell(failure: Exception | None, form: str) -> int:
    """The last word of a process that does not come to its end by itself; and its exit code."""
    if failure is None:
        return 0
    if not isinstance(failure, TrimtabError):
        traceback.print_exception(failure)
    elif form == "json":
        _tell_json(str(failure))
    else:
        click.echo(f"error: {failure}", err=True)
    return 1


def _tell_json(text: str) -> int:
    """Whoever reads JSON wants this line most."""
    logging.getLogger("trimtab").error(text.removeprefix("error: "))
    return 1


def _leave(code: str | int | None) -> None:
    """Leave now where a plain function still runs in a thread: Python would wait for it, who knows how long."""
    main = threading.main_thread()
    if any(thread is not main and not thread.daemon for thread in threading.enumerate()):
        if isinstance(code, str):
            click.echo(code, err=True)
        _exit(code if isinstance(code, int) else 1)


def _exit(code: int) -> NoReturn:
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
