"""Commands about logs of transitions: ``learn``, and what ``classes`` does with one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equirl.lab.cli.console import AsJson, check_files, console, print_facts, print_json, print_some, say
from equirl.lab.cli.shell_completion import complete_learners, complete_log
from equirl.words.formatting import number

if TYPE_CHECKING:
    from equirl.logs.log import Log
    from equirl.logs.log_policy import Learned
    from equirl.logs.safe_improvement import SafePolicy
    from equirl.words.tables import Table

Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="Of a log: what a column is called, such as state=s; may be repeated."),
]
DIGITS = 6


def learn(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="A CSV or Parquet file: state, action, reward, next_state.",
            show_default=False,
            autocompletion=complete_log,
        ),
    ],
    column: Column = None,
    actions: Annotated[
        str, typer.Option(help="Which actions states allow: seen (those seen in them) or all (all everywhere).")
    ] = "seen",
    reward_range: Annotated[
        tuple[float, float] | None,
        typer.Option("--reward-range", metavar="LOW HIGH", help="The least and largest reward there can be."),
    ] = None,
    costs: Annotated[bool, typer.Option("--costs", help="The column of rewards holds costs.")] = False,
    restart: Annotated[
        str | None, typer.Option(help="Where episodes begin after a terminated row. [default: where the next row is]")
    ] = None,
    discount: Annotated[
        float | None,
        typer.Option(help="In (0, 1): discounted values in place of the gain.", show_default=False),
    ] = None,
    caution: Annotated[
        float,
        typer.Option(help="Choose by the lower end of this part of the draws in place of their mean.", min=0, max=1),
    ] = 0.0,
    draws: Annotated[int, typer.Option(help="Problems drawn from the posterior.", min=1)] = 50,
    steps: Annotated[
        int, typer.Option(help="Say which decisions are open, and what so many more steps go to; 0: not.", min=0)
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0)] = 0,
    safe: Annotated[
        float | None,
        typer.Option(help="Such as 0.95: better than what is in the log with this confidence, or as in the log."),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the whole policy to this file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the learner that goes on from the log (.npz).")] = None,
    agent: Annotated[str, typer.Option(help="The learner to save.", autocompletion=complete_learners)] = "c-psrl",
    as_json: AsJson = False,
) -> None:
    """The best policy that a log of transitions supports, how sure it is, and what the log cannot say."""
    from equirl.lab.studies.rehearsals import LEARNING, prepared
    from equirl.logs.log import from_log

    check_files(None, csv, save)
    with prepared(LEARNING):
        counts = from_log(
            log, columns=named_columns(column), actions=actions, reward_range=reward_range, costs=costs, restart=restart
        )
    asked: dict[str, Any] = {"draws": draws, "caution": caution, "discount": discount, "seed": seed}
    if safe is not None:
        with prepared(LEARNING):
            sure = counts.learn(**asked, safe=safe)
        policy = _show_safe(str(log), sure, as_json)
    else:
        more = None
        with prepared(LEARNING):
            found = counts.learn(**asked)
            if steps:
                more = counts.next_steps(steps, policy=found.policy, discount=discount, draws=draws, seed=seed)
        policy = found.table()
        if as_json:
            print_json(_as_json(str(log), found, policy, more))
        else:
            _print(str(log), found, policy, more, steps)
    if csv is not None:
        say(f"policy written to {policy.to_csv(csv)}", err=True)
    if save is not None:
        aim: dict[str, Any] = {} if discount is None else {"discount": discount}
        counts.agent(agent, seed, **aim).save(save)
        say(f"learner written to {save}", err=True)


def _show_safe(name: str, found: SafePolicy, as_json: bool) -> Table:
    """Print a policy that is better than the one in use, or that one."""
    policy, log = found.table(), found.log
    if as_json:
        print_json({
            "log": name, "n_steps": log.n_steps, "is_better": found.is_better, "confidence": found.confidence,
            "gain": found.gain, "behaviour": found.behaviour, "least_improvement": found.least_improvement,
            "discount": found.discount, "policy": policy.rows(), "limitations": log.limitations(),
        })  # fmt: skip
    else:
        said = "better" if found.is_better else "nothing is better for sure: go on as in the log"
        print_facts(name, {
            **log_facts(log),
            f"with confidence {found.confidence:g}": said,
            "the policy earns": number(found.gain, DIGITS),
            "going on as in the log": number(found.behaviour, DIGITS),
            "more by at least": number(found.least_improvement, DIGITS),
        })  # fmt: skip
        print_some(policy, "Policy", "--csv FILE or --json has all")
        print_limitations(log)
    return policy


def named_columns(column: list[str] | None) -> dict[str, str]:
    columns = {}
    for text in column or []:
        role, equals, name = text.partition("=")
        if not equals:
            raise ValueError(f"--column takes role=name, such as state=s, not {text!r}")
        columns[role.strip()] = name.strip()
    return columns


def log_facts(log: Log) -> dict[str, str]:
    low, high = log.reward_map[1], sum(log.reward_map)
    return {
        "steps": f"{log.n_steps:,}",
        "states": f"{log.pairs.n_states:,}",
        "pairs": f"{log.pairs.n_pairs:,}, {int((log.seen.visits > 0).sum()):,} of them seen",
        "rewards in": f"[{low:g}, {high:g}], {number(log.mean_reward, DIGITS)} a step in the log",
    }


def print_limitations(log: Log) -> None:
    """What the log cannot say, a line each."""
    if said := log.limitations():
        console().print("What the log cannot say", style="bold")
        for sentence in said:
            console().print(f"- {sentence}", soft_wrap=True)


def _print(name: str, found: Learned, policy: Table, more: Table | None, steps: int) -> None:
    (low, high), (least, most), log = found.interval, found.bounds, found.log
    (poor, rich), step = found.behaviour_interval, " a step" if found.discount is None else ""
    earned = "the policy earns" if found.discount is None else f"the policy is worth, discount {found.discount:g}"
    print_facts(name, {
        **log_facts(log),
        earned: f"{number(found.gain, DIGITS)}{step} in the estimated problem",
        "over the draws": f"{number(low, DIGITS)} to {number(high, DIGITS)} in nine of ten",
        "going on as in the log": f"{number(found.behaviour, DIGITS)}{step}, {number(poor, DIGITS)} to "
        f"{number(rich, DIGITS)} in nine of ten",
        "certified": f"{number(least, DIGITS)} to {number(most, DIGITS)} with probability 0.95" if found.is_certified
        else f"nothing: {found.why_uncertified()}",
        "a better policy": f"would earn {number(found.regret, 3)} more{step}, on average over the draws",
    })  # fmt: skip
    print_some(policy, "Policy", "--csv FILE or --json has all")
    if more is not None:
        _print_open_decisions(more, steps)
    print_limitations(log)


def _print_open_decisions(more: Table, steps: int) -> None:
    title = f"Decisions still open, and where the next {steps:,} steps are best spent"
    if len(more):
        print_some(more, title, "--json has all")
    else:
        console().print(title, style="bold")
        console().print(f"- {more.when_empty}", soft_wrap=True)


def _as_json(name: str, found: Learned, policy: Table, more: Table | None) -> dict[str, Any]:
    log = found.log
    return {
        "log": name, "n_steps": log.n_steps, "n_states": log.pairs.n_states, "n_pairs": log.pairs.n_pairs,
        "reward_range": [log.reward_map[1], sum(log.reward_map)], "mean_reward": log.mean_reward, "gain": found.gain,
        "interval": list(found.interval), "behaviour": found.behaviour,
        "behaviour_interval": list(found.behaviour_interval), "bounds": list(found.bounds), "regret": found.regret,
        "discount": found.discount,
        "policy": policy.rows(), "next_steps": None if more is None else more.rows(), "limitations": log.limitations(),
    }  # fmt: skip
