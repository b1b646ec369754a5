"""A log of runs with structlog: a line for each request and for each decision. Nobody logs who does not ask for it."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, Literal, TextIO, final

import structlog

from turnwheel.rules import Decision
from turnwheel_adapters.models.secret import Secrets

if TYPE_CHECKING:
    from turnwheel_adapters.models.http import Exchange

LogForm = Literal["console", "json"]


@final
class RunLog:
    """Observers of a run: `decided` is an on_decision, `exchanged` an on_request (turnwheel_adapters.models.http)."""

    def __init__(self, logger: Any) -> None:
        """Write to a logger of structlog's, as `logger_of` makes one, or as a program has configured its own."""
        self._logger = logger

    def decided(self, decision: Decision) -> None:
        """Log a decision: the row that fired, and what each guard said."""
        rule = decision.rule
        call = {} if decision.call is None else {"call": decision.call}
        self._logger.info(
            "decision",
            at=decision.at,
            machine=decision.machine,
            **call,
            state=str(rule.source),
            trigger=str(rule.trigger),
            guards=dict(decision.guards),
            to=str(rule.dest),
        )

    def exchanged(self, exchange: Exchange) -> None:
        """Log a request: who was asked, how long it took, and what came of it."""
        used = exchange.usage
        told: dict[str, Any] = {
            "provider": exchange.provider,
            "model": exchange.model,
            "attempt": exchange.attempt,
            "ms": exchange.ms,
            "status": exchange.status,
            "stop_reason": exchange.stop_reason,
            "kind": exchange.kind,
            "retry_ms": exchange.retry_ms,
        }
        if used is not None:
            told |= {"input": used.input, "output": used.output, "cache_read": used.cache_read}
        level = self._logger.info if exchange.kind is None else self._logger.warning
        level("request", **{name: value for name, value in told.items() if value is not None})


def logger_of(form: LogForm, file: TextIO, keys: Iterable[str | None] = ()) -> Any:
    """Return a logger that writes lines for people or JSON lines to a file, with these keys left out of all texts.

    It is a logger of its own: what structlog is configured with elsewhere stays as it is.
    """
    secrets = Secrets(keys)
    colors = file.isatty()
    renderer: Any = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=colors)
    )

    def redacted(logger: Any, method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {name: _redacted(value, secrets) for name, value in entry.items()}

    return structlog.wrap_logger(
        structlog.PrintLogger(file),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            redacted,
            renderer,
        ],
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _redacted(value: Any, secrets: Secrets) -> Any:
    match value:
        case str():
            return secrets.scrubbed(value)
        case dict():
            return {name: _redacted(part, secrets) for name, part in value.items()}
        case list() | tuple():
            return [_redacted(part, secrets) for part in value]
    return value
