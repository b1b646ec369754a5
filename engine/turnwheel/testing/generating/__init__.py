"""Draws random scenarios, for Hypothesis."""
