"""``equirl explore``: a page in the browser that shows worlds, their classes, learners at work, and studies.

The server (``explore_server``, guarded by ``access``) hands out the files of ``static`` and opens one socket per page
(``page_link``). It computes nothing itself: each page has processes of its own (``page_processes``), which end with it.
What they do stands at desks: worlds and pairs (``world_desk``), slow facts (``facts_desk``), learners at work
(``learning_desk``) and results folders (``study_desk``). Needs the extra ``explore``.
"""
