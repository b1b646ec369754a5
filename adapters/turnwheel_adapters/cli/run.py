"""`turnwheel run`: one prompt, one trace."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from typing import Final

from turnwheel import events as ev
from turnwheel.abort import AbortSignal
from turnwheel.driver import Driver
from turnwheel.machine import Machine
from turnwheel.messages import AssistantMessage, user
from turnwheel.outcomes import Begun, RunConfig
from turnwheel.table import DEFAULT_DIALECT
from turnwheel.tool import Context, Tool
from turnwheel.transcript import Transcript
from turnwheel_adapters.cli import output
from turnwheel_adapters.cli.interrupt import aborting_on_interrupt
from turnwheel_adapters.cli.output import AbortedError, CommandError, UsageError, named_dialect
from turnwheel_adapters.cli.story import Story
from turnwheel_adapters.cli.view import HumanView
from turnwheel_adapters.host import LocalHost, after_turns
from turnwheel_adapters.models import MODELS, open_model
from turnwheel_tools.read import read_tool

TOOLS: Final[Mapping[str, Callable[[], Tool]]] = {"read": read_tool}
"""The tools that can be given to a model, each for the working directory."""

EXAMPLES = """examples:
  turnwheel run "read README.md and tell me how long it is"
  turnwheel run --model scripted:answers.json --json=deltas "go on"
  git diff | turnwheel run -
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    models = ", ".join(form for form, _ in MODELS.values())
    parser.epilog = EXAMPLES
    parser.add_argument("prompt", metavar="PROMPT", help="what to do; - reads it from standard input")
    parser.add_argument("--model", default="demo", metavar="MODEL", help=f"one of {models} (default: demo)")
    parser.add_argument("--dialect", default=DEFAULT_DIALECT, metavar="D", help="whose rules (default: %(default)s)")
    parser.add_argument(
        "--tools", default="read", metavar="A,B", help="what the model may call, '' for nothing (default: %(default)s)"
    )
    parser.add_argument("--max-turns", type=_positive, metavar="N", help="end the run after so many turns")
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


def run(arguments: Namespace) -> None:
    """Drive one trace to its end. Raises CommandError where that is no normal one."""
    signal = AbortSignal()
    dialect = named_dialect(arguments.dialect)
    try:
        model = open_model(arguments.model, signal)
    except ValueError as error:
        raise UsageError(str(error)) from error
    stop = None if arguments.max_turns is None else after_turns(arguments.max_turns)
    host = LocalHost(model, dialect, signal=signal, stop=stop)
    begun = Begun(
        Context(arguments.system, Transcript(), tuple(_tools(arguments.tools))),
        (user(_prompt(arguments.prompt), timestamp=host.now()),),
        RunConfig(arguments.model, hooks=host.hooks),
        host.now(),
    )
    machine = Machine(begun, dialect)
    with aborting_on_interrupt(signal):
        failure = _show_json(machine, host, arguments.json) if arguments.json else _show_people(machine, host)
    _check_end(machine, signal, failure)


def _show_json(machine: Machine, host: LocalHost, form: str) -> Exception | None:
    # Here, so that only this form of output loads the reader and writer of JSON.
    from turnwheel.wire import event_to_json

    def show(event: ev.Event) -> None:
        output.write(output.json_line(event_to_json(event, partials=form == "full")))

    return _drive(Driver(machine, host, signal=host.signal), show)


def _show_people(machine: Machine, host: LocalHost) -> Exception | None:
    story, view = Story(), HumanView()

    def show(event: ev.Event) -> None:
        story(event)
        view(event)

    try:
        failure = _drive(Driver(machine, host, signal=host.signal, on_decision=story.decided), show)
    finally:
        view.close()
    view.line()
    for line in story.lines(machine.new_messages):
        view.line(line)
    return failure


def _drive(driver: Driver, show: Callable[[ev.Event], None]) -> Exception | None:
    """Drive the machine; return why the run broke off, if the world made it. What is shown is not the world."""
    try:
        driver.run(show)
    except BrokenPipeError:
        raise
    except Exception as error:
        return error
    return None


def _check_end(machine: Machine, signal: AbortSignal, failure: Exception | None) -> None:
    last = next((m for m in reversed(machine.new_messages) if isinstance(m, AssistantMessage)), None)
    if failure is not None:
        reason = str(failure) or type(failure).__name__
        raise CommandError(f"the run failed: {reason} (--debug shows where)") from failure
    if signal.aborted or (last is not None and last.stop_reason == "aborted"):
        raise AbortedError("the run was aborted")
    if last is not None and last.stop_reason == "error":
        reason = last.error_message or "it gave no reason"
        raise CommandError(f"the model failed: {reason} (run it again, or choose another --model)")


def _prompt(given: str) -> str:
    prompt = sys.stdin.read() if given == "-" else given
    if not prompt.strip():
        raise UsageError("the prompt is empty: say what to do")
    return prompt


def _tools(names: str) -> list[Tool]:
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in TOOLS:
            raise UsageError(f"there is no tool {name!r}; choose from {', '.join(TOOLS)}")
    return [TOOLS[name]() for name in wanted]


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)
