"""Known problems with published answers: what their authors found, what ``solve`` finds, and how certain that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from equirl.lab.yardsticks import guarded_commands as commands
from equirl.lab.yardsticks.published_inventories import perishable, two_products
from equirl.lab.yardsticks.yardstick import Yardstick
from equirl.model import TabularMDP
from equirl.solving import solve
from equirl.words.formatting import number
from equirl.words.tables import Table
from equirl.worlds import make


@dataclass(frozen=True)
class Answer:
    """A published number, and how ours is found."""

    problem: str
    quantity: str
    published: str  # a fraction, or digits as printed
    source: str  # in the words of the section
    mdp: Callable[[], TabularMDP]
    asked: Mapping[str, Any]  # of solve; nothing: the average reward
    sign: float = 1.0  # of what solve gives
    state: Any = None  # from where; the start if not said
    long: bool = False  # takes more than a few seconds

    @property
    def exact(self) -> Fraction:
        return Fraction(self.published)

    @property
    def half_digit(self) -> float:
        """How far the truth may be from what was printed."""
        if "/" in self.published or "." not in self.published:
            return 0.0
        return 0.5 * 10.0 ** -len(self.published.split(".")[1])

    def ours(self) -> tuple[int, float, float]:
        """States, value, certified error."""
        mdp = self.mdp()
        best = solve(mdp, **self.asked)
        if not {"goal", "discount"} & set(self.asked):
            return mdp.n_states, self.sign * best.gain, best.accuracy
        start = int(mdp.initial.argmax()) if self.state is None else mdp.pairs.state_number(self.state)
        return mdp.n_states, self.sign * float(best.value[start]), best.accuracy


def answers() -> list[Answer]:
    """Every published answer, in the order of the page."""
    return [*_qcomp(), *_inventories(), *_textbooks()]


def _qcomp() -> list[Answer]:
    found = []
    for delay, least, most in ((3, "541/4", "299"), (36, "409/4", "365")):
        name, done = f"FireWire, abstract, delay {delay}", {"goal": lambda s: s[0] == 9, "objective": "cost"}
        time, rounds = _made(commands.firewire, delay, "time"), _made(commands.firewire, delay, "rounds")
        found += [
            Answer(name, "least expected time", least, "QComp, firewire_abst", time, done),
            Answer(name, "largest expected time", most, "QComp, firewire_abst", time, {**done, "maximise": True}),
            Answer(name, "least expected rounds", "1", "QComp, firewire_abst", rounds, done),
        ]
    name, sent = "wireless LAN, no back-off", {"goal": lambda s: s[2][1] == s[3][1] == 12, "objective": "cost"}
    for quantity, published, counts, largest in (
        ("least expected time", "1325", "time", False), ("largest expected time", "79630/21", "time", True),
        ("least expected cost", "7625", "cost", False), ("largest expected cost", "5852200/209", "cost", True),
        ("largest expected collisions", "256/209", "collisions", True),
    ):  # fmt: skip
        asked = {**sent, "maximise": largest}
        found.append(Answer(name, quantity, published, "QComp, wlan", _made(commands.wlan, counts), asked))
    empty = {"goal": lambda s: s[0] == 0, "objective": "cost", "maximise": True}
    for n, energy, jobs, wanted, chance in (
        (2, 100, "26428/6561", 5, "184/6561"),
        (3, 150, "5090102765275/847288609443", 7, "6371108617/847288609443"),
    ):
        name, made = f"job scheduling, {n} processes, energy {energy}", _made(commands.scheduling, n, energy)
        counted = _made(commands.scheduling, n, energy, wanted)
        enough = {"goal": lambda s, wanted=wanted: s[0] == 0 and s[4] == wanted}
        quantity = f"largest probability of {wanted} jobs"
        found += [
            Answer(name, "largest expected jobs", jobs, "QComp, eajs", made, empty, long=n > 2),
            Answer(name, quantity, chance, "QComp, eajs", counted, enough, long=n > 2),
        ]
    brought = {"goal": lambda s: s[4] == s[5] == 0, "objective": "cost"}
    arrived = {"goal": lambda s: s[0] == 0}
    return [
        *found,
        Answer(
            "Tireworld, 17 places", "largest probability", "729/3125", "QComp, tireworld",
            commands.tireworld, arrived,
        ),
        Answer(
            "resource gathering, 15 and 15", "least expected steps", "1745/9", "QComp, resource-gathering",
            _made(commands.gathering, 15, 15), brought,
        ),
    ]  # fmt: skip


def _inventories() -> list[Answer]:
    found = [
        Answer(f"perishable, life {life}", "average profit", profit, "Hendrix", _made(perishable, life), {})
        for life, profit in ((2, "2.22"), (3, "2.40"), (4, "2.47"))
    ]
    for demands, orders, profit in (((5, 5), (8, 8), "4.503"), ((7, 3), (11, 6), "4.523")):
        name, source = "two perishable products, demands of {} and {}".format(*demands), "Hendrix, by viso_jax"
        made = _made(two_products, *demands, *orders)
        found.append(Answer(name, "average profit", profit, source, made, {}, long=True))
    for lead, demand, penalty, room, order, cost, read in (
        (1, "poisson", 4, 20, 8, "4.04", "by DynaPlex"), (2, "poisson", 4, 20, 6, "4.40", "by DynaPlex"),
        (4, "poisson", 4, 30, 6, "4.73", "by invman"), (1, "poisson", 9, 22, 9, "5.44", ""),
        (1, "poisson", 19, 26, 10, "6.68", ""), (4, "poisson", 19, 34, 7, "8.89", "by invman"),
        (1, "geometric", 4, 45, 10, "9.82", ""), (4, "geometric", 4, 50, 6, "10.61", "by invman"),
        (1, "geometric", 9, 55, 14, "14.51", ""),
    ):  # fmt: skip
        settings = {"lead_time": lead, "demand": demand, "penalty": penalty, "max_stock": room, "max_order": order}
        name, source = f"lost sales, {demand}, lead time {lead}, penalty {penalty}", "Zipkin" + f", {read}" * bool(read)
        made, long = _made(make, "lost-sales", **settings), lead > 3 and room > 30
        found.append(Answer(name, "average cost", cost, source, made, {}, -1.0, long=long))
    return found


def _textbooks() -> list[Answer]:
    walk, grid = {"goal": 6}, {"goal": [0, 15], "objective": "steps"}
    jump, two = {"discount": 0.9}, {"discount": 0.95}
    puterman, walked, wandered, jumped = "Puterman, pp. 33-35", *(f"Sutton and Barto, {x}" for x in PLACES)
    return [
        Answer("toymaker", "average reward", "2", "Howard", _made(make, "toymaker"), {}),
        Answer("taxicab", "average reward", "13.34", "Howard", _made(make, "taxicab"), {}),
        Answer("maintenance", "average cost", "0.4338", "Tijms, p. 251", maintenance, {}, -1.0),
        Answer("two states, discount 0.95", "value of s1", "-8.57142857", puterman, two_states, two),
        Answer("two states, discount 0.95", "value of s2", "-20", puterman, two_states, two, 1.0, 1),
        *(
            Answer("random walk", f"value of {name}", f"{k}/6", walked, random_walk, walk, 1.0, k)
            for k, name in enumerate("ABCDE", 1)
        ),
        *(
            Answer("grid 4 x 4, at random", f"steps from {s}", steps, wandered, wandering, grid, 1.0, s)
            for s, steps in ((1, "14"), (5, "18"), (2, "20"), (3, "22"))
        ),
        *(
            Answer("grid 5 x 5, discount 0.9", f"value of {s}", JUMPING[s], jumped, jumping_grid, jump, 1.0, s)
            for s in (0, 1, 2, 3, 4, 20, 24)
        ),
    ]


PLACES = ("example 6.2", "figure 4.1", "figure 3.5")
JUMPING = (  # figure 3.5, row by row
    "22.0", "24.4", "22.0", "19.4", "17.5",
    "19.8", "22.0", "19.8", "17.8", "16.0",
    "17.8", "19.8", "17.8", "16.0", "14.4",
    "16.0", "17.8", "16.0", "14.4", "13.0",
    "14.4", "16.0", "14.4", "13.0", "11.7",
)  # fmt: skip


def _made(function: Callable[..., TabularMDP], *arguments: Any, **settings: Any) -> Callable[[], TabularMDP]:
    return lambda: function(*arguments, **settings)


def maintenance() -> TabularMDP:
    """A machine in conditions 1 (good) to 5 (failed, repaired in two days); it may be repaired earlier, in one."""
    wear = {
        1: {1: 0.9, 2: 0.1},
        2: {2: 0.8, 3: 0.1, 4: 0.05, 5: 0.05},
        3: {3: 0.7, 4: 0.1, 5: 0.2},
        4: {4: 0.5, 5: 0.5},
    }
    goes_on = [(f"{i}", "go on", {f"{j}": p for j, p in law.items()}, 0.0) for i, law in wear.items()]
    early = [(f"{i}", "repair", {"1": 1.0}, cost) for i, cost in ((2, 7.0), (3, 7.0), (4, 5.0))]
    failed = [("5", "repair", {"6": 1.0}, 10.0), ("6", "repair", {"1": 1.0}, 0.0)]
    return TabularMDP.from_costs([*goes_on, *early, *failed], initial="1")


def two_states() -> TabularMDP:
    """Puterman's example of section 3.1."""
    pairs = [(0, 0, {0: 0.5, 1: 0.5}, 5.0), (0, 1, {1: 1.0}, 10.0), (1, 0, {1: 1.0}, -1.0)]
    return TabularMDP.from_pairs(pairs, 2, rescale=True)


