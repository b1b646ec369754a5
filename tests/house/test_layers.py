"""Dependencies point downwards only, and each package imports only what it may."""

from __future__ import annotations

import ast
import sys
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]

HOMES: Final = {
    "turnwheel": "engine",
    "turnwheel_tools": "tools",
    "turnwheel_diagrams": "diagrams",
    "turnwheel_adapters": "adapters",
}
BELOW: Final[Mapping[str, set[str]]] = {
    "turnwheel": set(),
    "turnwheel_tools": {"turnwheel"},
    "turnwheel_diagrams": {"turnwheel"},
    "turnwheel_adapters": {"turnwheel", "turnwheel_tools", "turnwheel_diagrams"},
}
ENGINE: Final = {"anyio", "attrs", "cattrs", "transitions"}
FOREIGN: Final[Mapping[str, set[str]]] = {
    "turnwheel": ENGINE,
    "turnwheel.testing": ENGINE | {"hypothesis", "pytest"},
    "turnwheel_tools": ENGINE | {"docstring_parser", "jsonschema_rs", "msgspec", "pathspec"},
    "turnwheel_diagrams": ENGINE,
    "turnwheel_adapters": ENGINE | {"httpx", "jiter", "rich", "structlog"},
}
"""Third-party packages a package may import; the longest name that fits a module counts."""

TESTERS: Final = {"hypothesis", "pytest"}


class Import(NamedTuple):
    """One imported name: `target` is a module, or a name in one. Typed: for type checkers only. Lazy: in a function."""

    module: str
    target: str
    place: str
    typed: bool
    lazy: bool

    @property
    def root(self) -> str:
        """The top-level package that is imported."""
        return self.target.partition(".")[0]


