"""Yardsticks that others made: published numbers with ours beside them, on one page.

``yardstick`` (what a yardstick is: tables of the page from stored results, and how these are measured), one file for
each yardstick with its words (NAME.md) and results (NAME.csv) beside it, and ``yardstick_page`` (their list and the
page). The command ``equirl yardsticks`` writes the page, docs/yardsticks.md, from what is stored.
"""