def random_walk() -> TabularMDP:
    """Five states between two ends (example 6.2)."""
    inside = [(s, 0, {s - 1: 0.5, s + 1: 0.5}, 0.0) for s in range(1, 6)]
    return TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.0), *inside, (6, 0, {6: 1.0}, 0.0)], 7, initial=3)


def wandering() -> TabularMDP:
    """Example 4.1: every direction with probability 1/4, two corners are the end."""
    pairs = []
    for s in range(16):
        law: dict[int, float] = {}
        for x, _ in _neighbours(s, 4):
            law[x] = law.get(x, 0.0) + 0.25
        pairs.append((s, 0, law, 0.0))
    return TabularMDP.from_pairs(pairs, 16, initial=1)


def jumping_grid() -> TabularMDP:
    """Examples 3.5 and 3.8: two places whence every action jumps, for 10 and for 5; walls cost 1."""
    jumps, pairs = {1: (21, 10.0), 3: (13, 5.0)}, []
    for s in range(25):
        for a, (x, hit) in enumerate(_neighbours(s, 5)):
            to, paid = jumps.get(s, (x, -float(hit)))
            pairs.append((s, a, {to: 1.0}, paid))
    return TabularMDP.from_pairs(pairs, 25, rescale=True)


def _neighbours(s: int, side: int) -> list[tuple[int, bool]]:
    """Where up, down, left and right lead, and whether into a wall."""
    i, j = divmod(s, side)
    steps = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
    return [(k * side + m, False) if 0 <= k < side and 0 <= m < side else (s, True) for k, m in steps]


