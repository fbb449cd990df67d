"""The work queue: which key is worked on next, when, and why."""
