"""The reproduction of the paper's experiments. Of its files only ``html_parts`` is used elsewhere, by the leaderboard.

``paper_study`` (its runs, from ``paper.toml``, and the class tables of appendix F), ``published`` (the values of the
paper), ``claims`` (each claim against what was measured), ``figures``, and ``report`` with ``html_parts`` (one HTML
page). ``published_learner`` and ``quicksort`` hold C-UCRL as published and as programmed. The command ``equirl paper``
runs it all.
"""
