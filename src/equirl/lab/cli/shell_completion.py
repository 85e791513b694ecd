"""What Tab offers in a shell: worlds, learners, settings, studies, files; and ``equirl completion``.

Answers and the scripts of zsh and fish are Typer's own. Its script for bash offers nothing after a colon.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from equirl.lab.cli.console import AsJson, print_json, say

COMPLETE_VARIABLE = "_EQUIRL_COMPLETE"  # is set by the scripts when they ask
SHIPPED = ("paper", "leaderboard", "zoo", "colosseum", "discounted", "ready")
# bash cuts words at : and =, so the line is split here and what stands before the last cut is taken off the answers.
BASH = """\
_equirl_completion() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}" reply
    local word="${line##*[[:space:]]}"
    local cut="${word%"${word##*[:=]}"}"
    COMPREPLY=()
    for reply in $(env _TYPER_COMPLETE_ARGS="$line" _TYPER_COMPLETE_FISH_ACTION=get-args \\
                       _EQUIRL_COMPLETE=complete_fish "$1"); do
        reply="${reply%%$'\\t'*}"
        COMPREPLY+=("${reply#"$cut"}")
    done
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace
    return 0
}
complete -o default -F _equirl_completion equirl
"""


class Shell(StrEnum):
    """Shells that can complete."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def answer_shells() -> None:
    """Make ready to answer, where a shell asks for completions."""
    if COMPLETE_VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell that is to complete.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Print what a shell needs to complete commands, worlds, learners and files: eval "$(equirl completion bash)"."""
    script = BASH if shell is Shell.bash else _script(shell)
    if as_json:
        print_json({"shell": str(shell), "script": script})
    else:
        say(script.rstrip("\n"))


def _script(shell: Shell) -> str:
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return str(get_completion_script(prog_name="equirl", complete_var=COMPLETE_VARIABLE, shell=str(shell)))


def complete_world(incomplete: str) -> list[str]:
    """Worlds, after a colon their parameters, and saved problems."""
    from equirl.worlds import COLOSSEUM, WORLDS, ZOO

    known = {**WORLDS, **ZOO, **COLOSSEUM} if incomplete else WORLDS  # the zoo is long
    name, colon, rest = incomplete.partition(":")
    if not colon:
        return [*_beginning(incomplete, known), *complete_file(incomplete, ".npz", ".txt")]
    if name not in known:
        return []
    before = rest[: rest.rfind(",") + 1]
    taken = {part.partition("=")[0] for part in before.split(",")}
    keys = (f"{name}:{before}{key}=" for key in known[name].params if key not in taken)
    return _beginning(incomplete, keys)


def complete_problem(incomplete: str) -> list[str]:
    """As :func:`complete_world`, and logs."""
    return complete_world(incomplete) + complete_log(incomplete)


def complete_saved(incomplete: str) -> list[str]:
    return complete_file(incomplete, ".npz")


def complete_log(incomplete: str) -> list[str]:
    return complete_file(incomplete, ".csv", ".tsv", ".parquet")


def complete_learners(incomplete: str) -> list[str]:
    """Learners, several by commas, and saved ones."""
    from equirl.learners import AGENTS

    before = incomplete[: incomplete.rfind(",") + 1]
    last, taken = incomplete[len(before) :], before.split(",")
    found = [*_beginning(last, (name for name in AGENTS if name not in taken)), *complete_file(last, ".npz")]
    return [before + name for name in found]


def complete_setting(incomplete: str) -> list[str]:
    """Learners with a point, then their settings with an equals sign."""
    from equirl.learners import AGENTS

    if "=" in incomplete:
        return []
    learner, dot, _ = incomplete.rpartition(".")
    if not dot:
        return _beginning(incomplete, (f"{name}." for name in AGENTS))
    return _beginning(incomplete, (f"{learner}.{key}=" for key in (AGENTS[learner].keys if learner in AGENTS else ())))


def complete_study(incomplete: str) -> list[str]:
    """Studies: those shipped, and TOML files."""
    return [*_beginning(incomplete, SHIPPED), *complete_file(incomplete, ".toml")]


def complete_file(incomplete: str, *endings: str) -> list[str]:
    """Files with some endings, and folders."""
    typed, start = os.path.split(incomplete)
    found = []
    try:
        for entry in sorted(Path(os.path.expanduser(typed) or ".").iterdir()):
            if not entry.name.startswith(start) or (entry.name.startswith(".") and not start):
                continue
            if entry.is_dir() or entry.suffix in endings:
                found.append(os.path.join(typed, entry.name) + ("/" if entry.is_dir() else ""))
    except OSError:
        return []
    return found


def _beginning(start: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(start)]
