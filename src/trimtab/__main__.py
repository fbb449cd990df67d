"""The command `trimtab`, as `python -m trimtab` too."""

import signal


def main() -> None:
    """Begin so that Ctrl-C ends it in silence as long as there is nothing to clean up: no traceback of imports."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from trimtab.cli import main as command  # noqa: PLC0415  # from now on

    command()


if __name__ == "__main__":
    main()
