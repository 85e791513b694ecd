"""The laboratory: studies of many runs, figures, reports, benchmarks, the page in the browser and the commands.

It uses only what the folders of the science export.
"""
