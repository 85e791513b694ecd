"""Who plays: what each learner is given, and whether it knows of equivalence at all."""

from __future__ import annotations

from equirl.learners.learner_registry import AGENTS
from equirl.learners.recipes import Settings, needs_of_parts

ERGODIC_ONLY = ("imed-rl", "c-imed-rl", "c-imed-rl-c", "c-imed-rl-c-sigma")  # every policy visits every state
OBLIVIOUS = ("ucrl2", "ucrl2-l", "ucrl2-b", "kl-ucrl", "ucrl3", "psrl", "imed-rl", "random")
BASES = {  # a learner told nothing that looks for classes -> the learner it is without them
    "c-ucrl": "ucrl2-l",
    "c-ucrl2-b": "ucrl2-b",
    "c-kl-ucrl": "kl-ucrl",
    "c-ucrl3": "ucrl3",
    "c-psrl": "psrl",
    "c-imed-rl": "imed-rl",
}
NOTHING, CLASSES, BOTH = "given nothing", "given the classes", "given classes and profiles"
GIVEN = (NOTHING, CLASSES, BOTH)


def given_to(learner: str) -> str:
    """What a learner is told about classes.

    Parameters
    ----------
    learner : str
        Its name in the registry.

    Returns
    -------
    str
        One of ``GIVEN``.

    Examples
    --------
    >>> given_to("c-psrl"), given_to("c-psrl-c"), given_to("c-psrl-c-sigma")
    ('given nothing', 'given the classes', 'given classes and profiles')
    """
    needs = needs_of_parts(Settings(AGENTS[learner].parts))
    if "profiles" in needs:
        return BOTH
    return CLASSES if "classes" in needs else NOTHING


def is_oblivious(learner: str) -> bool:
    """Whether a learner treats every pair on its own.

    Parameters
    ----------
    learner : str
        Its name in the registry.

    Returns
    -------
    bool
    """
    return learner in OBLIVIOUS