def measure_exact(folder: Path) -> Table:
    """Solve every problem; seconds, so that nothing is kept in the folder."""
    rows = []
    for answer in answers():
        n_states, value, error = answer.ours()
        rows.append((answer.problem, answer.quantity, answer.source, n_states, value, error))
    return Table(
        dict(zip(("problem", "quantity", "source", "states", "ours", "error"), zip(*rows, strict=True), strict=True))
    )


def exact_tables(table: Table) -> str:
    """Published and ours, row by row, and how many agree."""
    published = {(answer.problem, answer.quantity): answer for answer in answers()}
    rows, apart = table.rows(), []
    for row in rows:
        answer = published[row["problem"], row["quantity"]]
        row["published"] = answer.published
        if abs(row["ours"] - float(answer.exact)) > answer.half_digit + row["error"]:
            apart.append(f"{row['problem']}, {row['quantity']}")
    columns = {
        "problem": [row["problem"] for row in rows],
        "states": [row["states"] for row in rows],
        "quantity": [row["quantity"] for row in rows],
        "published": [row["published"] for row in rows],
        "ours": [number(row["ours"], 12) for row in rows],
        "certified within": [f"{row['error']:.0e}" for row in rows],
        "source": [row["source"] for row in rows],
    }
    verdict = (
        f"{len(rows) - len(apart)} of {len(rows)} agree, to the last digit printed and within the certified error."
    )
    if apart:
        verdict += f" Not: {'; '.join(apart)}."
    return f"{Table(columns).to_markdown()}\n\n{verdict}"


EXACT_YARDSTICK = Yardstick(exact_tables, measure_exact)
