"""Runs a scenario with hooks of one's own: the scenario says what the world does, the hooks what the program does.

    run = run_with(scenario, should_stop=hook)

Time is virtual, and the same scenario and hooks give the same run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from typing import TypeVar, final

import anyio
from attrs import evolve

from turnwheel.async_driver import AsyncDriver
from turnwheel.effects import AfterToolCall, BeforeToolCall, FinishedTurn
from turnwheel.events import Event
from turnwheel.folds import hooks_of
from turnwheel.host import Maybe
from turnwheel.loop import LoopConfig, LoopHost
from turnwheel.machine import Machine
from turnwheel.messages import Json
from turnwheel.outcomes import BeforeResult, NextRequest, NextTurn, ResultChanges, TurnAction
from turnwheel.rules import Decision, Dialect
from turnwheel.table import DEFAULT_DIALECT
from turnwheel.table import dialect as dialect_named
from turnwheel.testing.play import ScenarioHost, Validator
from turnwheel.testing.scenario import Hooks, Scenario
from turnwheel.testing.scripted import ScriptedModel
from turnwheel.tool import Request, Tool
from turnwheel.transcript import Transcript
from turnwheel.values import value

_Effect = TypeVar("_Effect")
_Answer = TypeVar("_Answer")


@final
@value
class ScenarioRun:
    """What happened in a run: its events, its decisions, and the messages that it added.

    `error` is what broke the run off, where the scenario lets something fail outside of a tool call, or begins with
    what cannot be continued.
    """

    events: Sequence[Event]
    decisions: Sequence[Decision]
    messages: Transcript
    error: Exception | None = None


def run_with(
    scenario: Scenario,
    *,
    dialect: Dialect | str = DEFAULT_DIALECT,
    before_tool_call: Callable[[BeforeToolCall], Maybe[BeforeResult | None]] | None = None,
    after_tool_call: Callable[[AfterToolCall], Maybe[ResultChanges | None]] | None = None,
    prepare_next_turn: Callable[[FinishedTurn], Maybe[NextTurn | None]] | None = None,
    prepare_request: Callable[[Request], Maybe[NextRequest | None]] | None = None,
    should_stop: Callable[[FinishedTurn], Maybe[bool]] | None = None,
    finish_turn: Callable[[FinishedTurn], Maybe[TurnAction | None]] | None = None,
    validate: Validator | None = None,
) -> ScenarioRun:
    """Run the model, tools, queues and abort of a scenario with these hooks; its own hooks do not count.

    Hooks may be plain or coroutine functions. `validate` coerces and checks the arguments of calls, or raises; without
    it, tools take what the model wrote. Starts an event loop of its own, so call it where none runs.

    Raises ValueError for an unknown dialect and for a hook that it never asks, and what a hook raises where that
    breaks the run off: a failing `before_tool_call` or `after_tool_call` makes an error result instead (Pi 0.80.2).
    """
    language = dialect if isinstance(dialect, Dialect) else dialect_named(dialect)
    config = LoopConfig(
        ScriptedModel(()),  # never asked: the scenario's model answers
        before_tool_call=before_tool_call,
        after_tool_call=after_tool_call,
        prepare_next_turn=prepare_next_turn,
        prepare_request=prepare_request,
        should_stop=should_stop,
        finish_turn=finish_turn,
    )
    if unasked := config.hooks.difference(asked := hooks_of(language)):
        raise ValueError(f"{language.name} never asks {', '.join(sorted(unasked))}; it asks {', '.join(asked)}")
    world = ScenarioHost(evolve(scenario, hooks=_silent(config)), language, validate or _as_it_is)
    host = _HookedHost(world, LoopHost(config, language.switches, world.signal))
    return anyio.run(_run, Machine(world.begun(), language), world, host, _aborts_at_start(scenario))


async def _run(machine: Machine, world: ScenarioHost, host: _HookedHost, aborted: bool) -> ScenarioRun:
    events: list[Event] = []
    decisions: list[Decision] = []
    failure = None

    def listen(event: Event) -> None:
        world.listen(event)
        events.append(event)

    driver = AsyncDriver(machine, host, signal=world.signal, on_decision=decisions.append)
    if aborted:
        world.signal.abort()
    try:
        await driver.run(listen)
    except Exception as error:
        if host.raised is error:
            raise
        failure = error
    return ScenarioRun(events, decisions, machine.new_messages, failure)


def _silent(config: LoopConfig) -> Hooks:
    """Return hooks of a scenario that are asked where the config has one, and say nothing."""
    has = config.hooks
    return Hooks(
        before_tool_call={} if "before_tool_call" in has else None,
        after_tool_call={} if "after_tool_call" in has else None,
        prepare_next_turn=() if "prepare_next_turn" in has else None,
        prepare_request=() if "prepare_request" in has else None,
        should_stop_after_turn=() if "should_stop" in has else None,
        finish_turn=() if "finish_turn" in has else None,
    )


def _aborts_at_start(scenario: Scenario) -> bool:
    return scenario.abort is not None and scenario.abort.at_start


def _as_it_is(tool: Tool, arguments: Json, rules: str) -> Json:
    # A before hook may change it in place, and the model's message keeps what the model wrote.
    return deepcopy(arguments)


@final
class _HookedHost:
    """The world of a scenario, with the hooks of a program."""

    def __init__(self, world: ScenarioHost, program: LoopHost) -> None:
        self.raised: Exception | None = None
        """What a hook of the program raised last."""
        self.poll_steering, self.poll_follow_up = world.poll_steering, world.poll_follow_up
        self.call_model = world.call_model
        self.prepare_arguments, self.execute_tool = world.prepare_arguments, world.execute_tool
        self.now, self.wait = world.now, world.wait
        self.before_tool_call = self._both(world.before_tool_call, program.before_tool_call)
        self.after_tool_call = self._both(world.after_tool_call, program.after_tool_call)
        self.prepare_next_turn = self._both(world.prepare_next_turn, program.prepare_next_turn)
        self.prepare_request = self._both(world.prepare_request, program.prepare_request)
        self.ask_to_stop = self._both(world.ask_to_stop, program.ask_to_stop)
        self.finish_turn = self._both(world.finish_turn, program.finish_turn)

    def _both(
        self, tell: Callable[[_Effect], object], ask: Callable[[_Effect], Awaitable[_Answer]]
    ) -> Callable[[_Effect], Awaitable[_Answer]]:
        """Return a port that tells the scenario, which may abort the run there, and then asks the program."""

        async def port(effect: _Effect) -> _Answer:
            tell(effect)
            try:
                return await ask(effect)
            except Exception as error:
                self.raised = error
                raise

        return port
