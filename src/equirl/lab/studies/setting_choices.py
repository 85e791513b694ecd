"""Settings of learners chosen on the command line: ``c-psrl.scan=500`` for one learner, ``delta=0.1`` for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from equirl.lab.studies.run_specs import settings_of
from equirl.lab.studies.study_file import LearnerEntry, Study, StudyPart
from equirl.learners import AGENTS, find_learner
from equirl.words.checking import unknown_name
from equirl.words.formatting import parse_value

Block = TypeVar("Block", Study, StudyPart)


def read_settings(texts: Iterable[str], learners: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The settings that texts choose for learners.

    Examples
    --------
    >>> read_settings(["c-psrl.scan=500", "ucrl2-l.delta=0.1"], ["c-psrl", "ucrl2-l"])
    {'c-psrl': {'scan': 500}, 'ucrl2-l': {'delta': 0.1}}
    """
    chosen: dict[str, dict[str, Any]] = {name: {} for name in learners}
    for text in texts:
        place, equals, value = text.partition("=")
        learner, dot, key = place.strip().rpartition(".")
        if not equals or not key:
            raise ValueError(f"--set takes key=value, not {text!r}; for one learner alone, learner.key=value")
        if dot and learner not in chosen:
            what = (
                f"{learner!r} does not play here; these do: {', '.join(chosen)}"
                if learner in AGENTS
                else unknown_name("learner", learner, chosen)
            )
            raise ValueError(f"--set {text}: {what}")
        for name in [learner] if dot else chosen:
            _check_key(text, name, key)
            chosen[name][key] = parse_value(value.strip())
    return chosen


def _check_key(text: str, learner: str, key: str) -> None:
    known = find_learner(learner).keys
    if not known:
        raise ValueError(f"--set {text}: learner {learner!r} has no settings")
    if key not in known and key != "tolerance":  # of agent_for
        raise ValueError(f"--set {text}: for {learner!r}: " + unknown_name("setting", key, known))


def with_settings(study: Study, texts: Sequence[str]) -> Study:
    """A study whose learners have other settings, as if its file said so.

    Examples
    --------
    >>> from equirl.lab.studies.study_file import parse_study
    >>> study = parse_study('horizon = 9\\nworlds = ["riverswim"]\\nlearners = ["c-psrl", "random"]')
    >>> with_settings(study, ["c-psrl.scan=500"]).learners[0].settings
    {'scan': 500}
    """
    if not texts:
        return study
    blocks: list[Study | StudyPart] = [study, *study.parts]
    chosen = read_settings(texts, dict.fromkeys(entry.learner for block in blocks for entry in block.learners or ()))
    parts = [_changed(part, chosen) for part in study.parts]
    return _changed(study, chosen).model_copy(update={"parts": parts})


def _changed(block: Block, chosen: dict[str, dict[str, Any]]) -> Block:
    if block.learners is None:
        return block
    return block.model_copy(update={"learners": [_with(entry, chosen[entry.learner]) for entry in block.learners]})


def _with(entry: LearnerEntry, settings: dict[str, Any]) -> LearnerEntry:
    if not settings:
        return entry
    together = entry.settings | settings
    try:
        settings_of(entry.learner, together)
    except (TypeError, ValueError) as error:
        raise ValueError(f"--set: for {entry.learner!r}: {error}") from None
    return entry.model_copy(update={"settings": together})
