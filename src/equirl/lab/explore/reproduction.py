"""What is on screen as a Python snippet, a study and a command, so that anyone gets the same numbers elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from equirl.lab.explore.asked_runs import AskedRuns
from equirl.worlds import parse_world

SHORT = 70  # characters of a world that fit into one line
CHECKPOINTS = 200  # as simulate records by default


def python_snippet(world: Any, asked: AskedRuns | None = None, rewards: bool = True) -> str:
    """Python that computes what is shown.

    Examples
    --------
    >>> print(python_snippet({"text": "riverswim:n_states=6"}))
    import equirl as eq
    <BLANKLINE>
    mdp = eq.load_world("riverswim:n_states=6")
    classes = eq.equivalence_classes(mdp)
    best = eq.solve(mdp)
    print(mdp.n_states, mdp.n_pairs, classes.n_classes, best.gain, best.kind)
    print(eq.diameter(mdp, max_states=mdp.n_states))
    <BLANKLINE>
    """
    lines = ["import equirl as eq", "", _world_line(world)]
    if asked is None:
        lines += [
            f"classes = eq.equivalence_classes(mdp{'' if rewards else ', rewards=False'})",
            "best = eq.solve(mdp)",
            "print(mdp.n_states, mdp.n_pairs, classes.n_classes, best.gain, best.kind)",
            "print(eq.diameter(mdp, max_states=mdp.n_states))",
        ]
        return "\n".join(lines) + "\n"
    entries = [repr(name) if not settings else repr((name, settings)) for name, settings in asked.learners.values()]
    common = ", common_random_numbers=True" if asked.common else ""
    seeds = f"range({asked.seeds.start}, {asked.seeds.stop})"
    lines += [
        f"learners = [{', '.join(entries)}]".replace("'", '"').replace("inf", 'float("inf")'),
        f"table = eq.simulate_many(mdp, learners, horizon={asked.horizon}, seeds={seeds}{common})",
        "print(table)",
    ]
    return "\n".join(lines) + "\n"


def study_text(world: Any, asked: AskedRuns) -> str:
    """A study in TOML that computes what is shown.

    Examples
    --------
    >>> from equirl.lab.explore.asked_runs import asked_runs
    >>> print(study_text({"text": "riverswim:n_states=6"}, asked_runs({"learners": [{"name": "c-psrl"}], "runs": 2})))
    name = "explored"
    horizon = 20000
    seeds = [0, 1]
    checkpoints = 200
    worlds = ["riverswim:n_states=6"]
    learners = ["c-psrl"]
    <BLANKLINE>
    """
    learners = [
        json.dumps(name) if not settings else f"{{ learner = {json.dumps(name)}, settings = {inline_table(settings)} }}"
        for name, settings in asked.learners.values()
    ]
    entry = f"{{ file = {json.dumps(world['file'])} }}" if "file" in world else json.dumps(world["text"])
    lines = [
        'name = "explored"',
        f"horizon = {asked.horizon}",
        f"seeds = {list(asked.seeds)}",
        f"checkpoints = {CHECKPOINTS}",
        f"worlds = [{entry}]",
        f"learners = [{', '.join(learners)}]",
    ]
    lines += ["common_random_numbers = true"] if asked.common else []
    return "\n".join(lines) + "\n"


def inline_table(entry: Mapping[str, Any]) -> str:
    """A table of TOML on one line.

    Examples
    --------
    >>> inline_table({"world": "grid", "params": {"goal_reward": 0.5}})
    '{ world = "grid", params = { goal_reward = 0.5 } }'
    """
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in entry.items()) + " }"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return inline_table(value)
    return str(value) if isinstance(value, float) else json.dumps(value)


def _world_line(world: Any) -> str:
    if "file" in world:
        return f"mdp = eq.load_world({json.dumps(world['file'])})"
    if len(world["text"]) <= SHORT:
        return f"mdp = eq.load_world({json.dumps(world['text'])})"
    name, params = parse_world(world["text"])
    plain = "".join(f", {key}={value!r}" for key, value in params.items() if key != "map").replace("'", '"')
    if "map" not in params:
        return f'mdp = eq.make("{name}"{plain})'
    rows = "\n".join(params["map"].strip().split("/"))
    return f'mdp = eq.make("{name}"{plain}, map="""\n{rows}\n""")'
