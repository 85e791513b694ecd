"""The leaderboard: every learner in many worlds, renumbered at random, on one page.

``leaderboard_study`` (its runs, from ``leaderboard.toml``), ``entrants`` (what each learner is given and where it
comes from), ``standings`` (regret, rank, lock-in and ratios, world by world), ``expectations`` (what should hold, and
whether it does; which learner to take when) and ``board_page`` (figures, the page, and its tables as CSV and Markdown).
The command ``equirl leaderboard`` runs it all.
"""
