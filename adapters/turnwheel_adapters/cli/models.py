"""`turnwheel models`: the providers, how their models are named, and whether a key is set."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from turnwheel_adapters.cli.model_options import add_providers, more_providers
from turnwheel_adapters.cli.output import write

if TYPE_CHECKING:
    from turnwheel_adapters.models.providers import Provider

EXAMPLES = """examples:
  turnwheel models
  turnwheel run --model anthropic/claude-sonnet-4-5 "hello"
  turnwheel run --model openai-chat/my-model --base-url http://localhost:8000/v1 "hello"

A file of more providers, for --providers FILE or the variable TURNWHEEL_PROVIDERS:
  [mine]
  api = "openai-chat"             # or openai-responses, anthropic-messages, google-gemini
  base_url = "https://llm.example/v1"
  keys = ["MY_KEY"]
  [mine.compat]                   # in what its server differs from the API's own
  max_tokens = "max_tokens"
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    add_providers(parser)


def run(arguments: Namespace) -> None:
    """List the providers. Raises ParseError for a file of providers that does not fit."""
    more = more_providers(arguments)
    # Here, so that the other commands start without it.
    from turnwheel_adapters.models.providers import PROVIDERS

    write("".join(f"{line}\n" for line in _lines({**PROVIDERS, **more})))


def _lines(providers: Mapping[str, Provider]) -> Iterator[str]:
    rows = [("model", "API", "key", "address")]
    rows += [("demo", "-", "needs none", "built in"), ("scripted:FILE", "-", "needs none", "built in")]
    rows += [(f"{name}/…", provider.api, _key(provider), _address(provider)) for name, provider in providers.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    yield from (_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    *cells, last = row
    return "  ".join([*(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)), last])


def _key(provider: Provider) -> str:
    found = next((name for name in provider.keys if os.environ.get(name, "").strip()), None)
    if found is not None:
        return f"{found} is set"
    names = " or ".join(provider.keys)
    return f"set {names}" if provider.key_needed and names else "needs none"


def _address(provider: Provider) -> str:
    if provider.base_url is not None:
        return provider.base_url
    return f"--base-url, or set {provider.base_url_from}" if provider.base_url_from else "--base-url"
