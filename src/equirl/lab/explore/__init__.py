"""``equirl explore``: a page in the browser that shows worlds, their classes, learners at work, and studies.

The server (``explore_server``, guarded by ``access``) sends the files of ``static`` and opens one socket per page
(``page_link``). It computes nothing itself: each page has processes of its own (``page_processes``), which end with it,
and each runs one service: worlds and slow facts about them (``world_service``), learners at work
(``learning_service``) or results folders (``study_service``). Needs the extra ``explore``.
"""
