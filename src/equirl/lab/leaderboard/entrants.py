"""Who plays: what each learner is given, and whether it knows of equivalence at all; as the grid of learners has it."""

from __future__ import annotations

from equirl.learners import AGENTS, COLUMNS, FAMILIES

ALONE, LOOKING = COLUMNS[:2]
ENTRANTS = [  # column after column; learners for discounted rewards have no gain to be compared by
    names[column]
    for column in COLUMNS
    for family in FAMILIES
    if column in (names := family.learners()) and not family.discounted
]
ERGODIC_ONLY = [name for family in FAMILIES if family.ergodic_only for name in family.learners().values()]
BASES = {  # a learner given nothing that looks for classes -> the learner it is without them
    names[LOOKING]: names[ALONE] for family in FAMILIES if LOOKING in (names := family.learners())
}
NOTHING, CLASSES, BOTH = "given nothing", "given the classes", "given classes and profiles"
GIVEN = (NOTHING, CLASSES, BOTH)


def given_to(learner: str) -> str:
    """What a learner is given of classes and profiles.

    >>> given_to("c-psrl"), given_to("c-psrl-c"), given_to("c-psrl-c-sigma")
    ('given nothing', 'given the classes', 'given classes and profiles')
    """
    return dict(zip(COLUMNS, (NOTHING, *GIVEN), strict=True))[AGENTS[learner].column]


def is_oblivious(learner: str) -> bool:
    """Whether a learner treats every pair on its own.

    >>> is_oblivious("psrl"), is_oblivious("c-psrl"), is_oblivious("c-psrl-c")
    (True, False, False)
    """
    return AGENTS[learner].column == ALONE
