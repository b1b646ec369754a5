"""Walks every run of a dialect in a finite world, and tries claims about them."""
