"""The run inspector's page, as it is written; tests/browser opens it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.diagrams.parsed import TABLES, name_of
from tests.engine.recordings import CASES, record
from turnwheel.errors import ParseError
from turnwheel.events import MessageEnd, MessageUpdate, ToolExecutionEnd, ToolExecutionStart
from turnwheel.messages import (
    AssistantMessage,
    Cost,
    CustomMessage,
    ImageContent,
    ThinkingContent,
    ToolCall,
    ToolResult,
    UnknownContent,
    Usage,
    UserMessage,
)
from turnwheel.recorded import Header, RecordedEvent, Recording, read_recording
from turnwheel.rules import Dialect, Table
from turnwheel.stream import Delta, Partial, TextDelta, ToolCallEnd, ToolCallStart
from turnwheel.table import dialect
from turnwheel_diagrams.graph import graph_of
from turnwheel_diagrams.page import Shown, page_of, pictures_of
from turnwheel_diagrams.page.building import as_json


def shown(name: str, language: str = "pi-0.85.1", *, old: str = "", new: str = "") -> Shown:
    """Return a scripted run; in its recording `new` takes the place of `old`."""
    lines = [line.replace(old, new) if old else line for line in record(name, language)]
    return Shown(f"{name}.jsonl", read_recording(lines), dialect(language))


def built(*events: Any) -> Shown:
    """Return a run that has these events."""
    entries = [RecordedEvent(at, None, event) for at, event in enumerate(events)]
    return Shown("built", Recording(Header("pi-0.85.1", "m0", "off", "parallel", (), ()), entries), dialect())


def data_of(page: str) -> Any:
    """Return the data that a page carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def blocks_of(*events: Any) -> list[Any]:
    """Return the blocks of a page of these events."""
    blocks: list[Any] = data_of(page_of([built(*events)], {}))["blocks"]
    return blocks


