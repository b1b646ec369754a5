"""Monitors: promises that a run keeps, watched in a test, on a live agent and in a log."""
