"""Ready problems by name and parameters: rivers, grid-worlds, queues, inventories, machines, textbooks, random MDPs.

``world_registry`` lists and makes them (:func:`equirl.make`, :func:`equirl.load_world`), one module per family defines
them. A new world is a function with defaults and one row of ``WORLDS``. The folder ``practice`` is the zoo, small
problems of the kinds that people bring, with a list of its own; ``colosseum`` has the families of that benchmark.
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.worlds.colosseum import COLOSSEUM as COLOSSEUM
    from equirl.worlds.grids import KERNELS as KERNELS
    from equirl.worlds.practice.zoo_list import ZOO as ZOO
    from equirl.worlds.world_registry import (
        COMMON as COMMON,
        WORLDS as WORLDS,
        World as World,
        find_world as find_world,
        load_world as load_world,
        make as make,
        parse_world as parse_world,
    )
else:
    EXPORTS = {
        "colosseum": "COLOSSEUM",
        "grids": "KERNELS",
        "practice.zoo_list": "ZOO",
        "world_registry": "COMMON WORLDS World find_world load_world make parse_world",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
