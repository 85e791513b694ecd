"""The zoo: problems of the kinds that people bring, by subject.

``waiting_lines``, ``stock``, ``upkeep``, ``nature``, ``everyday``, ``dice_games``, ``mazes``, ``shapes`` (what is hard
by its form alone) and ``money`` (noisy euros). ``zoo_list`` lists them; :func:`equirl.make` makes them by name, as
``zoo/gate``.
"""
