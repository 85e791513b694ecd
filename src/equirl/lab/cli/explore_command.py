"""The command ``equirl explore``."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from equirl.lab.cli.console import AsJson, print_json, say
from equirl.lab.cli.shell_completion import complete_problem


def explore(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WORLD|FILE|RESULTS",
            help="A world such as four-room:height=9; a saved problem, or a folder of them; a results folder; a study; "
            "lesson, for a class; or the link of a page.",
            show_default=False,
            autocompletion=complete_problem,
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where to listen. [default: 8642, or any that is free]")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; the default is reached from here alone.")] = (
        "127.0.0.1"
    ),
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    as_json: AsJson = False,
) -> None:
    """Look at worlds, classes, learners and studies in the browser."""
    from equirl.lab.explore.first_view import first_view_of

    try:
        from equirl.lab.explore.explore_server import explore as serve
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("fastapi", "uvicorn", "starlette", "websockets"):
            raise
        raise ImportError(f"explore needs {error.name}: pip install 'equirl[explore]'") from None
    tell = partial(say, err=as_json)
    on_ready = (lambda address: print_json({"address": address})) if as_json else None
    serve(first_view_of(what), host, port, browser=open_page, say=tell, on_ready=on_ready)
