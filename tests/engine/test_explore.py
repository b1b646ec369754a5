"""The explorer: it walks every run of a small world, sees what is broken, and its findings play as scenarios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwheel.check import build
from turnwheel.control import CallControl, Control
from turnwheel.driver import Driver
from turnwheel.errors import Misuse
from turnwheel.events import ToolExecutionEnd
from turnwheel.machine import WAITING, Machine
from turnwheel.messages import Json
from turnwheel.rules import Ask, Decision, Dialect, Rule, State, Table
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing.exploring.claims import Claim, parse_claim
from turnwheel.testing.exploring.explore import GOES_ROUND, Finding, Report, explore
from turnwheel.testing.exploring.graph import NOTHING_OUTSTANDING, Graph, Path
from turnwheel.testing.exploring.standing import Moment
from turnwheel.testing.exploring.walk import Unplayable, as_scenario, in_words, walk
from turnwheel.testing.exploring.ways import Bounds, Budget, Way
from turnwheel.testing.exploring.world import kind_of
from turnwheel.testing.play import ScenarioHost
from turnwheel.testing.scenario import read_scenario
from turnwheel.tool import Tool

TINY = Bounds(1, 0, 0)
SMALL = Bounds(2, 1, 1)
PAIRS = Bounds(2, 2, 1)
LATER = "pi-0.85.1"

every_dialect = pytest.mark.parametrize("name", DIALECTS)


LATE_FAILURE = "failed and calls"
UNTOUCHED = "aborted and asks(ExecuteTool)"
OVERTAKEN = "the second call overtakes the first"
TWO_HOOKS = "finalizing == 2"
BREAKABLE = (
    "aborted and emits(tool_execution_end)",
    "state == Done and chain",
    "asks(PollFollowUp) and aborted",
    "executing == 2 and aborted",
    'failed and fired("Streaming failed")',
    'fired("Announced before aborted")',
    'fired("Announced before !aborted blocked")',
    'fired("Executing call_failed")',
    "terminating > 1 and emits(turn_end)",
    "shown and aborted",
    LATE_FAILURE,
)
"""What happens in every dialect, now and then."""


@cache
def explored(name: str, bounds: Bounds = SMALL) -> Report:
    """Return what exploring a dialect finds; the larger world serves several tests."""
    claims = [parse_claim(text, "never", dialect(name)) for text in (*BREAKABLE, UNTOUCHED, TWO_HOOKS)]
    both = Claim("both at once", "never", lambda moment: moment.control.executing == 2 and len(moment.effects) == 1)
    overtaken = Claim(OVERTAKEN, "never", overtakes)
    return explore(dialect(name), bounds, [*claims, both, overtaken] if bounds == PAIRS else ())


def overtakes(moment: Moment) -> bool:
    """Say whether the second call of an answer ends while the first one runs."""
    ended = [event.tool_call_id for event in moment.events if isinstance(event, ToolExecutionEnd)]
    return moment.control.executing == 1 and any(call.endswith(".2") for call in ended)


def findings(name: str) -> dict[str, Finding]:
    """Return how that which happens now and then is brought about, by the text of the claim that it never does."""
    return {claim.name: finding for claim, finding in explored(name, PAIRS).broken.items()}


def found(kind: Any, text: str, name: str = LATER, bounds: Bounds = SMALL) -> Finding | None:
    """Return what breaks a claim, if anything does."""
    claim = parse_claim(text, kind, dialect(name))
    return explore(dialect(name), bounds, [claim]).broken.get(claim)


def words(finding: Finding | None, name: str = LATER, bounds: Bounds = SMALL) -> list[str]:
    """Return a finding's path: what the world did, without what followed."""
    assert finding is not None
    return [line.partition(" →")[0] for line in in_words(dialect(name), bounds, finding.path)]


