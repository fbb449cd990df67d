"""The commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trimtab import __version__
from trimtab.cli.run import RunCommand, Seconds, Several, own_option, start


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="trimtab", message="%(prog)s %(version)s")
def main() -> None:
    """Kubernetes controllers in Python."""


@main.command()
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The kubeconfig file. Default: $KUBECONFIG, the service account of the Pod around, ~/.kube/config.",
)
@click.option("--context", help="The context in it. Default: the current one.")
def check(kubeconfig: Path | None, context: str | None) -> None:
    """Say which cluster is reached, and as whom; or in one line why not."""
    from trimtab.cli.check import reach
    from trimtab.client.program import run

    click.echo(run(reach(kubeconfig, context)))


@main.command(cls=RunCommand)
@click.argument("apps", nargs=-1, required=True, metavar="APP...")
@own_option("--kubeconfig", type=click.Path(path_type=Path), help="The kubeconfig file; else as `trimtab check`.")
@own_option("--context", help="The context in it. Default: the current one.")
@own_option(
    "--namespace", "-n", multiple=True, type=Several(), help="Work in this namespace; may be given several times."
)
@own_option("--leader-elect/--no-leader-elect", help="Work only while holding a Lease; others stand by.")
@own_option("--lease-name", help="Of the Lease. Default: the names of the apps.")
@own_option("--lease-namespace", help="Where the Lease is. Default: the namespace of the context, or of the Pod.")
@own_option("--lease-duration", type=Seconds(), default=15.0, show_default=True, help="For how long it is held.")
@own_option("--renew-deadline", type=Seconds(), default=10.0, show_default=True, help="A leader gives up after that.")
@own_option("--retry-period", type=Seconds(), default=2.0, show_default=True, help="Between two tries.")
@own_option("--listen", help="For health and metrics: HOST:PORT, :PORT or off. Default: 127.0.0.1:8080, if free.")
@own_option("--log-format", type=click.Choice(["json", "console"]), help="Default: console on a terminal, else json.")
@own_option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
    help="What is logged.",
)  # fmt: skip
@own_option("--workers", multiple=True, type=Several(), help="How many a controller has: NUMBER or NAME=NUMBER.")
@own_option(
    "--grace", type=Seconds(), default=30.0, show_default=True, help="For what is at work to finish, at the end."
)
@own_option("--sync-timeout", type=Seconds(), default=120.0, show_default=True, help="For the caches to be read.")
@click.pass_context
def run(ctx: click.Context, **given: Any) -> None:
    """Run controllers until Ctrl-C or SIGTERM; a second one ends it at once.

    An APP is a file (app.py), a module (package.module), one of several in those (app.py:name), or the name of one that
    comes with Trimtab (curl-me-that). It may have options of its own, which `trimtab run APP --help` shows.
    """
    start(ctx, given)


@main.command(cls=RunCommand)
@click.argument("apps", nargs=-1, metavar="[APP...]")
@own_option("--port", type=click.IntRange(0, 65535), help="Of the API server. Default: 6443, or any if that is taken.")
@own_option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Keep all objects and keys here.")
@own_option("--ephemeral", is_flag=True, help="Keep nothing, whatever TRIMTAB_DATA_DIR says. That is the default.")
@own_option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The kubeconfig file to write. Default: ./trimtab.kubeconfig.",
)
@own_option("--nodes", type=click.IntRange(0, 1000), default=1, show_default=True, help="How many simulated nodes.")
@own_option(
    "--load",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Apply the objects in this file or folder (- is standard input); may be given several times.",
)
@own_option(
    "--kubernetes",
    help="A real control plane instead, where its programs are found or can be built: `real`, or a version as 1.36.3.",
)
@own_option("--bundled/--no-bundled", default=True, help="Run the controllers that come with Trimtab, too.")
@own_option(
    "--without",
    multiple=True,
    type=Several(),
    metavar="LOOP",
    help="Leave out this loop, such as replicaset-controller; may be given several times.",
)
@click.pass_context
def dev(ctx: click.Context, **given: Any) -> None:
    """Run a local cluster, and apps in it, until Ctrl-C.

    It is ready at once: an API server, the controllers of Kubernetes and nodes without machines, all in this process.
    An APP is named as for `trimtab run`; one from a file begins anew when the file changes.
    """
    from trimtab.cli.dev import Given, start
    from trimtab.cli.run import words_given

    start(
        Given(
            apps=ctx.obj or {},
            words=words_given(ctx),
            port=given["port"],
            data_dir=None if given["ephemeral"] else given["data_dir"],
            kubeconfig=given["kubeconfig"],
            nodes=given["nodes"],
            load=given["load"],
            kubernetes=given["kubernetes"],
            bundled=given["bundled"],
            without=given["without"],
        )
    )
