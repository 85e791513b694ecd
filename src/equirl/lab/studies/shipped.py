"""Studies that come with the package, by name."""

from __future__ import annotations

from importlib.resources import files

from equirl.lab.studies.study_file import Study, parse_study


def discounted_study() -> Study:
    """What equivalence saves under a discount: six worlds with structure, one without.

    Examples
    --------
    >>> [part.name for part in discounted_study().parts][:3]
    ['intervals', 'intervals-lake', 'intervals-taxi']
    """
    return _shipped("discounted.toml")


def ready_study() -> Study:
    """What equivalence saves in the ready problems: queues, inventories, machines, a delivery round and others.

    Examples
    --------
    >>> [part.name for part in ready_study().parts][:3]
    ['queues', 'delivery', 'pendulum']
    """
    return _shipped("ready.toml")


def _shipped(file: str) -> Study:
    return parse_study(files("equirl.lab.studies").joinpath(file).read_text(encoding="utf-8"), file)
