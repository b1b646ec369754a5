"""Draws the machine and its runs from the table."""
