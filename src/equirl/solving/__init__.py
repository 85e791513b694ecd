"""Known MDPs: what kind of chain they are, what policies earn in them, and what is optimal, with a certificate.

- :mod:`~equirl.solving.optimal_gain`: ``solve`` (average reward, or with a ``discount``), ``Solution``,
  ``certified_gain`` to measure regret against; :mod:`~equirl.solving.discounted`: ``DiscountedSolution``.
- :mod:`~equirl.solving.policies`: ``evaluate_policy``, ``policy_gain``, ``stationary_law``, ``policy_kind``.
- :mod:`~equirl.solving.chains`: ``chain_kind``; :mod:`~equirl.solving.diameter`: ``diameter``.

In reading order. Tools: ``bellman`` (one sweep), ``chains`` and ``end_components`` (graphs), ``approach`` (policies
that head for some states), ``factorization`` (sparse LU and its cost), ``gth_elimination`` (without subtraction),
``renewal`` (a chain solved), ``policies``. Methods: ``value_iteration``, ``policy_iteration``,
``elimination_policy_iteration``, and ``gain_methods``, which chooses among them. Answers: ``multichain``,
``discounted``, ``optimal_gain``, ``diameter``; ``criterion`` is what learners and simulation ask.
"""
