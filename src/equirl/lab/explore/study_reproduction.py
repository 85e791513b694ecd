"""One world of a study as a study of its own and as Python, so that anyone gets its numbers without the results.

A results folder does not say the seed that its runs' seeds were derived from; it is found by trying. What is written is
expanded again before it is handed out: it has the very runs that are on screen, or is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from equirl.lab.explore.reproduction import inline_table
from equirl.lab.studies.expansion import PlannedRun, expand, label_of
from equirl.lab.studies.run_specs import FILE_WORLD, RunSpec, derive_seed
from equirl.lab.studies.study_file import StudyError, parse_study

MOST_SEEDS = 100_000  # tried


def place_as_study(planned: Sequence[PlannedRun]) -> str:
    """A study in TOML of the runs of one world.

    Examples
    --------
    >>> text = 'name = "two"\\nseed = 7\\nruns = 2\\nhorizon = 50\\nworlds = ["cycle"]\\nlearners = ["psrl"]'
    >>> print(place_as_study(expand(parse_study(text))))
    name = "taken-away"
    seed = 7
    runs = 2
    horizon = 50
    checkpoints = 50
    worlds = ["cycle"]
    learners = ["psrl"]
    <BLANKLINE>
    [[parts]]
    name = "two"
    <BLANKLINE>
    """
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
    entry: dict[str, Any] = {"file": spec.source} if spec.world == FILE_WORLD else {"world": spec.world}
    if spec.world != FILE_WORLD and spec.params:
        entry["params"] = dict(spec.params)
    if spec.world == FILE_WORLD or run.world != label_of(spec.world, spec.params):
        entry["label"] = run.world
    return json.dumps(spec.world) if set(entry) == {"world"} else inline_table(entry)


def _learner(label: str, spec: RunSpec) -> str:
    entry: dict[str, Any] = {"learner": spec.learner}
    if spec.settings:
        entry["settings"] = dict(spec.settings)
    if label != label_of(spec.learner, spec.settings):
        entry["label"] = label
    return json.dumps(spec.learner) if set(entry) == {"learner"} else inline_table(entry)