class _Reader(ast.NodeVisitor):
    """Collects the imports of one module."""

    def __init__(self, module: str, file: str, *, package: bool) -> None:
        self.module = module
        self.file = file
        self.base = module.split(".") if package else module.split(".")[:-1]
        self.typed = False
        self.lazy = False
        self.found: list[Import] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._note(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = self.base[: len(self.base) - node.level + 1] if node.level else []
        source = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            self._note(f"{source}.{alias.name}", node.lineno)

    def visit_If(self, node: ast.If) -> None:
        self._inside("typed", node.body if _is_type_checking(node.test) else [])
        self._inside(None, node.orelse if _is_type_checking(node.test) else [*node.body, *node.orelse])

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._inside("lazy", node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def _inside(self, what: str | None, body: list[ast.stmt]) -> None:
        before = self.typed, self.lazy
        self.typed |= what == "typed"
        self.lazy |= what == "lazy"
        for node in body:
            self.visit(node)
        self.typed, self.lazy = before

    def _note(self, target: str, line: int) -> None:
        self.found.append(Import(self.module, target, f"{self.file}:{line}", self.typed, self.lazy))


def _is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in {getattr(test, "id", None), getattr(test, "attr", None)}


def read(source: str, module: str, file: str = "planted.py", *, package: bool = False) -> list[Import]:
    """Return every import of a module's source, those in functions and for type checkers too."""
    reader = _Reader(module, file, package=package)
    reader.visit(ast.parse(source))
    return reader.found


def modules() -> Iterator[tuple[str, Path]]:
    """Yield the name and file of each module of ours."""
    for package, home in HOMES.items():
        for path in sorted((ROOT / home / package).rglob("*.py")):
            parts = path.relative_to(ROOT / home).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def all_imports() -> list[Import]:
    """Return every import of every module of ours."""
    return [
        found
        for module, path in modules()
        for found in read(
            path.read_text(encoding="utf-8"),
            module,
            str(path.relative_to(ROOT)),
            package=path.name == "__init__.py",
        )
    ]


def upward(found: Import) -> bool:
    """Say whether an import reaches a package of ours that does not lie below its own."""
    home = found.module.partition(".")[0]
    return found.root in HOMES and found.root != home and found.root not in BELOW[home]


def foreign(found: Import) -> bool:
    """Say whether an import reaches a third-party package that its module may not use."""
    if found.root in HOMES or found.root in sys.stdlib_module_names:
        return False
    fits = [name for name in FOREIGN if f"{found.module}.".startswith(f"{name}.")]
    return found.root not in FOREIGN[max(fits, key=len)]


def source_of(found: Import, known: Container[str]) -> str | None:
    """Return the module of ours that an import loads, if it is one."""
    candidates = (found.target, found.target.rpartition(".")[0])
    return next((target for target in candidates if target in known), None)


def graph(imports: list[Import], known: set[str]) -> dict[str, set[str]]:
    """Return which known module imports which."""
    edges: dict[str, set[str]] = {module: set() for module in known}
    for found in imports:
        if target := source_of(found, known):
            edges[found.module].add(target)
    return edges


def reached(edges: Mapping[str, set[str]], start: str) -> set[str]:
    """Return every module that is imported, directly or not, by `start`."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = edges[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def cycles(edges: Mapping[str, set[str]]) -> set[tuple[str, ...]]:
    """Return the groups of modules that import each other."""
    closure = {module: reached(edges, module) for module in edges}
    return {
        tuple(sorted(other for other in closure[module] if module in closure[other]))
        for module in edges
        if module in closure[module]
    }


def lines(imports: list[Import]) -> list[str]:
    """Return one readable line for each import."""
    return [f"{found.place}: {found.module} imports {found.target}" for found in imports]


class TestReading:
    """The walk over the imports itself."""

    def test_finds_imports_everywhere(self) -> None:
        """Imports in functions, in classes, in branches and relative ones are all found."""
        source = (
            "import a.b\nfrom c import d\nfrom . import e\nfrom ..f import g\n"
            "def h():\n    import i\nclass J:\n    import k\ntry:\n    import l\nexcept ImportError: pass\n"
        )

        assert [found.target for found in read(source, "p.q.r")] == ["a.b", "c.d", "p.q.e", "p.f.g", "i", "k", "l"]

    def test_tells_when_an_import_happens(self) -> None:
        """An import for type checkers, one in a function and one of the module are told apart."""
        source = "if TYPE_CHECKING:\n    import a\nelse:\n    import b\ndef f():\n    import c\n"

        assert [(found.target, found.typed, found.lazy) for found in read(source, "m")] == [
            ("a", True, False),
            ("b", False, False),
            ("c", False, True),
        ]

    def test_a_package_is_its_own_base(self) -> None:
        """A relative import in an __init__ starts at the package, not above it."""
        assert read("from .x import y", "p.q", package=True)[0].target == "p.q.x.y"

    def test_sees_an_import_upwards(self) -> None:
        """The engine may not import the tools; the tools may import the engine."""
        assert upward(read("import turnwheel_tools.bash", "turnwheel.machine")[0])
        assert not upward(read("import turnwheel.tool", "turnwheel_tools.bash")[0])

    def test_sees_a_foreign_import(self) -> None:
        """A third-party package is refused where it is not allowed, the standard library never."""
        assert foreign(read("import pytest", "turnwheel.machine")[0])
        assert not foreign(read("import pytest", "turnwheel.testing.plugin")[0])
        assert not foreign(read("import json", "turnwheel.machine")[0])

    def test_sees_a_cycle(self) -> None:
        """Modules that import each other are found as one group, and nothing else is."""
        assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {("b", "c")}


class TestHouse:
    """The rules, held against the code."""

    def test_dependencies_point_downwards(self) -> None:
        """No package imports one that lies beside or above it."""
        wrong = [found for found in all_imports() if upward(found)]

        assert lines(wrong) == []

    def test_third_parties_are_the_allowed_ones(self) -> None:
        """Each package imports only the third-party packages that the list above gives it."""
        wrong = [found for found in all_imports() if foreign(found)]

        assert lines(wrong) == []

    def test_one_file_imports_transitions(self) -> None:
        """The library under the machine is fenced in: only turnwheel.wheel knows it."""
        wrong = [found for found in all_imports() if found.root == "transitions" and found.module != "turnwheel.wheel"]

        assert lines(wrong) == []

    def test_no_import_cycle(self) -> None:
        """No modules import each other at run time, in functions neither."""
        imports = [found for found in all_imports() if not found.typed]
        edges = graph(imports, {module for module, _ in modules()})
        knots = cycles(edges)
        wrong = [found for found in imports for knot in knots if {found.module, source_of(found, edges)} <= {*knot}]

        assert lines(wrong) == []

    def test_commands_need_no_test_library(self) -> None:
        """Loading turnwheel.testing.scripted loads neither hypothesis nor pytest, by no detour."""
        imports = [found for found in all_imports() if not (found.typed or found.lazy)]
        edges = graph(imports, {module for module, _ in modules()})
        loaded = {"turnwheel", "turnwheel.testing", "turnwheel.testing.scripted"}
        loaded |= {module for start in loaded for module in reached(edges, start)}
        wrong = [found for found in imports if found.module in loaded and found.root in TESTERS]

        assert lines(wrong) == []
