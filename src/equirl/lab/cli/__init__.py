"""The ``equirl`` command. The files beside this one hold the commands of one subject each.

Commands hold no logic and import what they need when they run, so that ``equirl --help`` is quick. What goes wrong
becomes one line on stderr and an exit code (``console``), here and nowhere else; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from equirl.lab.cli.console import STOPPED, code_of, in_one_line, say
from equirl.lab.cli.explore_command import explore
from equirl.lab.cli.learner_commands import agents, prepare, run
from equirl.lab.cli.log_commands import learn
from equirl.lab.cli.measure_commands import bench, yardsticks
from equirl.lab.cli.shell_completion import answer_shells, completion
from equirl.lab.cli.study_commands import export, leaderboard, paper, status, study
from equirl.lab.cli.world_commands import classes, solve, worlds
from equirl.words.formatting import printable

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
            raise typer.Exit(code_of(error)) from None


@contextmanager
def _harmless_usage_errors() -> Iterator[None]:
    """Inside, what Typer says of wrong arguments repeats none of their control characters."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):
            error.message = printable(error.message, keep="\n")  # type: ignore[attr-defined]
        raise


class Application(typer.Typer):
    """Commands that end as they should also outside of themselves: while they are read, and as output is written."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except KeyboardInterrupt as error:
            _end_with(error)
        except OSError as error:
            if error.filename is not None or code_of(error) != STOPPED:
                raise
            _end_with(error)
        finally:
            _finish_output()


def _end_with(error: BaseException) -> NoReturn:
    typer.echo(f"equirl: {in_one_line(error)}", err=True)
    raise SystemExit(code_of(error)) from None


def _finish_output() -> None:
    """Write out what was printed; where that cannot be, Python would try once more at its end and say so at length."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


for command in (
    worlds, classes, solve, agents, run, learn, study, status, export, paper, leaderboard, yardsticks, explore, bench,
    prepare, completion,
):  # fmt: skip
    app.command()(command)
answer_shells()
