"""What goes wrong on the way to a server and back, as failures."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import httpx

from turnwheel_adapters.apis.failures import Failure

_LOST: Final = (httpx.ReadError, httpx.WriteError, httpx.CloseError, httpx.RemoteProtocolError)
_UNSENDABLE: Final = (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError)


def failure_from(error: Exception, host: str) -> Failure:
    """Return the failure that an error of httpx is, on the way to that host."""
    if isinstance(error, httpx.PoolTimeout):
        told = f"no connection to {host} became free in time; let the client have more of them"
        return Failure("network", told, retryable=True, code="pool_timeout")
    if isinstance(error, httpx.ProxyError):
        return _of_proxy(error)
    if isinstance(error, httpx.ConnectError):
        return _of_connecting(error, host)
    if isinstance(error, _LOST):
        told = f"the connection to {host} was lost before the answer was complete ({_said(error)}); try again"
        return Failure("network", told, retryable=True, code="connection_lost")
    if isinstance(error, _UNSENDABLE):
        told = f"the request cannot be sent ({_said(error)}); check the base URL and the headers"
        return Failure("invalid_request", told, code="unsendable")
    if isinstance(error, httpx.DecodingError):
        told = f"the answer of {host} cannot be unpacked ({_said(error)}); check what is on the way to it"
        return Failure("protocol", told, code="bad_encoding")
    if isinstance(error, httpx.HTTPError):
        return Failure("network", f"the request to {host} failed ({_said(error)}); try again", retryable=True)
    return Failure("protocol", f"the answer of {host} could not be read ({_said(error)})", code="unreadable")


def connect_late(host: str, seconds: float) -> Failure:
    """Return the failure of a server that cannot be reached in time."""
    told = f"{host} could not be connected to within {seconds:g} s; check the connection and the base URL"
    return Failure("network", told, retryable=True, code="connect_timeout")


def first_byte_late(host: str, seconds: float) -> Failure:
    """Return the failure of a server that does not begin to answer."""
    told = f"{host} did not begin to answer within {seconds:g} s; try again, or allow more time for the first byte"
    return Failure("network", told, retryable=True, code="first_byte_timeout")


def idle(host: str, seconds: float) -> Failure:
    """Return the failure of a server that stopped in the middle."""
    told = f"nothing more came from {host} for {seconds:g} s; try again, or allow a longer silence"
    return Failure("network", told, retryable=True, code="idle_timeout")


def redirected(provider: str, status: int, location: str) -> Failure:
    """Return the failure of a server that sends its clients elsewhere: a key is not carried there."""
    to = f" to {location.partition('?')[0]}" if location else ""
    told = f"{provider} answered {status}, a redirect{to}; requests do not follow one: set the base URL to its end"
    return Failure("protocol", told, status=status, code="redirect")


def _of_connecting(error: httpx.ConnectError, host: str) -> Failure:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            told = f"the certificate of {host} is not trusted ({cause.verify_message}); {_TRUST}"
            return Failure("network", told, code="bad_certificate")
        if isinstance(cause, ssl.SSLError):
            told = f"no TLS with {host} ({_said(cause)}); check whether the base URL begins with the right scheme"
            return Failure("network", told, code="tls")
        if isinstance(cause, socket.gaierror):
            told = f"no address was found for {host}; check the base URL and the connection"
            return Failure("network", told, retryable=True, code="dns")
        if isinstance(cause, ConnectionRefusedError):
            told = f"{host} refused the connection; check that the server runs and the base URL is right"
            return Failure("network", told, retryable=True, code="refused")
    told = f"{host} could not be connected to ({_said(error)}); check the connection and the base URL"
    return Failure("network", told, retryable=True, code="connect")


_TRUST: Final = "if it is right, name the file of its authority in SSL_CERT_FILE"


def _of_proxy(error: httpx.ProxyError) -> Failure:
    # It begins with the status of the proxy's answer, where there was one.
    refused = re.match(r"4\d\d\b", str(error)) is not None
    told = f"the proxy did not let the request through ({_said(error)}); check HTTPS_PROXY and NO_PROXY"
    return Failure("network", told, retryable=not refused, code="proxy")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that led to it, those in groups too."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            waiting += [cause.__cause__, cause.__context__]
            if isinstance(cause, BaseExceptionGroup):
                waiting += cause.exceptions


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
