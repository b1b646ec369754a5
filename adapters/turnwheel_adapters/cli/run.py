"""`turnwheel run`: one prompt, one trace."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

import anyio

from turnwheel import events as ev
from turnwheel.agent import Agent
from turnwheel.driver import Observer
from turnwheel.messages import AssistantMessage
from turnwheel.outcomes import Outcome
from turnwheel.requests import Stream
from turnwheel.rules import Decision, Dialect
from turnwheel.stream import Retry
from turnwheel.table import DEFAULT_DIALECT
from turnwheel.tool import Tool
from turnwheel_adapters.cli import output
from turnwheel_adapters.cli.interrupt import aborting_on_interrupt
from turnwheel_adapters.cli.model_options import add_model, log_of, opened, positive
from turnwheel_adapters.cli.output import AbortedError, CommandError, UsageError, named_dialect
from turnwheel_adapters.cli.screen import screen_of_stdout
from turnwheel_adapters.cli.steering import steering_by_lines
from turnwheel_adapters.cli.story import Story
from turnwheel_adapters.cli.view import HumanView, said_in_brief
from turnwheel_tools.workspace import NAMES, READ_ONLY, coding_tools

if TYPE_CHECKING:
    from turnwheel_adapters.cli.record import RunRecord

Asked = Callable[[], Awaitable[AssistantMessage | None]]
"""Runs the agent on the prompt."""

EXAMPLES = """examples:
  turnwheel run "read README.md and tell me how long it is"
  turnwheel run --model scripted:answers.json --json=deltas "go on"
  git diff | turnwheel run -
  turnwheel run --model anthropic/claude-sonnet-4-5 --allow edit,bash "make the failing test pass"
  turnwheel run --record run.jsonl "read README.md"; turnwheel explain run.jsonl
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    parser.add_argument("prompt", metavar="PROMPT", help="what to do; - reads it from standard input")
    parser.add_argument("--dialect", default=DEFAULT_DIALECT, metavar="D", help="whose rules (default: %(default)s)")
    parser.add_argument(
        "--tools",
        default=",".join(READ_ONLY),
        metavar="A,B",
        help=f"what the model may call, of {', '.join(NAMES)}; '' for nothing (default: %(default)s)",
    )
    parser.add_argument("--allow", default="", metavar="A,B", help="what it may call besides")
    parser.add_argument("--max-turns", type=positive, metavar="N", help="end the run after so many turns")
    parser.add_argument("--system", default="", metavar="TEXT", help="the system prompt (default: none)")
    parser.add_argument(
        "--json",
        action="store_const",
        const="full",
        help="print each event as Pi's JSON, a line each, and nothing else",
    )
    parser.add_argument(
        "--json=deltas", dest="json", action="store_const", const="deltas", help="the same without growing partials"
    )
    parser.add_argument(
        "--record", metavar="FILE", help="write a recording of the run, for turnwheel explain and turnwheel sequence"
    )
    parser.add_argument("--force", action="store_true", help="with --record: replace the file if it is there already")
    add_model(parser)


def run(arguments: Namespace) -> None:
    """Run an agent on one prompt. Raises CommandError where that does not end normally."""
    output.check_stdout()
    log = log_of(arguments)
    stream = opened(arguments, log)
    language = named_dialect(arguments.dialect)
    stopping = _stopping(arguments.max_turns, language)
    story = Story()
    record = _record(arguments)
    observers = [story.decided, *([record.decided] if record is not None else []), *([log.decided] if log else [])]
    agent = Agent(
        stream,
        model=arguments.model,
        thinking_level=arguments.thinking,
        system_prompt=arguments.system,
        tools=_tools(f"{arguments.tools},{arguments.allow}"),
        dialect=language,
        **stopping,
        clock=milliseconds,
        on_decision=_all(observers),
        on_step=None if record is None else record.step,
        on_outcome=_tell_retry,
    )
    prompt = _prompt(arguments.prompt)
    recorded = nullcontext() if record is None else record.of(agent, language, ["steering", "follow_up", *stopping])
    with recorded, aborting_on_interrupt(agent):
        asked = partial(_asked, agent, stream, prompt)
        answer = _show_json(agent, asked, arguments.json) if arguments.json else _show_people(agent, asked, story)
    _check_end(answer, agent.failure)
    if record is not None:
        record.check()


