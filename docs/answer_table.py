"""The table of units and names: made from the marks on the code's own types when the site is built.

``on_page_markdown`` puts it in the place of a line ``<!-- table of answers -->``; ``tests/test_answers.py`` checks that
nothing is missing from it.
"""

from __future__ import annotations

from typing import Any

PLACE = "<!-- table of answers -->"


def objects() -> list[Any]:
    """What people are answered by: the names of the package, and what they return."""
    import equirl as eq
    from equirl.interop import Evaluation
    from equirl.keeping import JournalledAgent, read_journal
    from equirl.lab.studies.python_study import StudyResult
    from equirl.lab.studies.tidy_table import TidyTable
    from equirl.learners import Beliefs
    from equirl.learners.beliefs import AgentPlan
    from equirl.logs import Learned, LogClasses, StructureCheck
    from equirl.solving import DiscountedSolution, GoalSolution
    from equirl.solving.optimal_gain import Solution
    from equirl.solving.policies import PolicyValue
    from equirl.structure import separation
    from equirl.structure.equivalence import Separation
    from equirl.theory import regret_lower_bound

    return [
        eq.TabularMDP, Solution, DiscountedSolution, GoalSolution, eq.Policy, PolicyValue, separation, Separation,
        regret_lower_bound, eq.Trace, TidyTable, StudyResult, Evaluation, eq.Learner, Beliefs, AgentPlan,
        JournalledAgent, read_journal, eq.Log, Learned, LogClasses, StructureCheck, eq.LogPolicy,
    ]  # fmt: skip


def table() -> str:
    """In Markdown."""
    from equirl.words.answer_units import answers

    lines = ["| object | answer | rewards in | states and actions by |", "|---|---|---|---|"]
    for row in answers(objects()):
        lines.append(f"| {f'`{row.object}`' if row.object else ''} | `{row.method}` | {row.unit} | {row.names} |")
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    return markdown.replace(PLACE, table())
