"""The paper's report: its figures, from stored results, and one HTML file that needs nothing else, with every claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields, replace
from html import escape
from itertools import groupby
from pathlib import Path

from equirl.files.whole_files import write_aside, write_csv
from equirl.lab.paper.claims import ENOUGH_RUNS, PROGRAM, UNSTATED, Claim, check_claims
from equirl.lab.paper.html_parts import (
    BAD,
    GOOD,
    OPEN,
    ReportTable,
    Row,
    Section,
    image,
    numbers_table,
    page,
    provisional_banner,
    repeat_section,
    verdict,
    versions,
    work_done,
)
from equirl.lab.paper.paper_study import MapRow, RoomRow, draw_counts, map_rows, room_rows
from equirl.lab.paper.published import (
    CLUSTERING,
    KNOWN_ALL,
    MAPS,
    PROGRAMMED,
    PUBLISHED,
    REGRET,
    UCRL2L,
    PublishedFigure,
    PublishedMap,
    published_regret,
)
from equirl.lab.plots.canvas import save_for_page
from equirl.lab.plots.curve_figures import plot_curves
from equirl.lab.plots.maps import draw_classes
from equirl.lab.studies.summary import SUMMARY_COLUMNS, Group, final_rows
from equirl.simulation import CLUSTERING_CURVES, Curves
from equirl.structure import equivalence_classes
from equirl.words.formatting import number
from equirl.worlds import load_world

TITLE = "Model-based reinforcement learning exploiting state-action equivalence: the experiments, run again"
LEAD = (
    "Every figure and table of the paper, computed anew, next to the published values. "
    "Published values are read off the published curves: two digits at best."
)
ABOUT_MAPS = (
    "Kernel 0.8 / 0.05 / 0.05 / 0.1; exact classes of transition probabilities and rewards, from the definitions."
)
ABOUT_DRAWS = (
    "The two larger maps of the paper are not given; maps with random walls stand in for them, chosen for their number "
    "of pairs. How many random maps have how many classes:"
)
MARKS = {UNSTATED: "*", PROGRAM: "**"}  # of claims whose note stands once, above the table


def write_report(groups: Sequence[Group], figures: Mapping[str, Path], out: Path, command: str) -> Path:
    """Write the report, ``report.html``, and its tables as CSV."""
    claims, maps, rooms = check_claims(groups), map_rows(), room_rows()
    about_claims = claims_section(claims)
    below = '<p class="facts">More on * and ** stands <a href="#reading">below</a>.</p>'
    sections = [
        (about_claims.name, about_claims.title, about_claims.html() + below),
        ("regret", "Regret", _regret_section(groups, figures)),
        ("clustering", "Quality of the estimated classes", _clustering_section(figures)),
        ("classes", "Classes of grid-worlds (appendix F)", _classes_section(maps, rooms, figures)),
        ("reading", "What the published C-UCRL depends on", _reading_section(claims)),
        repeat_section(command),
    ]
    _write_tables(groups, claims, maps, rooms, out / "tables")
    html = page(TITLE, LEAD, facts_of_claims(groups, claims), provisional_claims(groups), sections)
    return write_aside(out / "report.html", html)


def facts_of_claims(groups: Sequence[Group], claims: Sequence[Claim]) -> str:
    """What the report rests on, and how many claims hold."""
    good, open_, bad = (sum(claim.verdict in kinds for claim in claims) for kinds in (GOOD, OPEN, BAD))
    return (
        f"{work_done(groups)}. Claims that hold: {good} of {good + open_ + bad} with a verdict; undecided: {open_}; "
        f"not held up: {bad}. Computed with {versions()}."
    )


def provisional_claims(groups: Sequence[Group]) -> str:
    """What a reader must know first where runs are few; else nothing."""
    otherwise = (
        f"The margins below were stated for {ENOUGH_RUNS} runs; with fewer a verdict may change by chance alone."
    )
    return provisional_banner(groups, ENOUGH_RUNS, otherwise)


def claims_section(claims: Sequence[Claim]) -> Section:
    rows: list[Row] = []
    for subject, own in groupby(claims, key=lambda claim: claim.subject):
        rows.append({"heading": subject})
        for claim in own:
            mark = MARKS.get(claim.note)
            first = {"text": f"{claim.statement} {mark}"} if mark else {"text": claim.statement, "note": claim.note}
            rows.append([first, claim.published, claim.measured, verdict(claim.verdict)])
    about = "Mean ± half its 95 % interval. " + " ".join(f"{mark} {note}" for note, mark in MARKS.items())
    table = ReportTable(("claim", "published", "measured", "verdict"), rows)
    return Section("claims", "The paper’s claims, one by one", about, table)


def _regret_section(groups: Sequence[Group], figures: Mapping[str, Path]) -> str:
    html = (
        "<p>Regret R(T) = T g* &minus; &sum; r<sub>t</sub>, with the rewards received. UCRL2-L knows nothing of "
        "classes; C-UCRL(C,σ) is given classes and profiles, C-UCRL(C) the classes only, C-UCRL nothing: it estimates "
        "both; as published and as programmed are two readings of the paper&rsquo;s own. Open squares are the "
        "published values at T. Worlds are numbered as in the paper&rsquo;s appendix E.</p>"
    )
    for figure in REGRET:
        own = [group for group in groups if group.part == figure.part]
        walls = " Walls are states that nobody reaches, as in the published figure." if figure.part == "grid" else ""
        html += f"<h3>{escape(figure.title)}</h3>"
        if not own:
            html += "<p>No run of this figure is done.</p>"
            continue
        gain = f"Optimal gain g* = {own[0].gain:.6f}, T = {figure.horizon:,}.{walls}"
        left = image(figures, f"regret-{figure.part}", gain)
        right = image(figures, f"regret-{figure.part}-loglog", "The same with both axes logarithmic.")
        html += f'<div class="pair">{left}{right}</div>{_regret_table(own, figure.part)}'
    return html


def _regret_table(groups: Sequence[Group], part: str) -> str:
    published, rows = published_regret(part), []
    for group, values in zip(groups, final_rows(groups), strict=True):
        _, _, learner, runs, _, mean, low, high, *quantiles = values
        known = published.get(group.learner_name)
        interval = f"{number(low)} to {number(high)}" if runs > 1 else ""
        cells = [number(known) if known else "", number(mean), interval, *map(number, quantiles[1:4]), str(runs)]
        rows.append([learner, *cells])
    header = ["at T", "published", "mean", "95 % interval", "lower quartile", "median", "upper quartile", "runs"]
    return numbers_table(header, rows).html()


def _clustering_section(figures: Mapping[str, Path]) -> str:
    text = (
        "<p>The two readings of the published C-UCRL, up to T = 10<sup>6</sup>, against the true classes of transition "
        "probabilities and rewards. The ratio counts the pairs outside the largest true part of their class; the bias "
        "is how far they move the pooled transition probabilities. The bias is shown as the paper defines it, a sum "
        "over pairs; divided by the number of pairs M; and divided by M with transition probabilities pooled state by "
        "state. The claims say which of these is on the scale of the published figure. Open squares are the published "
        "values at T.</p>"
    )
    images = [
        image(figures, "clustering-ratio", "Mis-clustering ratio."),
        image(figures, "clustering-bias", "Mis-clustering bias as defined."),
        image(figures, "clustering-bias-by-pair", "Mis-clustering bias divided by M."),
        image(figures, "clustering-bias-by-state", "Mis-clustering bias, pooled by state, divided by M."),
    ]
    return f'{text}<div class="pair">{"".join(images)}</div>'


def _classes_section(maps: Sequence[MapRow], rooms: Sequence[RoomRow], figures: Mapping[str, Path]) -> str:
    tables = "".join(f"<h3>{part.title}</h3>{part.html()}" for part in class_sections(maps, rooms))
    return tables + "".join(
        image(figures, f"classes-{k}", f"{row.title}: one colour per class, one panel per action.")
        for k, row in enumerate(MAPS, start=1)
    )


def class_sections(maps: Sequence[MapRow], rooms: Sequence[RoomRow]) -> list[Section]:
    """The tables of appendix F, which no run changes; random maps are counted, which takes a few seconds."""
    printed: list[Row] = [
        [
            row.title if row.given else f"{row.title} (stands in)",
            *(row.printed_pairs, f"{row.n_pairs:,}", str(row.printed_classes), str(row.n_classes)),
            verdict(row.verdict),
        ]
        for row in maps
    ]
    found = [[size, ", ".join(f"{n} of them {c}" for c, n in counts.items())] for size, counts in draw_counts()]
    sizes = [[title, *(f"{count:,}" for count in counts)] for title, *counts in map(astuple, rooms)]
    fewest, most = min(row.n_classes for row in rooms), max(row.n_classes_walls for row in rooms)
    about_rooms = (
        "The appendix’s second table counts walls as states in SA and prints C = 3 for four rooms and C = 4 for two. "
        "These counts do not follow from the definitions; those below do. What the table is meant to show stands: C "
        f"stays between {fewest} and {most} however large the map."
    )
    draw_columns = ("maps with random walls", "classes")
    map_columns = ("map", "SA printed", "SA", "C printed", "C", "verdict")
    room_columns = ("rooms", "SA printed", "C printed", "SA", "C", "SA, walls are states", "C, walls are states")
    return [
        Section("maps", "Maps", ABOUT_MAPS, ReportTable(map_columns, printed, [1, 2, 3, 4])),
        Section("draws", "Maps with random walls", ABOUT_DRAWS, ReportTable(draw_columns, found)),
        Section("rooms", "Rooms of growing size", about_rooms, numbers_table(room_columns, sizes)),
    ]


def _reading_section(claims: Sequence[Claim]) -> str:
    turned = [claim.subject for claim in claims if claim.verdict == "turned round"]
    kept = [claim.subject for claim in claims if claim.verdict == "not turned round"]
    outcome = "With nothing known in advance it has "
    outcome += f"less regret than UCRL2-L in {' and in '.join(turned)}, where the paper reports more" if turned else ""
    outcome += "; it has " if turned and kept else ""
    outcome += f"no less regret than UCRL2-L in {' and in '.join(kept)}" if kept else ""
    return (
        "<p>UCRL2-L and C-UCRL(C,σ) follow from the paper. The curve of C-UCRL does not: the program behind it made "
        "choices that the text leaves open. It pooled rewards with the transition probabilities, asked for balance "
        "among the conditions of a neighbour, ordered successors that were never seen by their state number (highest "
        "first), took the first of tied actions, which in its rivers is the good one, and ended episodes by the class "
        "rule alone. <code>c-ucrl-published</code> makes the same choices. Two of them depend on how states and "
        "actions happen to be numbered: renumbering the river changes its regret several-fold.</p>"
        f"<p>{PROGRAMMED_READING}</p>"
        "<p><code>c-ucrl</code>, the default here, keeps only as many positions of a profile as a pair has seen "
        "successors, breaks ties at random, keeps each pair&rsquo;s own mean reward, and ends episodes by pair or "
        f"class. How it behaves does not depend on any numbering. {escape(outcome) + '.' if turned or kept else ''}</p>"
    )


PROGRAMMED_READING = (
    "Two more choices of that program are behind its curves. It took as nearest the neighbour for which the larger of "
    "two lower distances, of transition probabilities and of means, is smallest. Where most rewards are equal that is "
    "the distance of the means, and so the neighbour with the fewest samples, whatever its transition probabilities. "
    "And it ordered tied successors with a quicksort, which beyond 16 states leaves the states never reached in an "
    "order of its own. <code>c-ucrl-published</code> takes the nearest by transition probabilities, as the text says, "
    "and orders by state number; with <code>nearest_by=&quot;law_and_mean&quot;</code> and "
    "<code>ties=&quot;quicksort&quot;</code> it is what is shown as programmed. The claims say how near each of the "
    "two is to the published curves. The published mis-clustering bias, finally, pools transition probabilities state "
    "by state, not by position of the profile, and divides by M; the fourth figure of the clusters is on that scale."
)


def _write_tables(
    groups: Sequence[Group], claims: Sequence[Claim], maps: Sequence[MapRow], rooms: Sequence[RoomRow], folder: Path
) -> None:
    for name, rows in (("claims", claims), ("classes-of-maps", maps), ("classes-of-rooms", rooms)):
        write_csv(folder / f"{name}.csv", [field.name for field in fields(rows[0])], map(astuple, rows))
    write_csv(folder / "regret.csv", SUMMARY_COLUMNS, final_rows(groups))
    for measure in CLUSTERING_CURVES:
        write_csv(folder / f"{measure}.csv", SUMMARY_COLUMNS, final_rows(groups, measure))


def draw_paper(groups: Sequence[Group], folder: Path) -> dict[str, Path]:
    """Draw and save every figure, as PDF, SVG and PNG."""
    shown: dict[str, Path] = {}
    for figure in REGRET:
        bundle = [group for group in groups if group.part == figure.part]
        if bundle:
            shown |= _draw_regret(bundle, figure, folder)
    measured = [group for group in groups if group.part in {world.part for world in CLUSTERING}]
    if measured:
        shown |= _draw_clustering(measured, folder)
    return shown | draw_maps(folder)


def _draw_regret(groups: Sequence[Group], figure: PublishedFigure, folder: Path) -> dict[str, Path]:
    points = {UCRL2L: figure.ucrl2l, PUBLISHED: figure.c_ucrl, KNOWN_ALL: figure.known_all}
    linear = plot_curves(groups, title=figure.title, spread="bars", points=points)
    log = plot_curves(groups, title=f"{figure.title}, both axes logarithmic", log=True)
    name = f"regret-{figure.part}"
    return {
        name: save_for_page(linear, folder / name),
        f"{name}-loglog": save_for_page(log, folder / f"{name}-loglog"),
    }


def _draw_clustering(groups: Sequence[Group], folder: Path) -> dict[str, Path]:
    """The two clustering figures; the bias as defined, by pair, and by pair and state."""
    sizes = {world.part: world.n_states for world in CLUSTERING}
    labels = [_clustering_label(sizes[group.part], group.learner) for group in groups]
    ratios = {_clustering_label(world.n_states, PROGRAMMED): world.ratio_last for world in CLUSTERING}
    biases = {_clustering_label(world.n_states, PROGRAMMED): world.bias_last for world in CLUSTERING}
    scaled = [_scaled(group, 2 * sizes[group.part]) for group in groups]
    wanted = {
        "clustering-ratio": (groups, "misclustering_ratio", "Mis-clustering ratio", ratios),
        "clustering-bias": (groups, "misclustering_bias", "Mis-clustering bias", biases),
        "clustering-bias-by-pair": (scaled, "misclustering_bias", "Mis-clustering bias / M", biases),
        "clustering-bias-by-state": (scaled, "misclustering_bias_by_state", "Bias by state / M", biases),
    }
    return {
        name: save_for_page(plot_curves(shown, measure, title=title, labels=labels, points=points), folder / name)
        for name, (shown, measure, title, points) in wanted.items()
    }


def _clustering_label(n_states: int, learner: str) -> str:
    return f"{n_states} states, {learner.partition('(')[2].rstrip(')') or learner}"


def _scaled(group: Group, n_pairs: int) -> Group:
    curves = group.curves
    values = {name: rows / n_pairs if "bias" in name else rows for name, rows in curves.values.items()}
    return replace(group, curves=Curves(curves.t, values))


def draw_maps(folder: Path, maps: Sequence[PublishedMap] = MAPS) -> dict[str, Path]:
    """Draw and save the maps of appendix F with one colour per class."""
    shown = {}
    for k, row in enumerate(maps, start=1):
        mdp = load_world(row.world)
        name = f"classes-{k}"
        figure = draw_classes(mdp, equivalence_classes(mdp), row.title)
        shown[name] = save_for_page(figure, folder / name, kind="png")
    return shown
