"""What ``equirl agents`` shows of saved learners: one of a file, or those in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equirl.lab.cli.console import print_facts, print_json, print_table, say
from equirl.lab.cli.log_commands import print_some
from equirl.words.formatting import counted

MOST_RUNS = 100  # listed on the screen


def show_saved(path: Path, as_json: bool) -> None:
    """Show a saved learner, or list those in a folder."""
    if path.is_dir():
        _show_folder(path, as_json)
    else:
        _show_learner(path, as_json)


def _show_folder(folder: Path, as_json: bool) -> None:
    from equirl.lab.studies.kept_agents import kept_table
    from equirl.lab.studies.plan_file import read_plan
    from equirl.lab.studies.saved_runs import saved_runs, unreadable_runs

    table = saved_runs(folder)
    for path in unreadable_runs(folder):
        say(f"{path} is damaged, left out; {path.with_name('agent.npz')} beside it may be whole", err=True)
    if not len(table):
        found = read_plan(folder)
        for complaint in found.complaints:
            say(complaint, err=True)
        table = kept_table(found.runs, folder)
    if not len(table):
        raise ValueError(
            f"{folder} holds no learners; equirl run --save FOLDER and equirl study --keep-agents put some there"
        )
    if as_json:
        print_json({"folder": str(folder), "learners": table.rows()})
        return
    headings = [name + "#" * table.is_numeric(name) for name in table.columns]
    title = f"{folder}: {counted(len(table), 'learner')}"
    print_table(headings, table.head(MOST_RUNS).texts(), title=title)
    if len(table) > MOST_RUNS:
        say(f"... and {len(table) - MOST_RUNS} more; --json lists all")


def _show_learner(path: Path, as_json: bool) -> None:
    from equirl.keeping.saving import load_agent

    agent = load_agent(path)
    beliefs = agent.beliefs
    policy = beliefs.policy_table() if beliefs.has_policy else None
    classes = beliefs.partition if beliefs.forms_classes else None
    settings = agent.settings.as_dict()
    scale, shift = agent.reward_map
    if as_json:
        told: dict[str, Any] = {
            "file": str(path), "learner": agent.name, "steps": agent.t - 1, "n_episodes": agent.n_episodes,
            "n_states": agent.pairs.n_states, "n_pairs": agent.pairs.n_pairs, "settings": settings,
            "reward_range": [shift, scale + shift], "policy": policy.rows() if policy else None,
            "n_classes": classes.n_classes if classes else None,
            "classes": classes.table(agent).rows() if classes else None,
        }  # fmt: skip
        print_json(told)
        return
    print_facts(str(path), {
        "learner": agent.name,
        "steps": f"{agent.t - 1:,} in {counted(agent.n_episodes, 'episode')}",
        "S, states": str(agent.pairs.n_states),
        "M, pairs": str(agent.pairs.n_pairs),
        "classes": "none formed" if classes is None else f"{classes.n_classes:,}",
        "rewards in": f"[{shift:g}, {scale + shift:g}]",
        "settings": ", ".join(f"{key}={value}" for key, value in settings.items()) or "none",
    })  # fmt: skip
    if policy is not None:
        print_some(policy, "Policy", "--json has all")
