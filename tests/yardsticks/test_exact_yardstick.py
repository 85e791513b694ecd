"""Published answers of known problems: ours is the same, within what was printed and what is certified."""

from __future__ import annotations

from fractions import Fraction

import pytest

from equirl.lab.yardsticks import guarded_commands as commands
from equirl.lab.yardsticks.exact_yardstick import (
    JUMPING,
    Answer,
    answers,
    exact_tables,
    jumping_grid,
    measure_exact,
)
from equirl.lab.yardsticks.yardstick import stored_table, stored_words
from equirl.solving import solve
from equirl.words.tables import Table

ANSWERS = {f"{answer.problem}, {answer.quantity}": answer for answer in answers()}


@pytest.mark.parametrize("name", [pytest.param(k, marks=[pytest.mark.long] * v.long) for k, v in ANSWERS.items()])
def test_a_known_problem_has_its_published_answer(name: str) -> None:
    answer = ANSWERS[name]
    n_states, value, error = answer.ours()
    assert abs(value - float(answer.exact)) <= answer.half_digit + error
    assert error <= 1e-6 * max(1.0, abs(value))
    (stored,) = [
        row
        for row in stored_table("exact").rows()
        if (row["problem"], row["quantity"]) == (answer.problem, answer.quantity)
    ]
    assert stored["ours"] == pytest.approx(value, abs=2 * error + 1e-9)
    assert (stored["states"], stored["source"]) == (n_states, answer.source)


@pytest.mark.parametrize(
    ("mdp", "n_states", "n_choices"),
    [
        (lambda: commands.firewire(3, "time"), 611, 694),
        (lambda: commands.firewire(36, "time"), 776, 1189),
        (lambda: commands.wlan("time"), 2954, 3972),
        (commands.tireworld, 8670, 19044),
        (lambda: commands.scheduling(2, 100), 12828, 14649),
    ],
)
def test_models_have_as_many_states_and_choices_as_published(mdp, n_states: int, n_choices: int) -> None:
    found = mdp()
    assert (found.n_states, found.n_pairs) == (n_states, n_choices)


def test_every_value_of_the_jumping_grid_is_that_of_the_figure() -> None:
    value = solve(jumping_grid(), discount=0.9).value
    assert [f"{x:.1f}" for x in value] == list(JUMPING)


def test_a_state_in_which_nothing_may_happen_is_stayed_in() -> None:
    mdp = commands.explored((2,), lambda state: [({(state[0] - 1,): 1.0}, 3.0)] if state[0] else [])
    assert (mdp.n_states, mdp.transition_probabilities((0,), 0)) == (3, {(0,): 1.0})
    assert mdp.pairs.state_names == ((2,), (1,), (0,))


def test_what_was_printed_is_exact_as_a_fraction_and_right_to_half_a_digit_otherwise() -> None:
    def printed(text: str) -> Answer:
        return Answer("", "", text, "", commands.tireworld, {})

    assert (printed("541/4").exact, printed("541/4").half_digit) == (Fraction(541, 4), 0.0)
    assert (printed("1325").half_digit, printed("2.40").half_digit) == (0.0, 0.005)


def test_the_page_counts_what_agrees_and_names_what_does_not() -> None:
    rows = stored_table("exact")
    assert f"{len(ANSWERS)} of {len(ANSWERS)} agree" in exact_tables(rows)
    off = Table({**rows.columns, "ours": [rows["ours"][0] + 1e-3, *rows["ours"][1:]]})
    assert f"{len(ANSWERS) - 1} of {len(ANSWERS)} agree" in exact_tables(off)
    assert f"Not: {next(iter(ANSWERS))}." in exact_tables(off)
    assert stored_words("exact").startswith("# Known problems")


def test_measuring_gives_a_row_for_every_answer(tmp_path, monkeypatch) -> None:
    few = [ANSWERS["toymaker, average reward"], ANSWERS["random walk, value of A"]]
    monkeypatch.setattr("equirl.lab.yardsticks.exact_yardstick.answers", lambda: few)
    table = measure_exact(tmp_path)
    assert (table["problem"], table["states"]) == (["toymaker", "random walk"], [2, 7])
    assert table["ours"] == pytest.approx([2.0, 1 / 6])
