"""To and from other libraries: Gymnasium both ways, QuantEcon, the MDP toolboxes.

:mod:`equirl.interop.gym` makes environments of MDPs and MDPs of environments that have a transition table (read by
:mod:`equirl.interop.gym_tables`); :mod:`equirl.interop.convert` speaks to the other libraries.
"""