def _record(arguments: Namespace) -> RunRecord | None:
    if arguments.record is None:
        return None
    # Here, like the import below, so that only runs that need it load what writes JSON.
    from turnwheel_adapters.cli.record import RunRecord

    return RunRecord(arguments.record, replace=arguments.force, clock=milliseconds)


def _all(observers: Sequence[Observer]) -> Observer:
    def observer(decision: Decision) -> None:
        for each in observers:
            each(decision)

    return observer


def _tell_retry(position: int, outcome: Outcome) -> None:
    """Say on stderr that a request is sent again, since nothing else happens meanwhile."""
    if isinstance(outcome, Retry):
        seconds = f"{outcome.delay_ms / 1000:.1f}".removesuffix(".0")
        output.complain(f"{outcome.text} (trying again in {seconds} s, {outcome.attempt} of {outcome.most})")


async def _asked(agent: Agent, stream: Stream, prompt: str) -> AssistantMessage | None:
    """Prompt the agent, while the model keeps its connections if it has any."""
    async with AsyncExitStack() as connections:
        if isinstance(stream, AbstractAsyncContextManager):
            await connections.enter_async_context(stream)
        return await agent.prompt(prompt)


def _stopping(turns: int | None, language: Dialect) -> dict[str, Any]:
    """Return the hook that ends a run after so many turns. Raises UsageError where the Agent of `language` has none."""
    if turns is None:
        return {}
    if "should_stop" in language.agent.hooks:
        return {"should_stop": lambda turn: turn.number >= turns}
    if "finish_turn" in language.agent.hooks:
        return {"finish_turn": lambda turn: "end" if turn.number >= turns else None}
    raise UsageError(f"the agent of {language.name} has no stop hook, which --max-turns is: choose a later dialect")


def _show_json(agent: Agent, asked: Asked, form: str) -> AssistantMessage | None:
    # Here, so that only this form of output loads the reader and writer of JSON.
    from turnwheel.wire import event_to_json

    def show(event: ev.Event) -> None:
        output.write(output.json_line(event_to_json(event, partials=form == "full")))

    agent.subscribe(show)
    return anyio.run(asked)


def _show_people(agent: Agent, asked: Asked, story: Story) -> AssistantMessage | None:
    view = HumanView(screen_of_stdout())
    agent.subscribe(story)
    agent.subscribe(view)
    stdin: TextIO | None = sys.stdin
    if stdin is not None and stdin.isatty():
        steering_by_lines(agent)
    try:
        answer = anyio.run(asked)
    finally:
        view.close()
    view.line()
    for line in story.lines(agent.state.messages):
        view.line(line)
    for message in (*agent.queued_steering, *agent.queued_follow_up):
        view.line(f"unsent:  {said_in_brief(message)}")
    return answer


def milliseconds() -> int:
    """Return the time: milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def _check_end(answer: AssistantMessage | None, failure: Exception | None) -> None:
    if answer is None or answer.stop_reason == "aborted":
        raise AbortedError("the run was aborted")
    reason = answer.error_message or "it gave no reason"
    if failure is not None:
        raise CommandError(f"the run failed: {reason} (--debug shows where)") from failure
    if answer.stop_reason == "error":
        raise CommandError(f"the model failed: {reason} (run it again, or choose another --model)")


def _prompt(given: str) -> str:
    prompt = _read_prompt() if given == "-" else given
    if not prompt.strip():
        raise UsageError("the prompt is empty: say what to do")
    return prompt


def _read_prompt() -> str:
    stdin: TextIO | None = sys.stdin
    if stdin is None:
        raise UsageError("standard input is closed, so no prompt can be read from it")
    return stdin.read()


def _tools(names: str) -> list[Tool]:
    try:
        return coding_tools(".", [name.strip() for name in names.split(",") if name.strip()])
    except ValueError as error:
        raise UsageError(str(error)) from error
