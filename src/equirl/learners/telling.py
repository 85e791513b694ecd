"""What any learner tells people: its classes, its policy, what was refuted, why it does what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equirl.learners.answers import ActionValues, PairBelief
    from equirl.learners.explaining import Explanation
    from equirl.structure.partition import Partition
    from equirl.words.tables import Table


class Telling:
    """The part of a learner that answers questions; asking changes nothing."""

    name: str
    t: int
    pairs: Any
    settings: Any
    given: Any
    episode_starts: list[int]

    @property
    def n_episodes(self) -> int:
        """How many plans were made so far."""
        return len(self.episode_starts)

    @property
    def partition(self) -> Partition:
        """The classes in force; an error where the learner forms none."""
        formed = self.classes()  # type: ignore[attr-defined]
        if formed is None:
            raise ValueError(f"{self.name!r} forms no classes")
        found: Partition = formed.partition
        return found

    def policy_table(self) -> Table:
        """A row per state: the action it would play without exploring, by name, its visits and its mean reward."""
        from equirl.learners.answers import policy_table

        return policy_table(self)  # type: ignore[arg-type]

    def refuted(self) -> Table:
        """What was seen against the classes, or corresponding successors, that were stated for it.

        Returns
        -------
        Table
            A row per class and kind of evidence; none where nothing was stated or nothing is refuted. If all that was
            stated is true, a row ever appears with probability ``delta`` (0.05 for learners without one) at most.
        """
        from equirl.learners.statement_watch import refuted_table

        return refuted_table(self)  # type: ignore[arg-type]

    def explain(self, state: object, action: object = None) -> Explanation:
        """What the learner knows of a pair, and why it does or does not play it. Nothing changes by asking.

        Parameters
        ----------
        state : int or str
            Its number or name.
        action : int or str, optional
            Likewise; by default the action that the learner would play in the state now.

        Returns
        -------
        Explanation
        """
        from equirl.learners.explaining import explain

        return explain(self, state, action)  # type: ignore[arg-type]

    def pair_belief(self, pair: int) -> PairBelief | None:
        """What it believes of a pair now, for :meth:`explain`; None where it does not say."""
        return None

    def action_values(self, state: int) -> ActionValues | None:
        """By what it chose its action in a state, for :meth:`explain`; None where it does not say."""
        return None

    def alike_by(self) -> str:
        """How it found the classes of :meth:`classes`: "estimated", "drawn", or "" where every pair stands alone."""
        return ""

    def _repr_html_(self) -> str:
        from equirl.words.tables import card

        facts = {
            "steps learned": f"{self.t - 1:,}", "plans made": f"{self.n_episodes:,}", "states": self.pairs.n_states,
            "pairs": self.pairs.n_pairs, "given": ", ".join(sorted(self.given.names)) or None,
        }  # fmt: skip
        return card(f"Learner {self.name}", {**facts, **self.settings.as_dict()})

    def __repr__(self) -> str:
        return f"<{self.name}: t={self.t}, {self.n_episodes} episodes, S={self.pairs.n_states}, M={self.pairs.n_pairs}>"
