"""A finite world: all that queues, model, hooks and tools may answer, within bounds, so that every run can be walked.

The first T model calls are answered in every way there is; calls beyond them get an error, as in a scenario whose
script is exhausted. Each queue holds Q messages in all, and a poll brings any number of those that are left. An answer
has up to K tool calls, each of a tool that may run beside others, of one that may not, or of one that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, final, get_args

from attrs import evolve, frozen

from turnwheel import effects as fx
from turnwheel import outcomes as oc
from turnwheel.effects import Effect
from turnwheel.errors import Misuse
from turnwheel.loadout import led
from turnwheel.messages import AssistantMessage, Json, StopReason, TextContent, ToolCall, ToolResult, user
from turnwheel.outcomes import Outcome
from turnwheel.rules import Dialect
from turnwheel.stream import Finished, Started
from turnwheel.testing.exploring.script import GOOD, TOOLS, Script
from turnwheel.testing.exploring.ways import FREE, Budget, Scene, Way
from turnwheel.testing.scripted import EXHAUSTED
from turnwheel.tool import Context, Tool
from turnwheel.transcript import Transcript

BROKEN: Final = "broken"
"""The text of everything that fails."""
_THROWS: Final = {"throws": BROKEN}
_OK: Final = ToolResult.of("ok")
_LAST: Final = ToolResult.of("ok", terminate=True)
_HALF: Final = ToolResult.of("half")
_TOOLS: Final = tuple(Tool(tool["name"], execution_mode=tool.get("executionMode")) for tool in TOOLS)

_AT_ONCE: Final = "its hooks answer before anything else happens"
_LATE: Final = "its tools tell of no progress once they have come back"

_CONTEXT: Final = Context("", Transcript(), _TOOLS)
STARTS: Final[Sequence[tuple[str, oc.Begun, dict[str, Json]]]] = (
    ("the run begins with a prompt", oc.Begun(_CONTEXT, (user("go"),)), {"prompts": ["go"]}),
    (
        "the run goes on from a user's message",
        oc.Begun(evolve(_CONTEXT, messages=Transcript([user("go")]))),
        {"entry": "continue", "context": {"messages": ["go"]}},
    ),
    ("the run is to go on from nothing", oc.Begun(_CONTEXT), {"entry": "continue"}),
    (
        "the run begins with a prompt, without hooks",
        oc.Begun(_CONTEXT, (user("go"),), oc.RunConfig(hooks=("steering", "follow_up"))),
        {"prompts": ["go"], "hooks": {}},
    ),
)
"""How a run may begin: in words, for the machine, and for a scenario. There are hooks unless it says otherwise."""


def begun(start: int, dialect: Dialect) -> oc.Begun:
    """Return one of the ways in which a run may begin."""
    _, plain, _ = STARTS[start]
    leads = dialect.switches.loadouts and (plain.context.messages or plain.prompts is not None)
    return evolve(plain, context=led(plain.context)) if leads else plain


# --- queues, model and hooks of the run ---------------------------------------------------------------------------


def _fails(effect: Any, scene: Scene, what: str, said: Json = _THROWS, spends: Budget = FREE) -> list[Way]:
    if not scene.bounds.failures:
        return []
    return [Way(f"{what} fails", (oc.Failed(effect.id, BROKEN),), effect, said, spends=spends)]


def _poll(queue: str, words: str) -> Callable[[Any, Scene], list[Way]]:
    def ways(effect: Any, scene: Scene) -> list[Way]:
        found = []
        for number in range(scene.bounds.queue + 1):
            texts = [f"{queue} {at}" for at in range(1, number + 1)]
            brings = f"brings {number or 'nothing'}"
            outcome = oc.Polled(effect.id, tuple(map(user, texts)))
            found.append(Way(f"{words} {brings}", (outcome,), effect, texts, spends=Budget(**{queue: number})))
        return found + _fails(effect, scene, words)

    return ways


def _answers(effect: fx.CallModel, scene: Scene) -> list[Way]:
    """Return how the model may answer: an answer that has begun has no second start."""
    ways = []
    if not scene.shown:
        ways.append(Way("the model's answer begins", (Started(),), effect, needs_turn=True))
    batches = _batches(effect.id, scene.bounds.calls)
    ways += [_answer(effect, scene, calls, reason) for calls in batches for reason in _reasons(calls)]
    if not scene.shown:
        ways.append(
            Way(
                "the model has no answer left: an error",
                (Finished(AssistantMessage(stop_reason="error", error_message=EXHAUSTED)),),
                effect,
                {"error": EXHAUSTED, "start": False},
                exhausted=True,
            )
        )
    raised = {"deltas": [{"type": "start"}, {"type": "throw", "message": BROKEN}]}
    said = raised if scene.shown else _THROWS
    return ways + _fails(effect, scene, "the request", said=said, spends=Budget(turns=1))


def _reasons(calls: Sequence[ToolCall]) -> list[StopReason]:
    """Return all stop reasons, the usual one first."""
    usual = "toolUse" if calls else "stop"
    return sorted(get_args(StopReason), key=lambda reason: reason != usual)


def _batches(number: int, most: int) -> Iterator[list[ToolCall]]:
    """Yield the tool calls that an answer may have; the ids are unique in the run."""
    for size in range(most + 1):
        for known in product((True, False), repeat=size):
            for name in ("work", "alone") if any(known) else ("work",):
                yield [
                    ToolCall(f"c{number}.{at}", name if there else "nobody", dict(GOOD))
                    for at, there in enumerate(known, 1)
                ]


def _answer(effect: fx.CallModel, scene: Scene, calls: Sequence[ToolCall], reason: StopReason) -> Way:
    if calls:
        words = "calls " + ", ".join(f"{call.id} of {call.name}" for call in calls)
        said: dict[str, Json] = {
            "toolCalls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
        }
    else:
        words, said = "a text", {"text": "hi"}
    message = AssistantMessage(tuple(calls) or (TextContent("hi"),), reason)
    said |= {"stopReason": reason, "start": scene.shown}
    return Way(f"the model answers: {words}; {reason}", (Finished(message),), effect, said, spends=Budget(turns=1))


def _preparation(effect: fx.PrepareNextTurn, scene: Scene) -> list[Way]:
    same = Way("the preparation changes nothing", (oc.NextTurnPrepared(effect.id),), effect, None)
    return [same, *_fails(effect, scene, "the preparation")]


def _stop(effect: fx.AskToStop, scene: Scene) -> list[Way]:
    return [
        Way("the stop hook lets the run go on", (oc.StopDecided(effect.id, False),), effect, False),
        Way("the stop hook says stop", (oc.StopDecided(effect.id, True),), effect, True),
        *_fails(effect, scene, "the stop hook"),
    ]


def _finish(effect: fx.FinishTurn, scene: Scene) -> list[Way]:
    end, more = oc.TurnFinished(effect.id, "end"), oc.TurnFinished(effect.id, "continue")
    return [
        Way("the finish hook leaves it to the loop", (oc.TurnFinished(effect.id),), effect, None),
        Way("the finish hook says end", (end,), effect, {"action": "end"}),
        Way("the finish hook says continue", (more,), effect, {"action": "continue"}),
        *_fails(effect, scene, "the finish hook"),
    ]


def _request(effect: fx.PrepareRequest, scene: Scene) -> list[Way]:
    same = Way("the request is left as it is", (oc.RequestPrepared(effect.id),), effect, None)
    return [same, *_fails(effect, scene, "the preparation of the request")]


# --- tool calls ---------------------------------------------------------------------------------------------------


def _arguments(effect: fx.PrepareArguments, scene: Scene) -> list[Way]:
    number, name = effect.id, effect.call.id
    return [
        Way(f"the arguments of {name} are valid", (oc.ArgumentsPrepared(number, dict(GOOD)),), effect, dict(GOOD)),
        Way(f"the arguments of {name} are not valid", (oc.Raised(number, BROKEN),), effect, {}),
    ]


def _before(effect: fx.BeforeToolCall, scene: Scene) -> list[Way]:
    number, who = effect.id, f"the before hook of {effect.call.id}"
    for_good = oc.BeforeAnswered(number, True, None, True)
    return [
        Way(f"{who} lets it run", (oc.BeforeAnswered(number),), effect, None),
        Way(f"{who} blocks it", (oc.BeforeAnswered(number, True),), effect, {"block": True}),
        Way(f"{who} blocks it for good", (for_good,), effect, {"block": True, "terminate": True}),
        Way(f"{who} raises", (oc.Raised(number, BROKEN),), effect, _THROWS),
    ]


def _execution(effect: fx.ExecuteTool, scene: Scene) -> list[Way]:
    number, name = effect.id, effect.call.id
    why = _AT_ONCE if scene.hook_waits else ""
    half = oc.Progress(number, _HALF)
    returned = oc.Returned(number, _OK)
    progress = {"updates": [{"text": "half"}]}
    return [
        Way(f"{name} returns", (returned,), effect, {}, unplayable=why),
        Way(
            f"{name} returns, and terminates",
            (oc.Returned(number, _LAST),),
            effect,
            {"terminate": True},
            unplayable=why,
        ),
        Way(f"{name} throws", (oc.Raised(number, BROKEN),), effect, _THROWS, unplayable=why),
        Way(f"{name} tells its progress and returns", (half, returned), effect, progress, unplayable=why),
        Way(f"{name} returns, and tells late progress", (returned, half), effect, {}, unplayable=_LATE),
    ]


def _after(effect: fx.AfterToolCall, scene: Scene) -> list[Way]:
    number, name = effect.id, effect.call.id
    who = f"the after hook of {name}"
    same = oc.AfterAnswered(number)
    late = oc.Progress(scene.executions[name], _HALF)

    def terminate(value: bool) -> tuple[Outcome]:
        return (oc.AfterAnswered(number, oc.ResultChanges(terminate=value)),)

    return [
        Way(f"{who} changes nothing", (same,), effect, None),
        Way(f"{who} lets it terminate", terminate(True), effect, {"terminate": True}),
        Way(f"{who} does not let it terminate", terminate(False), effect, {"terminate": False}),
        Way(f"{who} raises", (oc.Raised(number, BROKEN),), effect, _THROWS),
        Way(f"{who} changes nothing, and {name} tells late progress", (same, late), effect, None, unplayable=_LATE),
    ]


# --- the table ----------------------------------------------------------------------------------------------------


@final
@frozen
class Kind:
    """How one kind of effect is answered, and where a scenario says so.

    `ways` are the answers; `call` is the callback's name in a trace; `where` the key of the scenario, and `note` the
    means by which an answer gets there.
    """

    ways: Callable[[Any, Scene], list[Way]]
    call: str
    where: str
    note: Callable[[Script, str, Any, Any], None]


_STEERING: Final = Kind(_poll("steering", "the steering queue"), "getSteeringMessages", "steering", Script.append)
EFFECTS: Final[Mapping[type, Kind]] = {
    fx.PollSteering: _STEERING,
    fx.PollSteeringAgain: _STEERING,
    fx.PollFollowUp: Kind(_poll("follow_up", "the follow-up queue"), "getFollowUpMessages", "followUp", Script.append),
    fx.CallModel: Kind(_answers, "stream", "model", Script.append),
    fx.PrepareNextTurn: Kind(_preparation, "prepareNextTurn", "hooks.prepareNextTurn", Script.append),
    fx.AskToStop: Kind(_stop, "shouldStopAfterTurn", "hooks.shouldStopAfterTurn", Script.append),
    fx.FinishTurn: Kind(_finish, "finishTurn", "hooks.finishTurn", Script.append),
    fx.PrepareRequest: Kind(_request, "prepareRequest", "hooks.prepareRequest", Script.append),
    fx.PrepareArguments: Kind(_arguments, "prepareArguments", "model", Script.arguments),
    fx.BeforeToolCall: Kind(_before, "beforeToolCall", "hooks.beforeToolCall", Script.put),
    fx.ExecuteTool: Kind(_execution, "execute", "toolResults", Script.complete),
    fx.AfterToolCall: Kind(_after, "afterToolCall", "hooks.afterToolCall", Script.put),
}
"""Every kind of effect, and what the world may do about it."""


def kind_of(effect: Effect) -> Kind:
    """Return how effects of this kind are answered. Raises Misuse where the world does not know it."""
    kind = EFFECTS.get(type(effect))
    if kind is None:
        known = ", ".join(each.__name__ for each in EFFECTS)
        raise Misuse(f"the finite world does not answer {type(effect).__name__}; it answers {known}")
    return kind


def script(name: str, dialect: Dialect) -> Script:
    """Return an empty scenario with all hooks that the dialect asks for."""
    asked = {str(rule.asks) for table in dialect.tables for rule in table.rules}
    hooks: list[tuple[str, Json]] = [
        (kind.where.removeprefix("hooks."), [] if kind.note is Script.append else {})
        for effect, kind in EFFECTS.items()
        if kind.where.startswith("hooks.") and effect.__name__ in asked
    ]
    return Script(name, dialect.name, hooks)
