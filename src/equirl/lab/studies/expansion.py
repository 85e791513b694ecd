"""From a study to its runs: names looked up, defaults filled in, seeds derived, nothing computed yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from equirl.lab.studies.run_specs import (
    FILE_WORLD,
    RunSpec,
    derive_seed,
    file_digest,
    one_spelling,
    read_settings,
    settings_of,
)
from equirl.lab.studies.runs import json_key, known_world
from equirl.lab.studies.study_file import LearnerEntry, StudyError, StudyFile, StudyPart, WorldEntry
from equirl.learners import AGENTS
from equirl.words.checking import checked_path, unknown_name
from equirl.worlds import find_world, parse_world

Block = TypeVar("Block", StudyFile, StudyPart)


@dataclass(frozen=True)
class PlannedRun:
    """A run and where it stands in its study."""

    part: str
    world: str
    learner: str
    spec: RunSpec


class _ResolvedWorld(NamedTuple):
    label: str
    world: str
    params: dict[str, Any]  # those that differ from the defaults
    all_params: dict[str, Any]
    source: str | None


class _ResolvedLearner(NamedTuple):
    label: str
    learner: str
    settings: dict[str, Any]  # those that differ from the defaults
    all_settings: dict[str, Any]


def expand(study: StudyFile, folder: Path = Path()) -> list[PlannedRun]:
    """All runs of a study, in the order of its file. What is unknown or missing is a StudyError.

    Parameters
    ----------
    study : StudyFile
        A validated study.
    folder : Path
        From where saved worlds are looked for.
    """
    parts = study.parts or [StudyPart.model_validate({"name": study.name})]
    _refuse_twice("part", [part.name for part in parts])
    return [run for part in parts for run in _expand_part(study, part, folder)]


def unique_specs(planned: Iterable[PlannedRun]) -> list[RunSpec]:
    """The runs to compute: one for each key, since parts may share runs; it keeps what any of them keeps."""
    unique: dict[str, RunSpec] = {}
    for run in planned:
        key = run.spec.key
        if key not in unique or set(run.spec.keep) > set(unique[key].keep):
            unique[key] = run.spec
    return list(unique.values())


def _expand_part(study: StudyFile, part: StudyPart, folder: Path) -> list[PlannedRun]:
    horizon = _chosen(study, part, "horizon")
    worlds, learners = [], []
    for entry in _chosen(study, part, "worlds"):
        with _located(study, part, str(entry.world or entry.file)):
            worlds.append(_resolve_world(entry, folder))
    for entry in _chosen(study, part, "learners"):
        with _located(study, part, entry.learner):
            learners.append(_resolve_learner(entry))
    _refuse_twice(f"world of part {part.name!r}", [world.label for world in worlds])
    _refuse_twice(f"learner of part {part.name!r}", [learner.label for learner in learners])
    checkpoints = _checkpoints(_chosen(study, part, "checkpoints", 200), horizon, part.name)
    measures = tuple(sorted(set(_chosen(study, part, "measures", []))))
    keep = tuple(sorted(set(_chosen(study, part, "keep", []))))
    common = _chosen(study, part, "common_random_numbers", False)
    renumber = _chosen(study, part, "renumber", False)
    seeds = _given_seeds(study, part)
    n_runs = _chosen(study, part, "runs", 1) if seeds is None else len(seeds)
    planned = []
    for world, learner, k in product(worlds, learners, range(n_runs)):
        place = study.seed, world.world, world.params
        spec = RunSpec(
            world=world.world,
            params=world.params,
            all_params=world.all_params,
            learner=learner.learner,
            settings=learner.settings,
            all_settings=learner.all_settings,
            horizon=horizon,
            checkpoints=checkpoints,
            replicate=k,
            seed=seeds[k] if seeds else derive_seed("run", *place, learner.learner, learner.settings, k),
            world_seed=(seeds[k] if seeds else derive_seed("world", *place, k)) if common else None,
            measures=measures,
            source=world.source,
            renumber_seed=derive_seed("renumber", *place, k) if renumber else None,
            keep=keep,
        )
        planned.append(PlannedRun(part.name, world.label, learner.label, spec))
    return planned


@contextmanager
def _located(study: StudyFile, part: StudyPart, name: str) -> Iterator[None]:
    """Inside, a mistake is named with the file and the line in which a world or learner stands."""
    try:
        yield
    except StudyError as error:
        place = study.place_of(name, part.name)
        raise StudyError(f"{place}: {error}" if place else str(error)) from None


def _given_seeds(study: StudyFile, part: StudyPart) -> list[int] | None:
    """The seeds that a part, or else the study, gives one by one."""
    for block in (part, study):
        if block.runs is not None and block.seeds is not None:
            raise StudyError(f"{block.name!r} has both runs and seeds; give one of them")
    seeds = study.seeds if part.runs is None and part.seeds is None else part.seeds
    if seeds is not None and len(set(seeds)) < len(seeds):
        raise StudyError(f"part {part.name!r}: a seed is listed twice, so its runs would be the same")
    return seeds


def _chosen(study: StudyFile, part: StudyPart, key: str, default: Any = None) -> Any:
    for value in (getattr(part, key), getattr(study, key), default):
        if value is not None:
            return value
    meaning = StudyFile.model_fields[key].description
    where = f"part {part.name!r} has no {key!r}" if study.parts else f"the key {key!r} is missing"
    raise StudyError(f"{where} ({key}: {meaning})")


def _checkpoints(value: int | str | list[int], horizon: int, part: str) -> int | str | list[int]:
    if isinstance(value, int):
        return min(value, horizon)
    if isinstance(value, list):
        increasing = all(a < b for a, b in pairwise(value))
        if not value or not increasing or value[-1] != horizon:
            raise StudyError(f"part {part!r}: checkpoints must be increasing times that end at the horizon, {horizon}")
    return value


def _resolve_world(entry: WorldEntry, folder: Path) -> _ResolvedWorld:
    if (entry.world is None) == (entry.file is None):
        raise StudyError(f"a world needs either 'world' (a registered name) or 'file' (a saved world): {entry!r}")
    if entry.file is not None:
        return _saved_world(entry, folder)
    try:
        name, params = parse_world(str(entry.world))
        params |= entry.params
        known_world(name, json_key(params), None)  # a mistake is an error here, not in every run
        changed, everything = params_of(name, params)
    except (TypeError, ValueError) as error:
        raise StudyError(f"world {entry.world!r}: {error}") from None
    return _ResolvedWorld(entry.label or label_of(name, changed), name, changed, everything, None)


def params_of(name: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of a world, its preset written out: those that differ from the defaults, and all of them.

    >>> params_of("riverswim", {"n_states": 6, "forward": 0.4, "preset": "figures"})[0]
    {'n_states': 6}
    >>> params_of("riverswim", {"preset": "drawing"})[0]
    {'forward': 0.35, 'first_forward': 0.6, 'small_reward': 0.05}
    """
    world = find_world(name)
    usual = world.params
    first = usual.pop("preset", None)
    usual |= world.presets[first] if first else {}
    preset = world.presets[given["preset"]] if "preset" in given else {}
    full = {key: one_spelling({**preset, **given}.get(key, value), value) for key, value in usual.items()}
    return {key: value for key, value in full.items() if value != usual[key]}, full


