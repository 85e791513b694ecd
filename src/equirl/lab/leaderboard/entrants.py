"""Who plays: what each learner is given, and whether it knows of equivalence at all."""

from __future__ import annotations

from equirl.learners import AGENTS, Settings, needs_of_parts

ERGODIC_ONLY = ("imed-rl", "c-imed-rl-c-sigma")  # for worlds in which every policy visits every state
BASES = {  # a learner given nothing that looks for classes -> the learner it is without them
    "c-ucrl": "ucrl2-l",
    "c-ucrl2-b": "ucrl2-b",
    "c-kl-ucrl": "kl-ucrl",
    "c-ucrl3": "ucrl3",
    "c-psrl": "psrl",
}
LOOKING_FOR_CLASSES = (*BASES, "c-ucrl-published")
NOTHING, CLASSES, BOTH = "given nothing", "given the classes", "given classes and profiles"
GIVEN = (NOTHING, CLASSES, BOTH)


def given_to(learner: str) -> str:
    """What a learner is given of classes and profiles.

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

    Examples
    --------
    >>> is_oblivious("psrl"), is_oblivious("c-psrl"), is_oblivious("c-psrl-c")
    (True, False, False)
    """
    return given_to(learner) == NOTHING and learner not in LOOKING_FOR_CLASSES
