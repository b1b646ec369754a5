"""The options by which a command is told of a model: its name, address, key, limits; and the model that they open."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO
from uuid import uuid4

from turnwheel.requests import Stream
from turnwheel_adapters.cli.output import UsageError, read_file
from turnwheel_adapters.models import FORMS, open_model

if TYPE_CHECKING:
    from turnwheel_adapters.log import RunLog
    from turnwheel_adapters.models.providers import Provider
    from turnwheel_adapters.models.routing import Setup

LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh")
VARIABLE: Final = "TURNWHEEL_PROVIDERS"
"""The environment variable that names a file with more providers."""


def add_model(parser: ArgumentParser) -> None:
    """Have a command take the options."""
    parser.add_argument("--model", default="demo", metavar="MODEL", help=f"{', '.join(FORMS)} (default: demo)")
    group = parser.add_argument_group("models of providers (turnwheel models lists them)")
    group.add_argument("--base-url", metavar="URL", help="the address of the server, if it is not the provider's own")
    group.add_argument("--api-key", metavar="KEY", help="the key; better set the provider's variable")
    group.add_argument("--thinking", choices=LEVELS, default="off", metavar="LEVEL", help=f"{', '.join(LEVELS)}")
    group.add_argument("--max-tokens", type=positive, metavar="N", help="the longest answer, in tokens")
    group.add_argument(
        "--retries", type=_count, default=3, metavar="N", help="send a failed request again so often (default: 3)"
    )
    for name, about in (
        ("connect", "to be connected"),
        ("first-byte", "to the first byte of the answer"),
        ("idle", "between two pieces of it"),
    ):
        group.add_argument(f"--{name}-timeout", type=_seconds, metavar="S", help=f"seconds {about}")
    add_providers(group)
    group.add_argument(
        "--log", choices=("console", "json"), help="write each request and decision to stderr, for people or as JSON"
    )


def add_providers(parser: Any) -> None:
    """Have a command take a file with more providers."""
    parser.add_argument(
        "--providers", metavar="FILE", help=f"TOML with more providers (default: what {VARIABLE} names)"
    )


def opened(arguments: Namespace, log: RunLog | None) -> Stream:
    """Return the model that the arguments name. Raises UsageError where they do not fit, ParseError for a bad file."""
    offline = arguments.model.partition(":")[0].partition("/")[0] in ("demo", "scripted")
    try:
        return open_model(arguments.model, None if offline else _setup(arguments, log))
    except ValueError as error:
        raise UsageError(str(error)) from error


def log_of(arguments: Namespace) -> RunLog | None:
    """Return the log that the arguments ask for."""
    stderr: TextIO | None = sys.stderr
    if arguments.log is None or stderr is None:
        return None
    # Here, so that only those who log load structlog.
    from turnwheel_adapters.log import RunLog, logger_of
    from turnwheel_adapters.models.providers import PROVIDERS

    variables = {name for provider in PROVIDERS.values() for name in provider.keys}
    keys = [arguments.api_key, *(os.environ.get(name) for name in sorted(variables))]
    return RunLog(logger_of(arguments.log, stderr, keys))


def more_providers(arguments: Namespace) -> Mapping[str, Provider]:
    """Return the providers of the user's own file, if there is one. Raises ParseError for what does not fit."""
    # Here, so that commands that ask no provider start without this.
    from turnwheel_adapters.models.providers import read_providers

    file = arguments.providers or os.environ.get(VARIABLE)
    return read_providers(read_file(file).decode(errors="replace"), file) if file else {}


def _setup(arguments: Namespace, log: RunLog | None) -> Setup:
    from turnwheel_adapters.apis.api import Settings
    from turnwheel_adapters.models.limits import Limits, Retries
    from turnwheel_adapters.models.routing import Setup

    given = {"connect_s": arguments.connect_timeout, "first_byte_s": arguments.first_byte_timeout}
    given["idle_s"] = arguments.idle_timeout
    return Setup(
        base_url=arguments.base_url,
        key=arguments.api_key,
        settings=Settings(max_tokens=arguments.max_tokens, session_id=uuid4().hex),
        limits=Limits(**{name: value for name, value in given.items() if value is not None}),
        retries=Retries(most=arguments.retries),
        providers=more_providers(arguments),
        on_request=None if log is None else log.exchanged,
    )


def positive(text: str) -> int:
    """Read a whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"expected a whole number from 0 on, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not seconds > 0:
        raise ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}")
    return seconds