class TestSafety:
    """What a run says is data in the page, and nothing else."""

    def test_markup_in_a_run(self) -> None:
        """A tool result that would end the script is in the page as escaped text only."""
        evil = "</script><img src=x onerror=alert(1)> \u2028 &amp;"
        page = page_of([built(ToolExecutionEnd("c", "read", ToolResult.of(evil), False))], {})

        assert "onerror" in page
        assert "<img" not in page
        assert "\u2028" not in page
        assert data_of(page)["blocks"] == [{"kind": "text", "text": evil}]

    @given(st.recursive(st.text() | st.floats() | st.none(), lambda it: st.lists(it) | st.dictionaries(st.text(), it)))
    def test_json(self, value: Any) -> None:
        """Whatever the value, its JSON has no markup, fits UTF-8 and is read back; what JSON lacks is null."""
        text = as_json(value)

        assert not re.search("[<>&\u2028\u2029]", text)
        assert as_json(json.loads(text.encode())) == text

    def test_half_a_surrogate_pair(self) -> None:
        """Half a surrogate pair, which UTF-8 lacks, is JSON's escape."""
        assert as_json({"a": "\ud800", "b": float("inf")}) == '{"a":"\\ud800","b":null}'

    def test_the_policy(self) -> None:
        """Only the page's own script and style, by their hashes, and images in the page itself are let in."""
        page = page_of([shown("hard stop")], {})
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
        hashes = [self.hash_of(page, tag) for tag in ("script", "style")]

        assert policy
        assert policy[1] == (
            f"default-src 'none'; script-src '{hashes[0]}'; style-src '{hashes[1]}'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )

    def hash_of(self, page: str, tag: str) -> str:
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"

    def test_no_address(self) -> None:
        """The page names no other place, and has no handlers and styles in its markup."""
        page = page_of([shown("hard stop")], pictures_of([dialect()]))

        assert not re.search(r"https?://|<link|\ssrc=|\sstyle=\"|\son\w+=\"", page)

    def test_the_script_parses_nothing(self) -> None:
        """The script puts no text into the page as markup, and asks no network."""
        page = page_of([shown("hard stop")], {})

        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(", page)

    def test_a_name(self) -> None:
        """The name of a file is escaped in the title."""
        run = shown("hard stop")
        page = page_of([Shown("<b>.jsonl", run.recording, run.dialect)], {})

        assert "<title>&lt;b&gt;.jsonl · turnwheel</title>" in page


class TestData:
    """What the page is told of a run."""

    @pytest.mark.parametrize(("name", "language"), CASES)
    def test_every_entry(self, name: str, language: str) -> None:
        """Each entry of each run of each dialect is there, in its order, with its position and kind."""
        run = shown(name, language)
        (told,) = data_of(page_of([run], {}))["runs"]
        kinds = [type(entry).__name__.removeprefix("Recorded").lower() for entry in run.recording.entries]

        assert [entry["at"] for entry in told["entries"]] == [entry.at for entry in run.recording.entries]
        assert [entry["kind"].removesuffix("ed") for entry in told["entries"]] == kinds

    def test_verdicts_are_shared(self) -> None:
        """Decisions of the same rule with the same guards share one explanation; it has reason, guards, and others."""
        data = data_of(page_of([shown("follow-up")], {}))
        places = [entry["verdict"] for entry in data["runs"][0]["entries"] if entry["kind"] == "decision"]
        last = data["verdicts"][places[-1]]

        assert len(data["verdicts"]) == len({*places}) < len(places)
        assert (last["why"], last["dest"], last["stops"]) == ("Nothing is left to do.", "Done", True)
        assert last["notHeld"] == [{"name": "pending", "meaning": last["others"][0]["lacked"][0]["meaning"]}]
        assert [(each["name"], each["wanted"]) for each in last["others"][0]["lacked"]] == [("pending", True)]

    def test_rows(self) -> None:
        """The number of a verdict's row is its place in the table."""
        data = data_of(page_of([shown("parallel tools")], {}))
        tables = {table.name: table for table in dialect().tables}

        assert all(tables[each["machine"]].rules[each["row"]].name == each["name"] for each in data["verdicts"])

    def test_messages_are_kept_once(self) -> None:
        """A message is there once, however often it is told of, and so is the text of a result and of its message."""
        page = page_of([shown("parallel tools")], {})

        assert page.count('"at last"') == 1
        assert page.count('"go"') == 1

    def test_blocks(self) -> None:
        """Thinking, JSON of other kinds, and a custom message's data are told as what they are."""
        said = UserMessage((ThinkingContent("hm", redacted=True), UnknownContent({"type": "x"})))
        custom = CustomMessage("note", {"a": 1})

        assert blocks_of(MessageEnd(said), MessageEnd(custom)) == [
            {"kind": "thinking", "text": "hm", "redacted": True},
            {"kind": "json", "text": '{\n  "type": "x"\n}'},
            {"kind": "json", "text": '{\n  "a": 1\n}'},
        ]

    def test_an_answer(self) -> None:
        """An answer has its stop reason, what went wrong, and what it used."""
        usage = Usage(input=3, output=2, cache_read=1, cost=Cost(total=0.5))
        answer = AssistantMessage((), "error", model="m", usage=usage, error_message="busy")
        (told,) = data_of(page_of([built(MessageEnd(answer))], {}))["messages"]

        assert told.pop("usage") == {"input": 3, "output": 2, "cacheRead": 1, "cacheWrite": 0, "cost": 0.5}
        assert told == {"role": "assistant", "blocks": [], "stop": "error", "model": "m", "error": "busy"}

    def test_a_growing_answer(self) -> None:
        """Each step of an answer has its kind, its block, and what it adds; a whole call is a block."""
        steps: list[Delta] = [
            TextDelta(0, "hi"),
            ToolCallStart(1, "c", "read"),
            ToolCallEnd(1, ToolCall("c", "read", {})),
        ]
        data = data_of(page_of([built(*(MessageUpdate(step, Partial([]), 0) for step in steps))], {}))
        told = [{key: entry[key] for key in entry if key not in ("kind", "type", "at")} for entry in self.entries(data)]

        assert told == [
            {"step": "text_delta", "block": 0, "text": "hi"},
            {"step": "toolcall_start", "block": 1, "call": "c", "tool": "read"},
            {"step": "toolcall_end", "block": 1, "whole": 0},
        ]

    def entries(self, data: Any) -> list[Any]:
        entries: list[Any] = data["runs"][0]["entries"]
        return entries

    def test_effects(self) -> None:
        """An effect has its type and the call or the request that it is about."""
        effects = [entry for entry in self.entries(data_of(page_of([shown("stop hook")], {}))) if "id" in entry]
        told = {entry["type"]: {key: entry.get(key) for key in ("call", "tool", "model")} for entry in effects}

        assert told["execute_tool"] == {"call": "a", "tool": "slow", "model": None}
        assert told["call_model"] == {"call": None, "tool": None, "model": "m0"}

    @pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/gif", "image/webp"])
    def test_images(self, kind: str) -> None:
        """Images of the common types are shown."""
        assert blocks_of(MessageEnd(UserMessage((ImageContent("AAAA", kind),)))) == [
            {"kind": "image", "type": kind, "data": "AAAA"}
        ]

    @pytest.mark.parametrize("kind", ["image/svg+xml", "text/html", "image/png;x"])
    def test_other_images(self, kind: str) -> None:
        """Of an image of any other type the page only says that it was there."""
        (block,) = blocks_of(MessageEnd(UserMessage((ImageContent("AAAA", kind),))))

        assert (block["kind"], kind in block["text"], "AAAA" in block["text"]) == ("note", True, False)

    def test_large_numbers(self) -> None:
        """Arguments are text, so that a number which JavaScript would round stays as it was."""
        page = page_of([built(ToolExecutionStart("c", "read", {"n": 12345678901234567890}))], {})

        assert data_of(page)["runs"][0]["entries"][0]["text"] == '{\n  "n": 12345678901234567890\n}'

    def test_a_row_that_is_not_known(self) -> None:
        """A decision that is not of the dialect is an error with the name of the recording and the position."""
        run = shown("hard stop", old="CheckStop ready", new="x")

        with pytest.raises(ParseError, match=r"hard stop.jsonl: position 8: the loop of pi-0.85.1 has no row"):
            page_of([run], {})


class TestBytes:
    """The bytes of a page."""

    def test_are_the_same(self) -> None:
        """The same recording gives the same page, byte for byte."""
        pages = [page_of([shown("parallel tools")], pictures_of([dialect()])) for _ in range(2)]

        assert pages[0].encode() == pages[1].encode()


class TestTwoRuns:
    """Two runs in one page."""

    def test_the_difference(self) -> None:
        """Where they part is told in words, and with the entry of each of them that says so."""
        data = data_of(page_of([shown("hard stop"), shown("follow-up")], {}))
        told = data["difference"]
        entries = [run["entries"][told[key]] for run, key in zip(data["runs"], "ab", strict=True)]
        names = [data["verdicts"][entry["verdict"]]["name"] for entry in entries]

        assert told["words"]
        assert names[0] != names[1]

    def test_no_difference(self) -> None:
        """Runs with the same decisions have no entry to go to."""
        data = data_of(page_of([shown("hard stop"), shown("hard stop", old="overloaded", new="busy")], {}))

        assert data["difference"] == {"words": ["Both runs took the same decisions."]}

    def test_one_is_shorter(self) -> None:
        """Where a run has no such decision, its last entry is the place to look at."""
        whole = shown("hard stop")
        recording = Recording(whole.recording.header, whole.recording.entries[:8])
        told = data_of(page_of([whole, Shown("torn", recording, whole.dialect)], {}))["difference"]

        assert told["b"] == 7

    def test_both_dialects_are_drawn(self) -> None:
        """Runs of two dialects have the states of both."""
        data = data_of(page_of([shown("hard stop"), shown("hard stop", "pi-1.6.0")], {}))

        assert [*data["states"]] == ["pi-0.85.1", "pi-1.6.0"]


class TestPictures:
    """The diagrams in the page."""

    @pytest.mark.parametrize("case", TABLES, ids=name_of)
    def test_states_and_rows(self, case: tuple[Dialect, Table]) -> None:
        """Each state is a group that can be lit, and each row that is drawn one that can be marked, once."""
        each, table = case
        root = ET.fromstring(pictures_of([each])[each.name, table.name])
        drawn = {number for edge in graph_of(table, each.name).edges for number in edge.numbers}

        assert sorted(self.told(root, "data-state")) == sorted(map(str, table.states))
        assert sorted(self.told(root, "data-row"), key=int) == [str(number) for number in sorted(drawn)]

    def told(self, root: ET.Element, attribute: str) -> list[str]:
        return [group.get(attribute, "") for group in root.iter("g") if group.get(attribute) is not None]

    def test_words(self) -> None:
        """A state has its name, and an edge tells its rows with their reasons."""
        root = ET.fromstring(pictures_of([dialect()])["pi-0.85.1", "loop"])
        titles = [title.text or "" for title in root.iter("title")]

        assert {text.text for text in root.iter("text")} == {*dialect().loop.states}
        assert any("AwaitFollowUp follow_up !pending: Nothing is left to do." in title for title in titles)

    def test_made_of_few_elements(self) -> None:
        """Nothing but shapes and texts is taken over, without colours, links and ids."""
        for picture in pictures_of([dialect("pi-1.6.0")]).values():
            root = ET.fromstring(picture)
            attributes = {key for element in root.iter() for key in element.attrib}

            assert {each.tag for each in root.iter()} <= {"svg", "g", "title", "path", "polygon", "ellipse", "text"}
            assert not attributes & {"id", "href", "style", "fill", "stroke"}

    def test_are_in_the_page(self) -> None:
        """Each picture is a template under the names of dialect and machine; without pictures there is none."""
        run = shown("hard stop")
        names = re.findall(r'<template data-picture="([^"]*)">', unescape(page_of([run], pictures_of([run.dialect]))))

        assert names == ["pi-0.85.1 loop", "pi-0.85.1 batch", "pi-0.85.1 call"]
        assert "<template data-picture" not in page_of([run], {})