def _saved_world(entry: WorldEntry, folder: Path) -> _ResolvedWorld:
    try:
        path = (folder / checked_path("file", entry.file)).resolve()
    except ValueError as error:
        raise StudyError(f"a saved world: {error}") from None
    if entry.params:
        raise StudyError(f"the saved world {path} takes no params; they are part of the file")
    if not path.is_file():
        raise StudyError(f"the saved world {path} is not there (file: its path relative to the study)")
    content = {"sha256": file_digest(path)}
    return _ResolvedWorld(entry.label or path.stem, FILE_WORLD, content, content, str(path))


def _resolve_learner(entry: LearnerEntry) -> _ResolvedLearner:
    if entry.learner not in AGENTS:
        raise StudyError(unknown_name("learner", entry.learner, AGENTS))
    try:
        changed, everything = settings_of(entry.learner, entry.settings)
    except (TypeError, ValueError) as error:
        raise StudyError(f"learner {entry.learner!r}: {error}") from None
    return _ResolvedLearner(entry.label or label_of(entry.learner, changed), entry.learner, changed, everything)


def label_of(name: str, changed: Mapping[str, Any]) -> str:
    """A name and what is not at its default.

    >>> label_of("riverswim", {"n_states": 25})
    'riverswim:n_states=25'
    """
    return name + (":" + ",".join(f"{key}={value}" for key, value in changed.items()) if changed else "")


def _refuse_twice(kind: str, labels: list[str]) -> None:
    for label in labels:
        if labels.count(label) > 1:
            raise StudyError(f"{label!r} names more than one {kind}; give each its own label")


def with_settings(study: StudyFile, texts: Sequence[str]) -> StudyFile:
    """A study whose learners have other settings, as if its file said so."""
    if not texts:
        return study
    blocks: list[StudyFile | StudyPart] = [study, *study.parts]
    chosen = read_settings(texts, dict.fromkeys(entry.learner for block in blocks for entry in block.learners or ()))
    parts = [_changed(part, chosen) for part in study.parts]
    return _changed(study, chosen).model_copy(update={"parts": parts})


def _changed(block: Block, chosen: dict[str, dict[str, Any]]) -> Block:
    if block.learners is None:
        return block
    entries = []
    for entry in block.learners:
        together = entry.settings | chosen[entry.learner]
        if chosen[entry.learner]:
            try:
                settings_of(entry.learner, together)
            except (TypeError, ValueError) as error:
                raise ValueError(f"--set: for {entry.learner!r}: {error}") from None
        entries.append(entry.model_copy(update={"settings": together}))
    return block.model_copy(update={"learners": entries})
