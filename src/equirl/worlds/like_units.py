"""Like units with one server: a supplier who reaches one site a day, a crew that repairs one machine a day.

Units are alike, so that pairs are alike in which the same things happen to other units.
"""

from __future__ import annotations

from itertools import product

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.inventories import poisson_demand
from equirl.worlds.rules import Effects, StateTuple, check_size, joint_distribution, mdp_from_rules

NONE = "none"  # of the units is served
MOST = 1e6  # of a price or a cost


def sites(
    n_sites: int = 3,
    capacity: int = 4,
    load: int = 3,
    mean: float = 1.0,
    price: float = 4.0,
    holding: float = 0.5,
    trip: float = 2.0,
) -> TabularMDP:
    """Several like sites with one supplier, who brings up to ``load`` units to one of them each morning.

    A state is the stock of each site, named "4,4,4"; the first has full sites. An action names the site that is
    supplied, from "1" on, or "none". What does not fit into a site goes back. By day each site has Poisson demand of
    its own, lost where the stock is out. A unit sold pays ``price``, one kept overnight costs ``holding`` and a drive
    ``trip``.

    What follows depends on the stocks after the supply, not on which site has which of them, nor on where they came
    from: as many classes of transition probabilities as there are such stocks up to their order.

    No published value at hand.

    Parameters
    ----------
    n_sites : int, default 3
        How many sites.
    capacity : int, default 4
        The most that a site can hold.
    load : int, default 3
        The most that is brought to a site in a day.
    mean : float, default 1
        Mean demand a day and site.
    price : float, default 4
        What a unit sold pays.
    holding : float, default 0.5
        What a unit kept overnight costs.
    trip : float, default 2
        What a drive to a site costs.
    """
    n_sites, full = whole_number("n_sites", n_sites), whole_number("capacity", capacity)
    load = whole_number("load", load)
    check_size((full + 1) ** n_sites, "n_sites or capacity")
    demand = poisson_demand(mean, full)
    price, holding = between("price", price, 0, MOST), between("holding", holding, 0, MOST)
    trip = between("trip", trip, 0, MOST)
    evening = [{stock - sold: p for sold, p in enumerate(demand.sales(stock))} for stock in range(full + 1)]
    earned = [
        sum(p * (price * (stock - left) - holding * left) for left, p in evening[stock].items())
        for stock in range(full + 1)
    ]

    def rule(state: StateTuple) -> Effects:
        choices = {}
        for served in range(n_sites + 1):
            morning = [min(full, stock + load) if k == served else stock for k, stock in enumerate(state, 1)]
            pay = sum(sorted(earned[stock] for stock in morning)) - trip * (served > 0)
            choices[_unit(served)] = (joint_distribution([evening[stock] for stock in morning]), pay)
        return choices

    states = product(range(full + 1), repeat=n_sites)
    return mdp_from_rules(states, [_unit(k) for k in range(n_sites + 1)], rule, (full,) * n_sites)


def machines(
    n_machines: int = 3,
    n_wear: int = 4,
    wear: float = 0.15,
    earning: float = 1.0,
    repair_cost: float = 0.5,
) -> TabularMDP:
    """Like machines with one repair crew, which makes one of them as new each day.

    A state is the wear of each machine, from 0 (new) to ``n_wear`` (broken), named "0,0,0"; the first has new ones.
    An action names the machine that is repaired, from "1" on, or "none". A machine under repair earns nothing that day
    and is new on the next; another one earns ``earning`` times 1 - wear / n_wear and wears by one level with
    probability ``wear``.

    A machine that runs stays as it is or wears, with the same probabilities at every level; a broken one, or one under
    repair, has a certain future. So the transition probabilities have ``n_machines + 1`` classes, by how many machines
    run, for (n_machines + 1) (n_wear + 1)^n_machines pairs. Rewards tell the levels apart.

    No published value at hand.

    Parameters
    ----------
    n_machines : int, default 3
        How many machines.
    n_wear : int, default 4
        Levels of wear from new to broken.
    wear : float, default 0.15
        Probability that a machine that runs wears by one level in a day.
    earning : float, default 1
        What a new machine earns in a day.
    repair_cost : float, default 0.5
        What a repair costs.
    """
    n_machines, broken = whole_number("n_machines", n_machines), whole_number("n_wear", n_wear)
    check_size((broken + 1) ** n_machines, "n_machines or n_wear")
    wear, earning = between("wear", wear), between("earning", earning, 0, MOST)
    repair_cost = between("repair_cost", repair_cost, 0, MOST)
    tomorrow = [{level: 1 - wear, level + 1: wear} for level in range(broken)] + [{broken: 1.0}]

    def rule(state: StateTuple) -> Effects:
        choices = {}
        for served in range(n_machines + 1):
            parts = [{0: 1.0} if k == served else tomorrow[level] for k, level in enumerate(state, 1)]
            left = sum(broken - level for k, level in enumerate(state, 1) if k != served)
            choices[_unit(served)] = (joint_distribution(parts), earning * left / broken - repair_cost * (served > 0))
        return choices

    states = product(range(broken + 1), repeat=n_machines)
    return mdp_from_rules(states, [_unit(k) for k in range(n_machines + 1)], rule, (0,) * n_machines)


def _unit(served: int) -> str:
    return str(served) if served else NONE
