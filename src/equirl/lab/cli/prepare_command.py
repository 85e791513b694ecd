"""The command ``equirl prepare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equirl.lab.cli.console import AsJson, print_json, say
from equirl.lab.cli.shell_completion import complete_learners

USUAL = "c-psrl"  # equirl.learners.catalogue.RECOMMENDED; a test compares them


def prepare(
    learners: Annotated[
        str, typer.Argument(metavar="LEARNERS", help="By commas; or all.", autocompletion=complete_learners)
    ] = USUAL,
    cpu: Annotated[
        str | None,
        typer.Option(
            help="With --into, the least capable processor: generic, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4.",
            show_default="this one",
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="A folder for a wheel or an image. [default: the cache of this machine]", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile inner loops now, of learners and of learning from logs, so that nobody waits for them later."""
    from equirl.lab.studies.rehearsals import LEARNING, playing, said_while_preparing
    from equirl.learners import AGENTS, make_settings
    from equirl.numerics.preparing import shipped_to

    names = list(AGENTS) if learners == "all" else [name.strip() for name in learners.split(",")]
    for name in names:
        make_settings(name)  # which says what is wrong with it
    tasks = [playing(names), LEARNING]
    if into is None:
        if cpu is not None:
            raise ValueError(f"--cpu {cpu} is for a folder that other machines read: name it with --into")
        n_compiled, folder = sum(map(said_while_preparing, tasks)), None
        said = f"{n_compiled} inner loops compiled"
    else:
        folder = shipped_to(into, cpu, tasks)
        n_compiled = len(list(folder.glob("*.nbc")))
        said = f"{n_compiled} inner loops in {folder}; EQUIRL_KERNELS={into} has them found"
    if as_json:
        print_json({"folder": None if folder is None else str(folder), "inner_loops": n_compiled})
    else:
        say(said)
