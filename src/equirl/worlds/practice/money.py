"""Firms in euros: earnings with noise of about 60 a step, and rare costs of thousands.

Rewards are mapped to [0, 1] from ``EUROS``, which is wider than the means. As listed in ``zoo_list`` they are Beta of
concentration k = 2,100, with a standard deviation of sqrt(m (1 - m) / (k + 1)) of that range at mean m: 60 at 600
euros, 36 at 1,150, and up to 104 at a cost of 3,250.
"""

from __future__ import annotations

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.rules import Distribution, Effects, StateTuple, mdp_from_start, mixed, one_event

EUROS = (-8000.0, 1500.0)  # a step


def press(levels: int = 9, fire: float = 0.003) -> TabularMDP:
    """A printing press: slow, normal or fast, or a service; breakdowns cost 3,000, the rare fire 6,500."""
    levels, fire = whole_number("levels", levels, least=2), between("fire", fire)
    stopped, burnt = (levels + 1,), (levels + 2,)
    speeds = {"slow": (0.1, 0.3, 420.0), "normal": (0.35, 1.0, 640.0), "fast": (0.8, 4.0, 900.0)}

    def rule(state: StateTuple) -> Effects:
        (wear,) = state
        if state == stopped:
            return {"repair": ({(0,): 1.0}, -3000.0)}
        if state == burnt:
            return {"rebuild": ({(0,): 1.0}, -6500.0)}
        choices = {}
        for name, (wears, strain, earns) in speeds.items():
            breaks = 0.004 * strain * wear**1.5 / 4
            events = [((min(wear + 1, levels),), wears), (stopped, breaks), (burnt, fire * strain * (wear > 3))]
            choices[name] = (one_event(state, events), earns - 25.0 * wear)
        if wear:
            choices["service"] = (mixed([((0,), 0.9), ((wear // 2,), 0.1)]), -600.0)
        return choices

    return mdp_from_start(rule, (0,), reward_range=EUROS)


def haulage(vans: int = 4) -> TabularMDP:
    """Vans and two tempers of the market: bid low, fair or high, lease or give back a van; theft costs 5,000."""
    vans = whole_number("vans", vans, least=2)
    robbed = 2  # in place of the market
    bids = {"low": (0.0, 210.0), "fair": (0.1, 260.0), "high": (0.35, 330.0)}

    def rule(state: StateTuple) -> Effects:
        n, market = state
        if market == robbed:
            return {"replace": (mixed([((n, 0), 0.5), ((n, 1), 0.5)]), -5000.0)}
        moods = [(market, 0.85), (1 - market, 0.15)]
        work = n if market else min(n, 2)
        choices = {}
        for name, (lost, pays) in bids.items():
            turned = lost * (1.5 if not market else 0.6)
            stolen = 0.002 * n * (1 + (name == "low"))
            distribution = mixed([*(((n, mood), p * (1 - stolen)) for mood, p in moods), ((n, robbed), stolen)])
            choices[name] = (distribution, 150 + pays * work * (1 - turned) - 90.0 * n)
        if n < vans:
            choices["lease"] = (mixed(((n + 1, mood), p) for mood, p in moods), -300.0)
        if n > 1:
            choices["give back"] = (mixed(((n - 1, mood), p) for mood, p in moods), 250.0)
        return choices

    return mdp_from_start(rule, (1, 1), reward_range=EUROS)


def greenhouse(stages: int = 5) -> TabularMDP:
    """Plants by growth and blight: water, spray, harvest or sow anew; the rare loss of a crop costs 4,000."""
    stages = whole_number("stages", stages, least=2)
    lost = (0, 2)  # a dead crop

    def rule(state: StateTuple) -> Effects:
        growth, blight = state
        if state == lost:
            return {"clear": ({(0, 0): 1.0}, -4000.0)}
        grown = min(growth + 1, stages)
        dies, heals = (0.015, 0.05) if blight else (0.0, 0.92)
        spreads = mixed([((grown, 1), 1 - dies - heals), ((grown, 0), heals), (lost, dies)])
        choices: dict[str, tuple[Distribution, float]] = {
            "water": (spreads, 330.0 + 30 * growth),
            "spray": (mixed([((grown, 0), 0.85), ((grown, blight), 0.15)]), 180.0 + 30 * growth),
            "sow": ({(0, 0): 1.0}, -100.0),
        }
        if growth > 1:
            choices["harvest"] = ({(0, 0): 1.0}, 1400 * (growth / stages) ** 1.3 * (0.6 if blight else 1.0))
        return choices

    return mdp_from_start(rule, (0, 0), reward_range=EUROS)
