"""One call of a batch: announced, prepared, executed, ended, and its result shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tests.reference.arguments import ArgumentError, validated
from tests.reference.shapes import Context, Failed, Json
from tests.reference.versions import Version
from tests.reference.world import Execution, World

ABORTED: Final = "Operation aborted"
BLOCKED: Final = "Tool execution was blocked"


@dataclass
class Call:
    """A call of a batch, from its start to its end; what it comes to is None until it is known."""

    asked: Json
    arguments: Any = None
    result: Json | None = None
    is_error: bool = False

    @property
    def named(self) -> Json:
        """How events name the call."""
        return {"toolCallId": self.asked["id"], "toolName": self.asked["name"]}

    def fail(self, text: str, **fields: Any) -> None:
        """Let the call come to an error."""
        self.result = {"content": [{"type": "text", "text": text}], "details": {}, **fields}
        self.is_error = True


def start(world: World, call: Call) -> None:
    """Announce a call."""
    world.emit("tool_execution_start", **call.named, args=call.asked["arguments"])


def prepare(world: World, context: Context, call: Call) -> None:
    """Start a call and get it ready to be executed; where that fails, it has come to an error."""
    start(world, call)
    try:
        check(world, context, call)
    except (Failed, ArgumentError) as error:
        call.fail(str(error))


def check(world: World, context: Context, call: Call) -> None:
    """Look a call up, validate it and ask the before hook. Raises Failed or ArgumentError where it cannot go on."""
    version = world.version
    if world.aborted and version.answers_every_call:
        raise Failed(ABORTED)
    tool = context.tool(call.asked["name"])
    if tool is None:
        raise Failed(f"Tool {call.asked['name']} not found")
    arguments = world.prepare_arguments(tool, call.asked["arguments"])
    if version.reads_argument_errors and call.asked.get("argumentsError"):
        raise Failed(f'Invalid arguments for tool "{tool["name"]}": {call.asked["argumentsError"]}')
    call.arguments = validated(tool["name"], tool["parameters"], arguments, version.rules)
    said = world.before_tool_call(call.asked["id"], call.arguments)
    # Where every call is answered, the second look at the signal belongs to the hook.
    if world.aborted and (said is not None or not version.answers_every_call):
        raise Failed(ABORTED)
    if said and said.get("block"):
        may = version.block_may_terminate and said.get("terminate") is True
        call.fail(said.get("reason") or BLOCKED, **({"terminate": True} if may else {}))


def execute(world: World, call: Call) -> Execution:
    """Let the tool begin; what it reports is shown until the call has come to something."""

    def report(partial: Json) -> None:
        if call.result is None:
            args = call.asked["arguments"]
            world.emit("tool_execution_update", **call.named, args=args, partialResult=partial)

    return world.execute(call.asked["id"], call.arguments, report)


def finish(world: World, call: Call, execution: Execution) -> None:
    """Take what the tool came to, and let the after hook change it."""
    if execution.error is not None:
        call.fail(execution.error)
    else:
        call.result = execution.result
        call.is_error = world.version.results_may_be_errors and execution.result.get("isError") is True
    try:
        changes = world.after_tool_call(call.asked["id"], call.is_error)
    except Failed as error:
        call.fail(str(error))
        return
    if changes is not None and call.result is not None:
        call.result = changed(world.version, call.result, changes)
        call.is_error = call.is_error if changes.get("isError") is None else changes["isError"]


def changed(version: Version, result: Json, changes: Json) -> Json:
    """Return a result with the fields replaced that the after hook gives; null leaves the old value."""
    fields = ["content", "details", "terminate", *(["usage"] if version.copies_usage else [])]
    if version.hook_drops_structure:
        fields.append("structuredContent")
        if changes.get("content") is not None:
            result = {key: value for key, value in result.items() if key != "structuredContent"}
    kept = {key: value for key, value in result.items() if version.hook_keeps_fields or key in fields}
    return {**kept, **{key: changes[key] for key in fields if changes.get(key) is not None}}


def end(world: World, call: Call) -> None:
    """Show what a call came to."""
    world.emit("tool_execution_end", **call.named, result=call.result, isError=call.is_error)


def show_result(world: World, call: Call) -> Json:
    """Show the message that tells the model what a call came to, and return it."""
    version, result = world.version, call.result or {}
    content = result.get("content")
    if content is None and version.empties_missing_content:
        content = []
    copied = ["details", *(["usage"] if version.copies_usage else [])]
    if version.copies_added_tools and result.get("addedToolNames"):
        copied.append("addedToolNames")
    fields = {key: result[key] for key in copied if key in result}
    message = {"role": "toolResult", **call.named, "content": content, **fields, "isError": call.is_error}
    world.emit("message_start", message=message)
    world.emit("message_end", message=message)
    return message
