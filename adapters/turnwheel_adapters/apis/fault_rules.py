"""What servers say when they fail, as data: names and words, in the order in which they decide, and what to do then."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, final

from attrs import field, frozen

from turnwheel_adapters.apis.failures import FailureKind


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


def plain_name(name: str) -> str:
    """Return the name of an error in lower case and without marks: RateLimitReached and rate_limit_reached are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _names(value: str) -> frozenset[str]:
    return frozenset(plain_name(name) for name in value.split())


@final
@frozen
class Rule:
    """A kind of failure and what shows it: one of the server's own `names`, or `words` of its text.

    No rule may look for a number: texts hold amounts, ids and addresses.
    """

    kind: FailureKind
    names: frozenset[str] = field(converter=_names, default="")
    words: re.Pattern[str] | None = None


RULES: Final[Sequence[Rule]] = (
    Rule(
        "quota",
        "insufficient_quota billing_hard_limit_reached billing_not_active insufficient_balance insufficient_credits "
        "payment_required usage_limit_reached usage_not_included quota_exceeded billing_error",
        _words(
            r"credit balance is too low",
            r"insufficient (?:account )?(?:balance|credits?|funds|quota)",
            r"(?:out of|no more|used all available|requires more) credits",
            r"(?:spending|spend|billing hard|monthly usage|usage) limit",
            r"extra usage is required",
            r"account is not active",
            r"per-?day",
            r"daily (?:token |request )?(?:limit|quota)",
        ),
    ),
    Rule(
        "rate_limit",
        "rate_limit_error rate_limit_exceeded rate_limit_reached rate_limited too_many_requests requests tokens "
        "throttling throttling_exception resource_exhausted tokens_per_minute requests_per_minute",
        _words(
            r"rate.?limit",
            r"too many requests",
            r"(?:tokens?|requests?) per (?:min|sec|hour|day)",
            r"wait before trying again",
            r"\b[rt]pm\b",
            r"throttl(?:ed|ing)",
            r"perminute",
        ),
    ),
    Rule(
        "context_overflow",
        "context_length_exceeded exceed_context_size_error model_context_window_exceeded request_too_large "
        "string_above_max_length context_window_exceeded",
        _words(
            r"prompt (?:is )?too long",
            r"input is too long",
            r"exceeds? the (?:available )?context (?:window|size|length)",
            r"exceeds? the (?:model'?s? )?(?:maximum )?context",
            r"input token count.*exceeds the maximum",
            r"maximum (?:prompt|context) length",
            r"maximum number of tokens allowed",
            r"reduce the length of (?:the|your) (?:messages|prompt|input)",
            r"(?:greater|longer) than the (?:model'?s )?context",
            r"context (?:window|length|size) (?:is )?(?:exceed|limit|overflow|too)",
            r"exceed(?:s|ed)? (?:the )?(?:model(?:'s)? )?(?:context|token) (?:window|limit)",
            r"too many (?:input )?tokens",
            r"token limit (?:exceeded|reached)",
            r"context[_ ]length[_ ]exceeded",
            r"exceeds the maximum allowed number of bytes",
        ),
    ),
    Rule(
        "auth",
        "invalid_api_key authentication_error unauthenticated unauthorized api_key_invalid api_key_expired "
        "invalid_authentication invalid_authentication_error permission_error permission_denied access_denied "
        "incorrect_api_key account_deactivated",
        _words(
            r"(?:invalid|incorrect|wrong|missing|expired|malformed|no|unknown) (?:\w+ )?(?:x-)?api[ _-]?key\b",
            r"(?:invalid|incorrect|wrong|expired) key(?:\.|$)",
            r"api[ _-]?key[^.]{0,40}(?:not valid|invalid|expired|missing|required|incorrect|not found)",
            r"(?:invalid|expired|missing|parse your|no) (?:authentication|auth|access|bearer)[ -](?:token|header|cred)",
            r"authentication (?:failed|required)",
            r"unauthori[sz]ed",
        ),
    ),
    Rule(
        "content_filter",
        "content_filter content_policy_violation responsible_ai_policy_violation prompt_blocked safety "
        "content_filtered moderation_blocked recitation data_inspection_failed",
        _words(
            r"content (?:management )?(?:policy|filter)",
            r"(?:input|prompt|content|request) was (?:flagged|blocked)",
            r"safety (?:system|filter|reasons)",
            r"usage polic(?:y|ies)",
        ),
    ),
    Rule(
        "not_found",
        "not_found not_found_error model_not_found model_not_exist deployment_not_found resource_not_found "
        "invalid_model unknown_model unknown_url",
        _words(
            r"model.{0,80}?(?:does not exist|not exist|not found|is not available)",
            r"(?:unknown|no such) model",
            r"not a valid model",
            r"no endpoints found",
        ),
    ),
    Rule(
        "overloaded",
        "overloaded overloaded_error unavailable server_overloaded engine_overloaded engine_overloaded_error "
        "model_overloaded service_unavailable service_unavailable_error capacity_exceeded no_capacity slow_down "
        "server_is_overloaded",
        _words(r"overloaded", r"(?:over|at|no|insufficient|exceeded) capacity", r"high demand", r"service unavailable"),
    ),
    Rule(
        "server_error",
        "server_error api_error internal internal_error internal_server_error timeout timeout_error cancelled "
        "deadline_exceeded tool_use_failed upstream_error provider_error processing_error aborted unknown data_loss",
    ),
)
"""In this order: the first rule that fits decides. What is above speaks plainer than what is below."""

