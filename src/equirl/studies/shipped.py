"""Studies that come with the package, by name."""

from __future__ import annotations

from importlib.resources import files

from equirl.studies.study_file import Study, parse_study


def discounted_study() -> Study:
    """What equivalence saves under a discount: six worlds with structure, one without.

    Returns
    -------
    Study

    Examples
    --------
    >>> [part.name for part in discounted_study().parts][:3]
    ['river', 'four-room', 'frozen-lake']
    """
    return parse_study(
        files("equirl.studies").joinpath("discounted.toml").read_text(encoding="utf-8"), "discounted.toml"
    )
