"""Hypothesis profiles: `quick` gives the same examples every time, `soak` many new ones from a seed that is printed."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("quick", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("soak", max_examples=3000, deadline=None, print_blob=True)
settings.load_profile("quick")