BY_STATUS: Final[Mapping[int, FailureKind]] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    405: "not_found",
    407: "network",
    408: "server_error",
    409: "server_error",
    410: "not_found",
    413: "context_overflow",
    425: "server_error",
    429: "rate_limit",
    498: "overloaded",
    499: "server_error",
    503: "overloaded",
    529: "overloaded",
}
"""What a status means where no rule fits. The rest: 3xx protocol, 4xx invalid_request, 5xx server_error."""

FAULTY_REQUEST: Final = Rule(
    "invalid_request",
    "invalid_request_error invalid_request invalid_argument bad_request bad_request_error failed_precondition "
    "out_of_range validation_error unprocessable_entity invalid_prompt invalid_value unsupported_value "
    "unsupported_parameter",
    _words(r"\binvalid\b", r"unsupported|not supported", r"\bmust be\b", r"\bis required\b", r"malformed"),
)
"""What shows a faulty request where there is no status, as in a stream."""

WITH_429: Final[frozenset[FailureKind]] = frozenset({"quota", "rate_limit", "context_overflow", "overloaded"})
"""What alone can be meant by 429; with 401 it is only quota or auth."""

RETRYABLE: Final[frozenset[FailureKind]] = frozenset({"rate_limit", "overloaded", "server_error", "network"})

TOO_LARGE: Final = _words(r"request too large", r"tokens must be reduced", r"reduce your message size")
"""A request that alone is more than a rate allows: no waiting helps."""

ADVICE: Final[Mapping[FailureKind, str]] = {
    "auth": "Set a valid key; `turnwheel models` names the variable that it is read from.",
    "not_found": "Check the name of the model and the base URL.",
    "invalid_request": "Change what is asked: this model does not take it.",
    "context_overflow": "Shorten the conversation, or choose a model with a longer context.",
    "rate_limit": "Wait a little and try again.",
    "quota": "Look at plan and credit at the provider, or choose another provider.",
    "overloaded": "Wait a little and try again, or choose another model.",
    "server_error": "Try again; if it stays so, choose another model.",
    "content_filter": "Leave out what was refused, or choose another model.",
    "network": "Check the connection and the base URL.",
    "protocol": "Check the base URL, and that the server speaks this API.",
}
"""What a user can do."""
NOT_ALLOWED: Final = "The key is not allowed to do this: choose another model, or have it allowed at the provider."
REDUCE: Final = "The request alone is more than the limit: shorten the conversation, or choose another model."
