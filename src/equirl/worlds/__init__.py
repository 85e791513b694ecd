"""Ready problems by name and parameters: rivers, grid-worlds, queues, inventories, machines, textbooks, random MDPs.

:mod:`equirl.worlds.world_list` lists them, :mod:`equirl.worlds.world_registry` makes them (:func:`equirl.make`,
:func:`equirl.load_world`), and one module per family defines them. A new world is a function with defaults and one row
of ``WORLDS``.
"""
