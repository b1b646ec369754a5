"""The engine reads no clock, no randomness, no environment, no file and no socket, and depends on no hash order."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

CLOCKS: Final = {"calendar", "datetime", "sched", "time", "timeit", "zoneinfo"}
CHANCE: Final = {"random", "secrets", "uuid"}
FILES: Final = {"fileinput", "glob", "io", "linecache", "mmap", "os", "pathlib", "shutil", "sqlite3", "tempfile"}
WORLD: Final = {"ctypes", "getpass", "http", "locale", "logging", "platform", "sys", "urllib", "warnings"}
PROCESSES: Final = {"asyncio", "concurrent", "multiprocessing", "queue", "signal", "subprocess", "threading"}
SOCKETS: Final = {"select", "selectors", "socket", "socketserver", "ssl"}
IMPURE: Final = CLOCKS | CHANCE | FILES | WORLD | PROCESSES | SOCKETS
"""Modules through which the world comes in."""

ASYNC: Final[Mapping[str, set[str]]] = {
    "engine/turnwheel/async_driver.py": {"asyncio"},
    "engine/turnwheel/awaiting.py": {"asyncio"},
    "engine/turnwheel/iterating.py": {"asyncio", "sys"},
    "engine/turnwheel/loop.py": {"threading"},
    "engine/turnwheel/running.py": {"threading"},
    "engine/turnwheel/threads.py": {"asyncio", "sys", "threading"},
}
"""The files that run tasks or threads may ask in which they are; what the machine sees still comes as outcomes."""

READS: Final = {"breakpoint", "input", "open", "print", "__import__"}
ADDRESSES: Final = {"hash", "id"}
"""Their values differ from process to process, so nothing may depend on them; `__hash__` may call hash."""

SETS: Final = {"set", "frozenset"}
ORDERED: Final = {"list", "tuple", "enumerate", "zip", "iter", "next", "join"}
"""Calls that give a set's elements an order: that of the hashes."""


def impurities(source: str, file: str) -> list[str]:
    """Return one line, with file and line number, for each impure import or call in a source text."""
    tree = ast.parse(source)
    excused = {node for method in ast.walk(tree) if _named(method, "__hash__") for node in ast.walk(method)}
    impure = IMPURE - ASYNC.get(file, set())
    found = [
        (node.lineno, problem)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt | ast.expr) and node not in excused
        for problem in _problems(node, impure)
    ]
    return [f"{file}:{line}: {problem}" for line, problem in sorted(found)]


def _named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _problems(node: ast.stmt | ast.expr, impure: set[str]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (f"imports {alias.name}" for alias in names if _root(alias.name) in impure)
        case ast.ImportFrom(module=str(module), level=0) if _root(module) in impure:
            yield f"imports {module}"
        case ast.Call(func=ast.Name(id=name)) if name in READS | ADDRESSES:
            yield f"calls {name}()"
        case ast.Call(keywords=keywords) if any(_is_address(word.value) for word in keywords):
            yield "orders by hash or address"
        case _ if any(_is_set(part) for part in _ordered(node)):
            yield "depends on the order of a set"


def _root(module: str) -> str:
    return module.partition(".")[0]


def _is_address(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ADDRESSES


def _is_set(node: ast.expr) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in SETS
    return False


def _ordered(node: ast.stmt | ast.expr) -> list[ast.expr]:
    """Return the parts of a node whose elements it takes one after the other."""
    match node:
        case ast.For(iter=iterable):
            return [iterable]
        case ast.ListComp(generators=parts) | ast.GeneratorExp(generators=parts) | ast.DictComp(generators=parts):
            return [part.iter for part in parts]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments) if name in ORDERED:
            return arguments
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [part.value for part in parts if isinstance(part, ast.Starred)]
    return []


class TestDetector:
    """The detector itself: an empty list means something only if it finds what is planted."""

    @pytest.mark.parametrize(
        ("source", "problem"),
        [
            ("import time", "imports time"),
            ("import os.path as p", "imports os.path"),
            ("from datetime import datetime", "imports datetime"),
            ("def f():\n    import random", "imports random"),
            ("open('x')", "calls open()"),
            ("x = input()", "calls input()"),
            ("x = hash('a') % 2", "calls hash()"),
            ("x = id(x) < id(y)", "calls id()"),
            ("sorted(xs, key=id)", "orders by hash or address"),
            ("for x in {1, 2}: pass", "depends on the order of a set"),
            ("y = [x for x in set(xs)]", "depends on the order of a set"),
            ("y = tuple(frozenset(xs))", "depends on the order of a set"),
            ("y = ', '.join({x for x in xs})", "depends on the order of a set"),
            ("y = [*set(xs)]", "depends on the order of a set"),
        ],
    )
    def test_finds_what_is_planted(self, source: str, problem: str) -> None:
        """Each kind of impurity is found and named with its file and line."""
        found = impurities(f"'''A docstring.'''\n{source}\n", "planted.py")

        assert found
        assert found[0].startswith("planted.py:")
        assert found[0].endswith(f": {problem}")

    def test_names_the_line(self) -> None:
        """The line is that of the import or call."""
        assert impurities("x = 1\n\nimport uuid\n", "a.py") == ["a.py:3: imports uuid"]

    def test_excuses_one_file_for_one_module(self) -> None:
        """A file that runs tasks may import asyncio and nothing else; no other file may."""
        driver = "engine/turnwheel/async_driver.py"

        assert impurities("import asyncio\nimport time\n", driver) == [f"{driver}:2: imports time"]
        assert impurities("import asyncio\n", "a.py") == ["a.py:1: imports asyncio"]

    def test_leaves_pure_code_alone(self) -> None:
        """Pure modules, sorted sets, membership, `__hash__`, and names that only look impure pass."""
        source = (
            "import json\nfrom turnwheel.time import now\nfrom .io import x\n"
            "y = sorted(set(xs))\nz = a in {1, 2}\nself.open()\ncall.id\n"
            "class A:\n    def __hash__(self):\n        return hash(self.key())\n"
        )

        assert impurities(source, "a.py") == []


class TestEngine:
    """The rule, held against the engine."""

    def test_the_engine_is_pure(self) -> None:
        """No module of turnwheel, its testing helpers included, is impure."""
        files = sorted((ROOT / "engine" / "turnwheel").rglob("*.py"))
        found = [
            line
            for path in files
            for line in impurities(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
        ]

        assert files
        assert found == []
