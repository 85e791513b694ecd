"""The reproduction of the paper's experiments. The leaderboard uses ``html_parts``, and ``explore`` shows the claims.

``paper_study`` (its runs, from ``paper.toml``, and the class tables of appendix F), ``published`` (the values of the
paper), ``claims`` (each claim against what was measured), and ``report`` with ``html_parts`` (figures and one HTML
page). The command ``equirl paper`` runs it all.
"""
