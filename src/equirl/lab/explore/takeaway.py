"""What a page can take away: files of figures, tables and worlds, and texts that reproduce what is on screen.

The texts are a Python snippet and a study. A results folder does not say the seed that its runs' seeds were derived
from; it is found by trying. What is written of a study is expanded again before it is given out: it has the very runs
that are on screen, or is refused.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from equirl.lab.explore.messages import Reply
from equirl.lab.explore.page_requests import RunRequest
from equirl.lab.plots.canvas import save_all
from equirl.lab.plots.curve_figures import plot_curves
from equirl.lab.plots.study_figures import file_name
from equirl.lab.studies.expansion import PlannedRun, expand, label_of
from equirl.lab.studies.run_specs import FILE_WORLD, RunSpec, derive_seed
from equirl.lab.studies.study_file import StudyError, parse_study
from equirl.lab.studies.summary import Group
from equirl.words.checking import unknown_name
from equirl.worlds import parse_world

KINDS = {
    "svg": "image/svg+xml", "png": "image/png", "csv": "text/csv", "npz": "application/octet-stream",
    "py": "text/x-python", "toml": "application/toml", "html": "text/html",
}  # fmt: skip
SHORT = 70  # characters of a world that fit into one line
CHECKPOINTS = 200  # as simulate records by default
MOST_SEEDS = 100_000  # tried
Writer = Callable[[Path], object]


def file_reply(stem: str, what: str, writers: Mapping[str, Writer]) -> Reply:
    if what not in writers:
        raise ValueError(unknown_name("file to take away", what, writers))
    name = f"{stem}.{what}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        writers[what](path)
        content = path.read_bytes()
    return {"kind": "file", "name": name, "type": KINDS[what], "base64": base64.b64encode(content).decode()}


def file_stem(asked: Any) -> str:
    name = Path(asked["file"]).stem if "file" in asked else asked["text"].partition(":")[0]
    return file_name(name, otherwise="explored")


def draw_curves(
    groups: list[Group], title: str, path: Path, log: bool, measure: str, points: Mapping[str, float] | None = None
) -> None:
    figure = plot_curves(groups, measure, title=short_title(title), log=log, points=points)
    save_all(figure, path.with_suffix(""), [path.suffix[1:]])


def short_title(title: str) -> str:
    return title if len(title) <= 60 else title.partition(":")[0]


def python_snippet(world: Any, asked: RunRequest | None = None, rewards: bool = True) -> str:
    """Python that computes what is shown.

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


def study_text(world: Any, asked: RunRequest) -> str:
    """A study in TOML that computes what is shown."""
    learners = [_entry("learner", name, settings=settings) for name, settings in asked.learners.values()]
    entry = _entry("file", world["file"]) if "file" in world else json.dumps(world["text"])
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


def place_as_study(planned: Sequence[PlannedRun]) -> str:
    """A study in TOML of the runs of one world."""
    first = planned[0]
    spec, learners = first.spec, {run.learner: run.spec for run in planned}
    replicates = sorted({run.spec.replicate for run in planned})
    lines = ['name = "taken-away"', *_seeds(planned, len(replicates)), f"horizon = {spec.horizon}"]
    lines += [f"checkpoints = {json.dumps(spec.checkpoints)}"]
    lines += [f"measures = {json.dumps(list(spec.measures))}"] if spec.measures else []
    lines += ["common_random_numbers = true"] if spec.world_seed is not None else []
    lines += ["renumber = true"] if spec.renumber_seed is not None else []
    lines += [f"worlds = [{_world(first)}]"]
    lines += [f"learners = [{', '.join(_learner(label, own) for label, own in learners.items())}]"]
    text = "\n".join([*lines, "", "[[parts]]", f"name = {json.dumps(first.part)}"]) + "\n"
    try:
        again = {run.spec.key for run in expand(parse_study(text))}
    except StudyError as error:
        raise ValueError(f"these runs cannot be written as a study: {error}") from None
    if again != {run.spec.key for run in planned}:
        raise ValueError("the seed of this study is not known here; its own TOML file has it")
    return text


def place_as_python(planned: Sequence[PlannedRun]) -> str:
    """Python that computes the runs of one world, and its table."""
    return f"""from equirl.lab.studies.expansion import expand
from equirl.lab.studies.runs import execute
from equirl.lab.studies.study_file import parse_study
from equirl.lab.studies.summary import SUMMARY_COLUMNS, final_rows, summarise

study = parse_study('''
{place_as_study(planned)}''')
runs = [(run, execute(run.spec)) for run in expand(study)]
for row in final_rows(summarise(runs)):
    print(dict(zip(SUMMARY_COLUMNS, row)))
"""


def _seeds(planned: Sequence[PlannedRun], n_runs: int) -> list[str]:
    """The seed of the study and the number of its runs, or the seeds that it gives one by one."""
    given = {run.spec.replicate: run.spec.seed for run in planned}
    shared = all(given[run.spec.replicate] == run.spec.seed for run in planned)
    seed = _seed_of(planned[0].spec)
    if seed is None and shared and len(given) == n_runs:
        return [f"seeds = {[given[k] for k in sorted(given)]}"]
    return [f"seed = {seed or 0}", f"runs = {n_runs}"]


def _seed_of(spec: RunSpec) -> int | None:
    """The seed from which that of a run was derived, if it is among those tried."""
    for seed in range(MOST_SEEDS):
        derived = derive_seed("run", seed, spec.world, spec.params, spec.learner, spec.settings, spec.replicate)
        if derived == spec.seed:
            return seed
    return None


def _world(run: PlannedRun) -> str:
    spec = run.spec
    if spec.world == FILE_WORLD:
        return _entry("file", spec.source, label=run.world)
    label = "" if run.world == label_of(spec.world, spec.params) else run.world
    return _entry("world", spec.world, params=spec.params, label=label)


def _learner(label: str, spec: RunSpec) -> str:
    own = "" if label == label_of(spec.learner, spec.settings) else label
    return _entry("learner", spec.learner, settings=spec.settings, label=own)


def _entry(kind: str, name: Any, **more: Any) -> str:
    """A world or learner of a study: its name, or a table of that and what else is not empty; of a file always one."""
    own = {key: value for key, value in more.items() if value}
    return inline_table({kind: name, **own}) if own or kind == "file" else json.dumps(name)


def inline_table(entry: Mapping[str, Any]) -> str:
    """A table of TOML on one line.

    >>> inline_table({"world": "grid", "params": {"goal_reward": 0.5}})
    '{ world = "grid", params = { goal_reward = 0.5 } }'
    """
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in entry.items()) + " }"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return inline_table(value)
    return str(value) if isinstance(value, float) else json.dumps(value)
