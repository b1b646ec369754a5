"""Pictures for notebooks: of a table, a dialect (its loop), and a recording (its run, drawn on the loop).

The engine's classes find these functions by the entry points of this distribution (turnwheel.showing).
"""

from __future__ import annotations

from functools import singledispatch
from html import escape

from turnwheel.counting import Counts
from turnwheel.explaining import row_of
from turnwheel.recorded import Recording
from turnwheel.rules import Dialect, State, Table
from turnwheel.table import DIALECTS, dialect
from turnwheel_diagrams.comparing import decisions_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import Graph, graph_of
from turnwheel_diagrams.overlays import counted, place_of
from turnwheel_diagrams.render import has_graphviz, rendered


def svg(thing: object) -> str | None:
    """Return the picture of a thing; None where there is no Graphviz, or nothing of the kind to draw."""
    graph = graph_for(thing)
    if graph is None or not has_graphviz():
        return None
    text = rendered(to_dot(graph), "svg").decode()
    # Within a page of HTML, what comes before the element itself is out of place.
    return text[text.index("<svg") :]


def html(thing: object) -> str | None:
    """Return a recording's picture with why the run stopped below it; None for anything else, or where svg has none."""
    if not isinstance(thing, Recording) or (picture := svg(thing)) is None:
        return None
    return f"<figure>{picture}<figcaption>{escape(_ended(thing))}</figcaption></figure>"


@singledispatch
def graph_for(thing: object) -> Graph | None:
    """Return the graph of a table, a dialect or a recording; None for anything else."""
    return None


@graph_for.register
def _(thing: Table) -> Graph:
    name = next((name for name in DIALECTS if any(table is thing for table in dialect(name).tables)), "")
    return graph_of(thing, name)


@graph_for.register
def _(thing: Dialect) -> Graph:
    return graph_of(thing.loop, thing.name)


@graph_for.register
def _(thing: Recording) -> Graph:
    language = dialect(thing.header.dialect)
    place = place_of(thing, language, "loop")
    return counted(language.loop, language.name, Counts.of(thing), place=place)


def _ended(recording: Recording) -> str:
    """Say in a sentence how a run ended."""
    end = recording.ended
    if end is not None and end.failure is not None:
        return f"failed: {end.failure}"
    language = dialect(recording.header.dialect)
    last = [decision for decision in decisions_of(recording) if decision.machine == "loop"][-1:]
    for decision in last:
        _, rule = row_of(language, decision.machine, decision.rule)
        if end is not None and rule.dest is State.Done:
            return f"stopped: {rule.why}"
    return "the recording breaks off before the end of the run"
