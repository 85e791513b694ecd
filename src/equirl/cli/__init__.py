"""The ``equirl`` command. Each file beside this one holds the commands of one subject and adds them in ``register``.

Commands hold no logic and import what they need when they run, so that ``equirl --help`` is quick. What goes wrong
with a user's input becomes one line on stderr and exit code 2, here and nowhere else; ``--debug`` shows the traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from equirl.cli.console import say
from equirl.core.formatting import printable

COMMAND_FILES = (
    "world_commands",
    "learner_commands",
    "log_commands",
    "study_commands",
    "explore_command",
    "bench_command",
    "completing",
)
EXPECTED = (ValueError, TypeError, OSError, ImportError, KeyboardInterrupt)


class Commands(TyperGroup):
    """Commands whose expected errors are one clear line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _harmless_usage_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _harmless_usage_errors():
                return super().invoke(ctx)
        except EXPECTED as error:
            if ctx.params.get("debug") or isinstance(error, BrokenPipeError):
                raise
            say(f"equirl: {in_one_line(error)}", err=True)
            raise typer.Exit(130 if isinstance(error, KeyboardInterrupt) else 2) from None


@contextmanager
def _harmless_usage_errors() -> Iterator[None]:
    """Inside, what Typer says of wrong arguments repeats none of their control characters."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):
            error.message = printable(error.message, keep="\n")  # type: ignore[attr-defined]
        raise


def in_one_line(error: BaseException) -> str:
    """An error as one line for a person.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    str

    Examples
    --------
    >>> in_one_line(FileNotFoundError(2, "No such file or directory", "river.npz"))
    'river.npz: No such file or directory'
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


class Application(typer.Typer):
    """Commands that end with code 130 when interrupted, also while they are still being read."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("equirl: interrupted", err=True)
            raise SystemExit(130) from None


app = Application(
    name="equirl",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Reinforcement learning that notices which state-action pairs behave alike.",
)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"equirl {version('equirl')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that stand before the command."""


for file in COMMAND_FILES:
    import_module(f"{__name__}.{file}").register(app)
