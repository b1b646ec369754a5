"""How long a request may take in its parts, and how often and after what time it is sent again. Data, no clock."""

from __future__ import annotations

from typing import final

from attrs import frozen

from turnwheel_adapters.apis.failures import Failure


@final
@frozen
class Limits:
    """The limits of one request, in seconds; math.inf is none. A whole answer may take as long as it takes.

    `connect_s`: to find the server and be connected, TLS included. `first_byte_s`: from then on to the first byte of
    the answer's body. `idle_s`: between two pieces of it. `grace_s`: for what may still follow a finished answer, such
    as its usage.
    """

    connect_s: float = 15.0
    first_byte_s: float = 300.0
    idle_s: float = 300.0
    grace_s: float = 2.0


@final
@frozen
class Retries:
    """How often a request that failed is sent again, and when: after twice as long each time, up to a cap.

    `longest_demanded_wait_ms`: where a server asks to wait for longer, the request fails at once.
    """

    most: int = 3
    base_ms: int = 500
    cap_ms: int = 8000
    longest_demanded_wait_ms: int = 60_000

    def too_long(self, failure: Failure) -> bool:
        """Say whether the server asks for a longer wait than is granted."""
        return failure.retry_after_ms is not None and failure.retry_after_ms > self.longest_demanded_wait_ms

    def delay_ms(self, failure: Failure, attempt: int, chance: float) -> int | None:
        """Return how long to wait after the failure of that attempt (from 1 on), or None: it is final.

        `chance`, from 0 to 1, takes up to half of the time off, so that clients do not come back all at once. A wait
        that the server asks for is kept to exactly.
        """
        if not failure.retryable or attempt > self.most or self.too_long(failure):
            return None
        if failure.retry_after_ms:
            return failure.retry_after_ms
        # No more doublings than matter: the number would grow without end.
        longest = min(self.cap_ms, self.base_ms << min(attempt - 1, 30))
        return round(longest * (1 - chance / 2))
