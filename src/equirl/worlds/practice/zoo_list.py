"""The list of the zoo, in the order of its subjects; names begin with ``zoo/``."""

from __future__ import annotations

from equirl.worlds.world_registry import World

ALL_OR_NOTHING = {"reward_law": "bernoulli"}
VARYING = {"reward_law": "beta"}
EURO_NOISE = {"reward_law": "beta", "concentration": 2100.0}  # a standard deviation of 60 euros at 600


ZOO: dict[str, World] = {
    # Waiting lines and networks
    "zoo/gate": World("practice.waiting_lines.gate", "", "one server: open or shut the gate"),
    "zoo/router": World("practice.waiting_lines.router", "", "a fast and a slow line: where the next customer goes"),
    "zoo/service-rate": World("practice.waiting_lines.service_rate", "", "one server at four speeds"),
    "zoo/tandem": World("practice.waiting_lines.tandem", "", "two stations in a row: let the first work or rest"),
    "zoo/polling": World("practice.waiting_lines.polling", "", "one server walks between two lines"),
    "zoo/loss-network": World(
        "practice.waiting_lines.loss_network", "", "two links, three kinds of calls: which to take"
    ),
    "zoo/priority": World("practice.waiting_lines.priority", "", "quick customers and dear ones: whom to serve next"),
    "zoo/call-centre": World("practice.waiting_lines.call_centre", "", "impatient callers: how many clerks"),
    "zoo/shared-channel": World("practice.waiting_lines.shared_channel", "", "slotted Aloha: how eagerly to send"),
    # Stock
    "zoo/corner-shop": World("practice.stock.corner_shop", "", "order overnight for a day of Poisson demand"),
    "zoo/slow-supplier": World("practice.stock.slow_supplier", "", "orders arrive two days later"),
    "zoo/milk": World("practice.stock.milk", "", "stock that keeps two days"),
    "zoo/two-products": World("practice.stock.two_products", "", "two products, one van: which shelves to fill"),
    "zoo/workshop": World("practice.stock.workshop", "", "made to order: accept or decline jobs"),
    "zoo/spare-parts": World("practice.stock.spare_parts", "", "spares for a plant that seldom stops, at a great cost"),
    "zoo/season": World("practice.stock.season", "", "seats for a flight: a price every day until it leaves"),
    "zoo/two-depots": World("practice.stock.two_depots", "", "supply one depot, move goods over to the other"),
    # Upkeep and replacement
    "zoo/lamp": World("practice.upkeep.lamp", "", "keep or replace what fails the likelier the older it is"),
    "zoo/gearbox": World("practice.upkeep.gearbox", "", "run, regrease or overhaul by the wear"),
    "zoo/two-parts": World("practice.upkeep.two_parts", "", "two parts: the crew is dear, the second part cheap"),
    "zoo/boiler": World("practice.upkeep.boiler", "", "hot or gently, or clean; a blast is rare and very dear"),
    "zoo/fleet": World("practice.upkeep.fleet", "", "like lorries: how many to repair today"),
    "zoo/pavement": World("practice.upkeep.pavement", "", "a road in five conditions: leave, patch or lay anew"),
    # Nature
    "zoo/forest": World("practice.nature.forest", "", "wait or cut; old wood pays more, fire takes it all"),
    "zoo/fishery": World("practice.nature.fishery", "", "fish that grow back: how many boats"),
    "zoo/epidemic": World("practice.nature.epidemic", "", "nothing, masks or closing, by the number of sick"),
    "zoo/reservoir": World("practice.nature.reservoir", "", "water in wet and dry seasons: how much to release"),
    "zoo/crops": World("practice.nature.crops", "", "wheat, beans, maize or fallow, by soil and last crop"),
    "zoo/pests": World("practice.nature.pests", "", "wait, spray or release predators"),
    # Everyday decisions
    "zoo/battery": World("practice.everyday.battery", "", "buy, sell or wait at four prices"),
    "zoo/lift": World("practice.everyday.lift", "", "five floors: up, down, or let people in"),
    "zoo/thermostat": World("practice.everyday.thermostat", "", "a room that cools down: heat or not"),
    "zoo/parking": World("practice.everyday.parking", "", "park here or drive on to a nearer place"),
    "zoo/job-search": World("practice.everyday.job_search", "", "offers of work: take it or wait"),
    "zoo/treatment": World("practice.everyday.treatment", "", "an illness and the side effects of its drug"),
    "zoo/rides": World("practice.everyday.rides", "", "a driver in a ring of zones: take, wait or drive on"),
    "zoo/advertising": World("practice.everyday.advertising", "", "fame that is bought and forgotten"),
    "zoo/lights": World("practice.everyday.lights", "", "traffic lights: keep the green or change it"),
    # Dice, cards and hands
    "zoo/pig": World("practice.dice_games.pig", "", "roll on or hold"),
    "zoo/seventeen": World(
        "practice.dice_games.seventeen", "", "draw cards up to 21 or stick, against the bank", rewards=ALL_OR_NOTHING
    ),
    "zoo/three-dice": World("practice.dice_games.three_dice", "", "which of three dice to roll again"),
    "zoo/hands": World(
        "practice.dice_games.hands", "", "rock, paper, scissors against a habit", rewards=ALL_OR_NOTHING
    ),
    "zoo/higher-lower": World("practice.dice_games.higher_lower", "", "guess the next card or cash in"),
    # Ways to find
    "zoo/windy": World("practice.mazes.windy", "", "a field with a wind that blows now and then"),
    "zoo/key-and-door": World("practice.mazes.key_and_door", "", "fetch the key, go through the door"),
    "zoo/thin-ice": World("practice.mazes.thin_ice", "", "over ice with holes to the far corner"),
    "zoo/courtyard": World("practice.mazes.courtyard", "", "a maze whose walls are states out of reach"),
    "zoo/warehouse": World("practice.mazes.warehouse", "", "a large hall with shelves here and there"),
    "zoo/combination-lock": World("practice.mazes.combination_lock", "", "eight right buttons in a row"),
    "zoo/deep-sea": World("practice.mazes.deep_sea", "", "treasure where only going right leads"),
    "zoo/tempting-river": World("practice.mazes.tempting_river", "", "a river with an easy reward downstream"),
    "zoo/two-waters": World("practice.mazes.two_waters", "", "a river of calm and rough water in turn"),
    "zoo/tides": World("practice.mazes.tides", "", "islands joined at low tide; the clock is part of the state"),
    # Unusual shapes
    "zoo/copies": World("practice.shapes.copies", "", "twenty actions, all but one of them equal"),
    "zoo/control-panel": World("practice.shapes.control_panel", "", "thirty buttons without a manual"),
    "zoo/crowd": World("practice.shapes.crowd", "", "every decision may lead to any of thirty stalls"),
    "zoo/slot-machines": World(
        "practice.shapes.slot_machines", "", "machines that pay all or nothing, room by room", rewards=ALL_OR_NOTHING
    ),
    "zoo/wells": World("practice.shapes.wells", "", "wells whose yield varies: pump, pump hard, walk", rewards=VARYING),
    "zoo/close-call": World(
        "practice.shapes.close_call", "", "actions that pay nearly the same", rewards=ALL_OR_NOTHING
    ),
    "zoo/islands": World("practice.shapes.islands", "", "a small ferry line and thirty islands out of reach"),
    "zoo/swamp": World("practice.shapes.swamp", "", "tempting berries beside a swamp that is seldom left"),
    "zoo/footbridge": World("practice.shapes.footbridge", "", "a rich bank behind a bridge that is seldom open"),
    "zoo/shifts": World("practice.shapes.shifts", "", "a day of shifts: the best policy is periodic"),
    # Money
    "zoo/press": World(
        "practice.money.press", "", "a printing press in euros: breakdowns and the rare fire", rewards=EURO_NOISE
    ),
    "zoo/haulage": World(
        "practice.money.haulage", "", "vans and bids in euros, and the rare theft", rewards=EURO_NOISE
    ),
    "zoo/greenhouse": World(
        "practice.money.greenhouse", "", "plants in euros: blight and the rare loss of a crop", rewards=EURO_NOISE
    ),
}
