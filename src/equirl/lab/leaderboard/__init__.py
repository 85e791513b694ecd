"""The leaderboard: learners in many worlds, renumbered at random, on one page for each suite of worlds.

``leaderboard_study`` (the runs of a suite, from ``leaderboard.toml``, ``zoo.toml`` or ``colosseum.toml``, and what each
learner is given), ``standings`` (regret, rank, lock-in and ratios, world by world), ``base_comparison`` (what looking
for classes brings, its tails, where it hurts), ``expectations`` (what should hold, and whether it does; which learner
to take when), ``published_suite`` (what is published of Colosseum's) and ``board_page`` (figures, the page, and its
tables as CSV and Markdown). The command ``equirl leaderboard`` runs it all.
"""
