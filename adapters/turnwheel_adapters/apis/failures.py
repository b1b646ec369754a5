"""What can go wrong with a request, as a typed failure that an error message carries."""

from __future__ import annotations

from typing import Final, Literal, final, get_args

from attrs import frozen

from turnwheel.messages import AssistantMessage, Json

FailureKind = Literal[
    "auth",
    "not_found",
    "invalid_request",
    "context_overflow",
    "rate_limit",
    "quota",
    "overloaded",
    "server_error",
    "content_filter",
    "network",
    "protocol",
]
KINDS: Final[tuple[FailureKind, ...]] = get_args(FailureKind)


@final
@frozen
class Failure:
    """Why a request failed: `text` says what happened and what to do about it.

    `retryable` says whether the same request may succeed later, `retry_after_ms` how long the server asks to wait
    (None: it did not say), `status` is the HTTP status, `code` the server's own name of the error.
    """

    kind: FailureKind
    text: str
    retryable: bool = False
    status: int | None = None
    code: str | None = None
    retry_after_ms: int | None = None

    def to_json(self) -> dict[str, Json]:
        """Return it as an error message carries it, under `failure`, beside its errorMessage."""
        told = {
            "kind": self.kind,
            "retryable": self.retryable,
            "status": self.status,
            "code": self.code,
            "retryAfterMs": self.retry_after_ms,
        }
        return {name: value for name, value in told.items() if value is not None}


class Broken(Exception):
    """An answer cannot go on; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


def failure_of(message: AssistantMessage) -> Failure | None:
    """Return the failure that an error message carries, or None where it carries none."""
    told = message.extra.get("failure")
    if not isinstance(told, dict) or told.get("kind") not in KINDS:
        return None
    return Failure(
        told["kind"],
        message.error_message or "",
        retryable=told.get("retryable") is True,
        status=told.get("status"),
        code=told.get("code"),
        retry_after_ms=told.get("retryAfterMs"),
    )
