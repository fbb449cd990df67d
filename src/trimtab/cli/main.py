"""The commands and their options."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab import __version__


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
