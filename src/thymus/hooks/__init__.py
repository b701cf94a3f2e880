"""Hooks of Claude Code: what the user typed and what tools returned, seen where no model can word it.

``client`` is what the host runs on each event: standard library only. It lays the event down in the ``spool`` and asks
the ``resident``, one small process that holds the open memory, so that an event costs no start of a guard. ``payloads``
says what an event means, ``pastes`` which of a prompt's words are the user's, ``listening`` learns and recalls,
in the ``memories`` that are open and with what ``sessions`` knows of what entered each.

``places``, ``wire``, ``spool`` and ``client`` are started on every event: they import nothing but the standard library,
and of that only what starts fast.
"""
