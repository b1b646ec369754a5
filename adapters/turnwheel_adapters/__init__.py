"""Connects the engine to the world: model providers, and the commands."""
