"""Pi's loop, written plainly: two nested whiles, the call of the model, and the batch of a turn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.reference.call import ABORTED, Call, end, execute, finish, prepare, show_result, start
from tests.reference.loadout import announced
from tests.reference.shapes import Context, Failed, Json, Turn
from tests.reference.world import Execution, World


@dataclass
class Run:
    """What changes while a trace runs. `thinking_level` off asks for no reasoning."""

    world: World
    context: Context
    model: str
    thinking_level: str
    new_messages: list[Json] = field(default_factory=list)


# --- the loop -------------------------------------------------------------------------------------------------------


def run(world: World) -> list[Json]:
    """Run one trace in this world; return its new messages. Raises Failed where a callback fails."""
    this = Run(world, world.context, world.model, world.thinking_level)
    if world.prompts is None:
        _check_continuing(this.context)
    world.emit("agent_start")
    world.emit("turn_start")
    if world.prompts is not None:
        inject(this, world.prompts)
    turns(this)
    world.emit("agent_end", messages=this.new_messages)
    return this.new_messages


def turns(this: Run) -> None:
    """Take turns until nothing asks for another one."""
    world = this.world
    turn: Turn | None = None
    pending = world.steering()
    while True:
        more = True
        while more or pending:
            prepared: list[Json] = []
            if turn is not None:
                if world.version.prepares_late:
                    prepared = prepare_next_turn(this, turn)
                    pending = pending or world.steering()
                world.emit("turn_start")
            inject(this, [*prepared, *pending])
            turn = take_turn(this)
            wish = end_turn(this, turn)
            if turn.is_hard_stop or wish == "end":
                return
            pending = world.steering()
            more = turn.more
        pending = world.follow_up()
        if not pending and wish != "continue":
            return


def inject(this: Run, messages: list[Json]) -> None:
    """Put messages into the context, and what has to be said about the tools."""
    for message in announced(this.context, messages) if this.world.version.loadouts else messages:
        this.world.emit("message_start", message=message)
        this.world.emit("message_end", message=message)
        this.context.messages.append(message)
        this.new_messages.append(message)


def take_turn(this: Run) -> Turn:
    """Call the model once and run the batch that it asks for."""
    if this.world.version.finishes_turns:
        _update(this, this.world.prepare_request(this.context, this.model, this.thinking_level))
    message = ask_model(this)
    this.new_messages.append(message)
    turn = Turn(message, [], this.context, this.new_messages, more=False)
    calls = [block for block in message["content"] if block["type"] == "toolCall"]
    if turn.is_hard_stop or not calls:
        return turn
    results, terminate = run_batch(this.world, this.context, calls, cut=message["stopReason"] == "length")
    this.context.messages.extend(results)
    this.new_messages.extend(results)
    return replace(turn, results=results, more=not terminate)


def end_turn(this: Run, turn: Turn) -> str | None:
    """End a turn, and return what the hooks wish: "end", "continue", or nothing."""
    world = this.world
    if world.version.finishes_turns:
        wish = world.finish_turn(turn)
        world.emit("turn_end", message=turn.message, toolResults=turn.results)
        return wish
    world.emit("turn_end", message=turn.message, toolResults=turn.results)
    if turn.is_hard_stop:
        return None
    if not world.version.prepares_late:
        prepare_next_turn(this, turn)
    return "end" if world.should_stop(replace(turn, context=this.context)) else None


def prepare_next_turn(this: Run, turn: Turn) -> list[Json]:
    """Let the hook prepare the next turn; return the messages that it wants in it."""
    update = this.world.prepare_next_turn(turn)
    _update(this, update)
    return update.get("messages") or [] if update else []


def _update(this: Run, update: Json | None) -> None:
    """Replace what a hook wants replaced, for good."""
    update = {key: value for key, value in (update or {}).items() if value is not None}
    this.context = update.get("context", this.context)
    this.model = update.get("model", this.model)
    this.thinking_level = update.get("thinkingLevel", this.thinking_level)


def _check_continuing(context: Context) -> None:
    if not context.messages:
        raise Failed("Cannot continue: no messages in context")
    if context.messages[-1]["role"] == "assistant":
        raise Failed("Cannot continue from message role: assistant")


# --- the model ------------------------------------------------------------------------------------------------------


def ask_model(this: Run) -> Json:
    """Call the model and show its answer as it grows; return the final message, which is then in the context."""
    world, messages = this.world, this.context.messages
    told = world.convert_to_llm(world.transform_context(messages))
    answer = world.stream(this.model, this.thinking_level, this.context, told)
    shown = False
    for step in answer:
        if step["type"] in ("done", "error"):
            break
        if step["type"] == "start":
            shown = True
            messages.append(step["partial"])
            world.emit("message_start", message=step["partial"])
        elif shown:
            messages[-1] = step["partial"]
            event = {key: step[key] for key in ("type", "contentIndex")}
            delta = {"delta": step["delta"]} if step["type"].endswith("_delta") else {}
            world.emit("message_update", message=step["partial"], assistantMessageEvent={**event, **delta})
    level = {"thinkingLevel": this.thinking_level} if this.world.version.notes_thinking_level else {}
    final = {**answer.final, **level}
    if shown:
        messages[-1] = final
    else:
        messages.append(final)
        world.emit("message_start", message=final)
    world.emit("message_end", message=final)
    return final


# --- the batch ------------------------------------------------------------------------------------------------------


def run_batch(world: World, context: Context, asked: list[Json], *, cut: bool) -> tuple[list[Json], bool]:
    """Run the calls of one answer; return the messages of their results, and whether they end the chain of turns.

    `cut`: the answer ended at the token limit, so that arguments may be incomplete.
    """
    calls = [Call(block) for block in asked]
    if cut and world.version.fails_truncated_calls:
        return [fail_truncated(world, call) for call in calls], False
    tools = [context.tool(block["name"]) for block in asked]
    alone = any(tool is not None and tool.get("executionMode") == "sequential" for tool in tools)
    if alone or world.tool_execution == "sequential":
        ended, messages = run_in_sequence(world, context, calls)
    else:
        ended, messages = run_in_parallel(world, context, calls)
    return messages, all(call.result is not None and call.result.get("terminate") is True for call in ended)


def run_in_sequence(world: World, context: Context, calls: list[Call]) -> tuple[list[Call], list[Json]]:
    """Run one call after the other; return those that were run, with the messages of their results."""
    messages: list[Json] = []
    for call in calls:
        prepare(world, context, call)
        if call.result is None:
            execute(world, call)
            finish(world, call, world.wait())
        end(world, call)
        messages.append(show_result(world, call))
        if world.aborted and not world.version.answers_every_call:
            break
    return calls[: len(messages)], messages


def run_in_parallel(world: World, context: Context, calls: list[Call]) -> tuple[list[Call], list[Json]]:
    """Prepare all calls, then run them side by side; return those that were run, with the messages of their results."""
    begun: list[Call] = []
    for call in calls:
        prepare(world, context, call)
        if call.result is not None:
            end(world, call)
        begun.append(call)
        if world.aborted and not world.version.answers_every_call:
            break
    running: dict[Execution, Call] = {}
    for call in [call for call in begun if call.result is None]:
        if world.aborted and world.version.looks_before_executing:
            call.fail(ABORTED)
            end(world, call)
        else:
            running[execute(world, call)] = call
    while running:
        execution = world.wait()
        call = running.pop(execution)
        finish(world, call, execution)
        end(world, call)
    return begun, [show_result(world, call) for call in begun]


def fail_truncated(world: World, call: Call) -> Json:
    """Answer a call that may be incomplete."""
    start(world, call)
    call.fail(
        f'Tool call "{call.asked["name"]}" was not executed: the response hit the output token limit, '
        "so its arguments may be truncated. Re-issue the tool call with complete arguments."
    )
    end(world, call)
    return show_result(world, call)
