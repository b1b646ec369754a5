"""Trees of text: drawn with lines for a terminal, or as nested lists in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, final

from attrs import define, field

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&])")


@final
@define
class Node:
    """A line of text, and what belongs below it."""

    text: str
    below: list[Node] = field(factory=list)

    def add(self, text: str) -> Node:
        """Put a line below this one, and return it."""
        self.below.append(node := Node(text))
        return node


def drawn(node: Node) -> Iterator[str]:
    """Yield the lines of a tree for a terminal."""
    yield node.text
    yield from _branches(node, "")


def _branches(node: Node, indent: str) -> Iterator[str]:
    for number, child in enumerate(node.below, 1):
        last = number == len(node.below)
        yield f"{indent}{'└─' if last else '├─'} {child.text}"
        yield from _branches(child, f"{indent}{'   ' if last else '│  '}")


def as_list(node: Node, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a tree as a nested Markdown list; what its texts hold of Markdown is shown as it is."""
    yield "  " * depth + "- " + _SPECIAL.sub(r"\\\1", node.text)
    for child in node.below:
        yield from as_list(child, depth + 1)
