"""Takes a scenario into the corpus, with the traces that real Pi gives of it: `python -m tests.conformance.keep`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.real_pi import RealPi, installed, why_missing
from tests.conformance.traces import HERE
from turnwheel.errors import ParseError
from turnwheel.messages import Json
from turnwheel.table import DIALECTS
from turnwheel.testing.scenario import read_json, read_scenario


def main() -> int:
    """Write the scenario and its golden traces; return 1 where that cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.keep", description=__doc__)
    parser.add_argument("name", help="what the scenario shows, in words joined by hyphens")
    parser.add_argument("file", type=Path, help="the scenario, in JSON")
    parser.add_argument("--description", default="", help="the rule that it pins (default: what the scenario says)")
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", arguments.name):
        parser.error(f"a name is words in lower case, joined by hyphens, not {arguments.name!r}")
    try:
        scenario = read_json(arguments.file.read_bytes(), str(arguments.file))
        dialects = read_scenario(scenario, str(arguments.file)).dialects or list(DIALECTS)
    except (OSError, ParseError) as error:
        print(error, file=sys.stderr)
        return 1
    for dialect in dialects:
        if not installed(dialect):
            print(why_missing(dialect), file=sys.stderr)
            return 1
    description = arguments.description or scenario.get("description", "")
    keep(arguments.name, {**scenario, "name": arguments.name, "description": description}, dialects)
    return 0


def keep(name: str, scenario: Json, dialects: Sequence[str]) -> None:
    """Write a scenario, and the trace that real Pi gives of it in each of these dialects."""
    file = HERE / "corpus" / f"{name}.json"
    first = {key: scenario[key] for key in ("name", "description", "dialects") if key in scenario}
    file.write_text(json.dumps({**first, **scenario}, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    print(file)
    for dialect in dialects:
        with RealPi(dialect) as pi:
            trace = pi.play(scenario)
        golden = HERE / "golden" / dialect / f"{name}.jsonl"
        golden.write_text("".join(f"{canonical(line)}\n" for line in trace), encoding="utf-8")
        print(golden)


def canonical(line: Json) -> str:
    """Return a line of a trace as the golden files have it."""
    return json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(main())