class TestFigures:
    """How much there is, counted."""

    @every_dialect
    def test_the_same_twice(self, name: str) -> None:
        """Exploring again gives the same report, figure by figure."""
        assert explore(dialect(name), SMALL) == explored(name)

    @every_dialect
    def test_counted_one_by_one(self, name: str) -> None:
        """States, edges, paths and depth are those that walking every single path finds."""
        graph = Graph(dialect(name), TINY)
        edges: set[tuple[int, int]] = set()
        depths = list[int]()

        def follow(state: int, depth: int) -> None:
            ways = list(graph.edges(state))
            depths.extend([] if ways else [depth])
            for arrow, target in ways:
                edges.add((state, arrow.number))
                follow(target, depth + 1)

        follow(graph.start, 0)
        report = explored(name, TINY)

        assert (report.edges, report.paths) == (len(edges), len(depths))
        assert report.states == len({graph.start} | {t for s, n in edges for a, t in graph.edges(s) if a.number == n})
        assert 5 < report.depth <= max(depths)

    @pytest.mark.parametrize("more", [Bounds(3, 1, 1), Bounds(2, 2, 1), Bounds(2, 1, 2)], ids=["T", "K", "Q"])
    def test_a_larger_world_has_more(self, more: Bounds) -> None:
        """Another model call, tool call or message each brings states and paths."""
        larger, usual = explored(LATER, more), explored(LATER)

        assert larger.states > usual.states
        assert (larger.paths or 0) > (usual.paths or 0)

    def test_without_failures(self) -> None:
        """Where nothing fails but tools, no rule for failures fires, and all else does."""
        never = {*explore(dialect(LATER), evolve(SMALL, failures=False)).never_fired}
        more = never - {*explored(LATER).never_fired}

        assert {rule.split()[1] for _, rule in more} == {"failed"}

    def test_progress(self) -> None:
        """Who wants to know hears how many states were found and walked."""
        told = list[tuple[int, int]]()
        report = explore(dialect(LATER), SMALL, progress=lambda found, walked: told.append((found, walked)))

        assert told[0] == (1, 0)
        assert len(told) == -(-report.states // 1000)
        assert all(walked < found <= report.states for found, walked in told)


class TestWays:
    """What the budget allows."""

    @pytest.mark.parametrize(
        ("way", "before", "after"),
        [
            (Way("spends", spends=Budget(1, 2, 0)), Budget(1, 2, 1), Budget(0, 0, 1)),
            (Way("spends", spends=Budget(0, 2, 0)), Budget(1, 1, 1), None),
            (Way("exhausted", exhausted=True), Budget(0, 1, 1), Budget(0, 1, 1)),
            (Way("exhausted", exhausted=True), Budget(1, 0, 0), None),
            (Way("needs a turn", needs_turn=True), Budget(1, 0, 0), Budget(1, 0, 0)),
            (Way("needs a turn", needs_turn=True), Budget(0, 1, 1), None),
        ],
    )
    def test_what_is_left(self, way: Way, before: Budget, after: Budget | None) -> None:
        """A way is open only where the world has that left, and leaves the rest."""
        assert way.left(before) == after


class TestRules:
    """Which rules fire."""

    @every_dialect
    def test_every_rule_fires(self, name: str) -> None:
        """Two calls, two tools and a message are world enough for every rule of every dialect."""
        report = explored(name, PAIRS)

        assert report.never_fired == []
        assert (report.dead_ends, report.cycles) == ([], [])

    def test_one_call_is_not_enough(self) -> None:
        """A call that is cancelled needs another one, during whose start the run is aborted."""
        assert explored(LATER).never_fired == [("batch", "Running ready prepared aborted"), ("call", "Prepared cancel")]

    def test_rows_that_leave_no_decision_do_not_count(self) -> None:
        """Neither waiting nor a delta is a rule that could fire."""
        names = {rule for rules in explored(LATER).fired.values() for rule in rules}

        assert not {name for name in names if "delta" in name or name.endswith((" preparing", " !prepared busy"))}


def changed(table: str, change: Callable[[Rule], Rule | None]) -> Dialect:
    """Return the later dialect with the rows of one table changed; None takes one away."""
    whole = dialect(LATER)
    old: Table = getattr(whole, table)
    rules = [new for rule in old.rules if (new := change(rule)) is not None]
    assert rules != list(old.rules)
    built = build(table, CallControl if table == "call" else Control, old.initial, old.final, rules)
    loop, batch, call = (built if each is old else each for each in whole.tables)
    return evolve(whole, loop=loop, batch=batch, call=call)


def row(name: str, **change: Any) -> Callable[[Rule], Rule]:
    """Return a change of one row."""
    return lambda rule: evolve(rule, **change) if rule.name == name else rule


class TestBrokenTables:
    """What is wrong with a table is seen, although it could be built."""

    @pytest.mark.parametrize(
        ("table", "name", "problem"),
        [
            ("loop", "AwaitSteering steering_again", "no table has a row for steering_again"),
            ("call", "Finalizing call_failed", "call has no row for call_failed in Finalizing"),
        ],
    )
    def test_a_missing_row_is_a_dead_end(self, table: str, name: str, problem: str) -> None:
        """Where no row is there for what happens, the run cannot go on; the path leads there."""
        broken = changed(table, lambda rule: None if rule.name == name else rule)
        (end,) = explore(broken, SMALL).dead_ends
        *_, last = walk(broken, SMALL, end.path)

        assert end.problem == problem
        assert end.states > 1
        assert last.moment is None

    def test_nothing_asked_is_a_dead_end(self) -> None:
        """A row that forgets to ask leaves a machine that waits for nothing, abort or not."""
        broken = changed("loop", row("TurnEnd stop !stop_wanted", asks=None))
        (end,) = explore(broken, SMALL).dead_ends
        *_, last = walk(broken, SMALL, end.path)

        assert end.problem == NOTHING_OUTSTANDING
        assert (last.standing.pause, last.standing.machine.awaited) == (WAITING, [])

    def test_a_rule_that_is_cut_off_never_fires(self) -> None:
        """A row that goes past others leaves them unused."""
        ahead = row("AwaitSteering prepared !pending", dest=State.Streaming, asks=Ask.call_model)

        assert ("loop", "AwaitSteering steering_again") in explore(changed("loop", ahead), SMALL).never_fired

    def test_circles_without_a_step(self) -> None:
        """A machine that decides for ever within one step is stopped, and it is a dead end."""
        broken = changed("batch", row("Running ready !prepared !busy", sets={}))
        (end,) = explore(broken, SMALL).dead_ends
        *_, before, last = walk(broken, SMALL, end.path)

        assert end.problem == "the machine goes round in circles without handing out a step"
        assert before.moment is not None
        assert [decision.rule.name for decision in before.moment.decisions] == ["Running ready !prepared !busy"]
        assert last.moment is None

    def test_circles_with_steps(self) -> None:
        """A machine that emits for ever is a cycle, and the paths have no number; the path leads into it."""
        broken = changed("loop", row("CheckStop ready hard_stop", dest=State.CheckStop))
        report = explore(broken, SMALL)
        (cycle,) = report.cycles

        assert (cycle.problem, report.paths, report.holds) == (GOES_ROUND, None, False)
        *_, last = walk(broken, SMALL, cycle.path)
        assert last.standing.machine.state == State.CheckStop

    def test_an_unknown_effect(self) -> None:
        """An effect that the world does not know is an error that names it, not something to pass over."""
        with pytest.raises(Misuse, match="does not answer str; it answers PollSteering, "):
            kind_of("effect")  # type: ignore[arg-type]


class TestClaims:
    """What breaks a claim, and by the shortest path."""

    def test_a_claim_that_holds(self) -> None:
        """What is true of every run is not broken."""
        for name in DIALECTS:
            assert found("eventually", "emits(agent_end) or failed", name) is None
            assert found("never", "emits(agent_end) and failed", name) is None
            assert found("always", "not emits(agent_end) or state == Done", name) is None

    def test_never(self) -> None:
        """The shortest path to a moment of which it is true: the last step is that moment."""
        finding = found("never", "aborted and emits(tool_execution_start)")

        assert words(finding) == [
            "the run begins with a prompt",
            "the machine goes on",
            "the steering queue brings nothing",
            "the model answers: calls c2.1 of work; toolUse",
            "the run is aborted",
            "the machine goes on",
        ]

    def test_dialects_differ(self) -> None:
        """No tool starts after an abort since 0.85.0; before, one that was prepared did."""
        assert UNTOUCHED in findings("pi-0.80.2")
        assert UNTOUCHED not in findings(LATER)

    def test_always(self) -> None:
        """The shortest path to a moment of which it is not true."""
        assert words(found("always", "first_turn or aborted"))[-1] == "the steering queue brings nothing"

    def test_eventually(self) -> None:
        """A path to the end of a run on which it was never true."""
        finding = found("eventually", "emits(agent_end)")

        assert words(finding) == ["the run is to go on from nothing", "the machine goes on"]

    def test_eventually_in_a_dead_end(self) -> None:
        """A run that is stuck comes to nothing any more."""
        broken = changed("loop", row("TurnEnd stop !stop_wanted", asks=None))
        claim = parse_claim("state == Done", "eventually", broken)
        finding = explore(broken, SMALL, [claim]).broken[claim]

        assert words(finding)[-1] == "the stop hook lets the run go on"

    def test_eventually_in_a_cycle(self) -> None:
        """A run that goes round in circles comes to nothing new: the path ends where it has been before."""
        broken = changed("loop", row("CheckStop ready hard_stop", dest=State.CheckStop))
        claim = parse_claim("asks(AskToStop) or state == Done", "eventually", broken)
        path = explore(broken, SMALL, [claim]).broken[claim].path
        keys = [step.standing.machine.key() for step in walk(broken, SMALL, path)]

        assert keys[-1] in keys[:-1]

    def test_claims_in_python(self) -> None:
        """A claim is any predicate over a moment: facts, decisions, events, effects."""
        finding = findings(LATER)["both at once"]

        assert finding.problem == "never both at once"
        *_, last = walk(dialect(LATER), PAIRS, finding.path)
        assert last.moment is not None
        assert [type(effect).__name__ for effect in last.moment.awaited] == ["ExecuteTool"] * 2

    @every_dialect
    def test_what_is_playable_comes_first(self, name: str) -> None:
        """A path that a scenario can play is preferred to a shorter one, on which a listener raises."""
        taken = words(findings(name)[LATE_FAILURE], name, PAIRS)

        assert taken[-1].endswith(" fails")
        assert len(taken) > 5


def validate(tool: Tool, arguments: Json, rules: str) -> Json:
    """Do what the schema of the world's tools says."""
    if "good" not in arguments:
        raise ValueError("not valid")
    return dict(arguments)


def played(scenario: dict[str, Any], name: str) -> list[tuple[Any, ...]]:
    """Return what a driver decides when it plays a scenario, and whether the run is aborted by then."""
    host = ScenarioHost(read_scenario(scenario), dialect(name), validate)
    machine = Machine(host.begun(), dialect(name))
    noted = list[tuple[Any, ...]]()

    def note(decision: Decision) -> None:
        noted.append(told(decision, aborted=machine.control.aborted))

    driver = Driver(machine, host, signal=host.signal, on_decision=note)
    if scenario.get("abort") == {"atStart": True}:
        host.signal.abort()
    try:
        driver.run(host.listen)
    except (RuntimeError, ValueError):
        assert machine.state == State.Done
    return noted


def walked(name: str, bounds: Bounds, path: Path) -> list[tuple[Any, ...]]:
    """Return what the machine decides on a path, and whether the run is aborted by then."""
    moments = [step.moment for step in walk(dialect(name), bounds, path) if step.moment is not None]
    return [told(decision, aborted=m.control.aborted) for m in moments for decision in m.decisions]


def told(decision: Decision, *, aborted: bool) -> tuple[Any, ...]:
    """Return all that makes a decision what it is."""
    return decision.at, decision.machine, decision.call, decision.rule.name, dict(decision.guards), aborted


def random_path(graph: Graph, moves: Sequence[int]) -> Path:
    """Return a path that a scenario can play; each number chooses what happens next."""
    state, path = graph.start, list[int]()
    for move in moves:
        # Aborts and failures are kept rare, since little comes after them.
        ways = [way for way in graph.edges(state) if not way[0].way.unplayable]
        calm = [way for way in ways if way[0].goes_on and not way[0].way.name.endswith("fails")]
        if not ways:
            break
        chosen = ways if move % 8 == 0 else calm
        arrow, state = chosen[move // 8 % len(chosen)]
        path.append(arrow.number)
    return tuple(path)


class TestScenarios:
    """Findings as scenarios."""

    @every_dialect
    @pytest.mark.parametrize("text", [*BREAKABLE, OVERTAKEN])
    def test_a_finding_plays(self, text: str, name: str) -> None:
        """The scenario of a broken claim takes the decisions of its path, so the same thing is seen in it."""
        path = findings(name)[text].path
        wanted = walked(name, PAIRS, path)

        assert played(as_scenario(dialect(name), PAIRS, path), name)[: len(wanted)] == wanted

    @every_dialect
    @settings(max_examples=60)
    @given(moves=st.lists(st.integers(0, 10_000), min_size=1, max_size=60))
    def test_any_path_plays(self, moves: list[int], name: str) -> None:
        """Whatever the sync driver can be brought to, a scenario brings it to."""
        path = random_path(graph_of(name), moves)
        wanted = walked(name, Bounds(), path)

        assert played(as_scenario(dialect(name), Bounds(), path), name)[: len(wanted)] == wanted

    @every_dialect
    def test_the_order_in_which_tools_come_back(self, name: str) -> None:
        """Of two tools that both come back on the path, the one that was faster there is faster in the scenario."""
        path = (*findings(name)[OVERTAKEN].path, 0, 0)
        wanted = walked(name, PAIRS, path)

        assert played(as_scenario(dialect(name), PAIRS, path), name)[: len(wanted)] == wanted
        assert [call for _, _, call, rule, *_ in wanted if rule == "Finalizing after"] == [1, 0]

    def test_broken_off(self) -> None:
        """Listeners of a scenario do not raise: it is refused, with the step that is to blame."""
        finding = found("never", "state == Done and executing")
        assert finding is not None

        with pytest.raises(Unplayable, match="the run is broken off: a listener raises"):
            as_scenario(dialect(LATER), SMALL, finding.path)

    def test_two_hooks_at_once(self) -> None:
        """Hooks of a scenario answer at once, so no tool comes back while one is asked."""
        with pytest.raises(Unplayable, match="its hooks answer before anything else happens"):
            as_scenario(dialect(LATER), PAIRS, findings(LATER)[TWO_HOOKS].path)

    def test_a_path_that_is_none(self) -> None:
        """A number that leads nowhere is refused."""
        with pytest.raises(IndexError, match="has no way 99"):
            list(walk(dialect(LATER), SMALL, (0, 99)))


@cache
def graph_of(name: str) -> Graph:
    """Return a graph that grows as paths are taken in it."""
    return Graph(dialect(name), Bounds())
