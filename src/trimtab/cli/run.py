"""`trimtab run`."""

from __future__ import annotations

import copy
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from trimtab.errors import TrimtabError

if TYPE_CHECKING:
    from trimtab.controller import App, Option, Options

_FLAG: Final = bool
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
    from trimtab.cli.apps import load_app

    try:
        return apps | {word: load_app(word) for word in words}
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


def workers_given(words: Sequence[str]) -> dict[str, int]:
    """`4` is for all controllers, `NAME=4` for one."""
    workers: dict[str, int] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not number.isdecimal() or int(number) < 1:
            raise TrimtabError(f"--workers cannot be {word!r}: give a number, or such as NAME=4")
        workers[name] = int(number)
    return workers


def start(ctx: click.Context, given: MutableMapping[str, Any]) -> None:
    """Run the apps until a signal comes."""
    from trimtab.client import load_config
    from trimtab.client.program import run
    from trimtab.manager import Address, LeaderElection, Manager, Timing, configure_logs, stop_on_signals

    async def main() -> None:
        import asyncio

        election = None
        if given["leader_elect"]:
            timing = Timing(given["lease_duration"], given["renew_deadline"], given["retry_period"])
            election = LeaderElection(name=given["lease_name"] or "", namespace=given["lease_namespace"], timing=timing)
        manager = Manager(
            ctx.obj.values(),
            load_config(given["kubeconfig"], given["context"]),
            namespaces=given["namespace"],
            leader_election=election,
            listen=False if given["listen"] == "off" else Address.parse(given["listen"]) if given["listen"] else None,
            options=options_given(ctx),
            workers=workers_given(given["workers"]),
            grace=given["grace"],
            sync_timeout=given["sync_timeout"],
        )
        stopping = asyncio.Event()
        with stop_on_signals(stopping):
            await manager.run(stopping)

    form = configure_logs(given["log_format"], given["log_level"])
    try:
        run(main())
    except SystemExit as left:
        if form == "json" and isinstance(left.code, str):  # whoever reads JSON wants this line most
            log = logging.getLogger("trimtab")
            log.error(left.code.removeprefix("error: "))  # noqa: TRY400  # it is for people, and says it all
            left.code = 1
        _leave(left.code)
        raise
    _leave(0)


def _leave(code: str | int | None) -> None:
    """Leave now where a plain function still runs in a thread: Python would wait for it, who knows how long."""
    main = threading.main_thread()
    if any(thread is not main and not thread.daemon for thread in threading.enumerate()):
        if isinstance(code, str):
            click.echo(code, err=True)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
