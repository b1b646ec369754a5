"""Models of providers on the command line: `turnwheel models`, and what `turnwheel run` takes for them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from tests.adapters.commands import Command, Ended
from tests.adapters.models.server import Answer, Server, serving
from tests.adapters.models.test_routing import CHAT
from turnwheel_adapters.models.providers import PROVIDERS

SECRET = "sk-proj-abcdefghijklmnop-qrstuv-7890"


def command(turnwheel: Command, *arguments: str, environ: Mapping[str, str] | None = None) -> Ended:
    """Run the command in a process of its own, with no variable of any provider set but these."""
    keys = {name for provider in PROVIDERS.values() for name in provider.keys}
    kept = {name: value for name, value in os.environ.items() if name not in keys}
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", "turnwheel_adapters.cli.main", *arguments],
        cwd=turnwheel.folder,
        env={**kept, "PYTHONPATH": path, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def server() -> Iterator[Server]:
    """Serve answers of openai-chat to every request."""
    with serving(Answer(CHAT % b"afar")) as server:
        yield server


class TestModels:
    def test_the_list(self, turnwheel: Command) -> None:
        """Each provider has its line: API, whether its key is set, and its address; never the key."""
        ended = command(turnwheel, "models", environ={"ANTHROPIC_API_KEY": SECRET})
        lines = {line.split()[0]: line for line in ended.out.splitlines()}

        assert (ended.status, ended.err) == (0, "")
        assert {f"{name}/…" for name in PROVIDERS} <= set(lines)
        assert "ANTHROPIC_API_KEY is set" in lines["anthropic/…"]
        assert "set OPENAI_API_KEY" in lines["openai/…"]
        assert "needs none" in lines["ollama/…"]
        assert SECRET not in ended.out

    def test_more_of_them(self, turnwheel: Command) -> None:
        """A file adds providers, by option or by variable."""
        file = turnwheel.write("p.toml", '[mine]\napi = "openai-chat"\nbase_url = "https://llm.example/v1"')

        assert "mine/…" in command(turnwheel, "models", "--providers", file).out
        assert "mine/…" in command(turnwheel, "models", environ={"TURNWHEEL_PROVIDERS": file}).out

    def test_a_bad_file(self, turnwheel: Command) -> None:
        """A file that does not fit is told of in one line."""
        ended = command(turnwheel, "models", "--providers", turnwheel.write("p.toml", "[mine]\nurl = 1"))

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith("turnwheel: p.toml: mine: there is no 'url'")


class TestRun:
    def test_an_answer(self, turnwheel: Command, server: Server) -> None:
        """The answer of a server is shown, and the request has the prompt, the tools and the key of the variable."""
        ended = command(
            turnwheel,
            *("run", "--model", "openai-chat/m", "--base-url", f"{server.url}/v1", "--max-tokens", "50", "hello"),
            environ={"OPENAI_API_KEY": SECRET},
        )
        sent = server.requests[0]

        assert ended.status == 0
        assert ended.out.startswith("from afar\n")
        assert sent.headers["authorization"] == f"Bearer {SECRET}"
        assert sent.json["messages"][-1] == {"role": "user", "content": "hello"}
        assert [tool["function"]["name"] for tool in sent.json["tools"]] == ["read", "grep", "find", "ls"]
        assert sent.json["max_completion_tokens"] == 50

    def test_thinking(self, turnwheel: Command, server: Server) -> None:
        """--thinking asks the model to think so much."""
        options = ("--model", "openai-chat/gpt-5", "--base-url", server.url, "--thinking", "high")
        command(turnwheel, "run", *options, "hello")

        assert server.requests[0].json["reasoning_effort"] == "high"

    def test_a_key_is_told_nowhere(self, turnwheel: Command) -> None:
        """A server that repeats the key cannot make it appear: not in events, nor in recording, log or error."""
        with serving(
            Answer.json({"error": {"message": f"bad key {SECRET}", "code": "invalid_api_key"}}, 401)
        ) as server:
            ended = command(
                turnwheel,
                *("run", "--model", "openai-chat/m", "--base-url", server.url, "--api-key", SECRET),
                *("--json", "--record", "r.jsonl", "--log", "json", "hello"),
            )
        recorded = (turnwheel.folder / "r.jsonl").read_text(encoding="utf-8")

        assert ended.status == 1
        assert "bad key" in ended.err
        assert SECRET not in ended.out + ended.err + recorded

    def test_a_retry_is_told(self, turnwheel: Command) -> None:
        """That a request is sent again is told on stderr, and the run goes on."""
        with serving(
            Answer.json({"error": {"message": "overloaded"}}, 503, {"retry-after-ms": "1"}), Answer(CHAT % b"afar")
        ) as server:
            ended = command(turnwheel, "run", "--model", "openai-chat/m", "--base-url", server.url, "hello")

        assert (ended.status, len(server.requests)) == (0, 2)
        assert "(trying again in 0 s, 1 of 3)" in ended.err

    def test_no_retries(self, turnwheel: Command) -> None:
        """--retries 0 sends a request once."""
        with serving(Answer.json({"error": {"message": "overloaded"}}, 503)) as server:
            ended = command(
                turnwheel, "run", "--model", "openai-chat/m", "--base-url", server.url, "--retries", "0", "hello"
            )

        assert (ended.status, len(server.requests)) == (1, 1)

    def test_the_log(self, turnwheel: Command, server: Server) -> None:
        """--log json writes each request and each decision to stderr, a line each."""
        ended = command(
            turnwheel, "run", "--model", "openai-chat/m", "--base-url", server.url, "--log", "json", "hello"
        )
        kinds = [json.loads(line)["event"] for line in ended.err.splitlines()]

        assert kinds.count("request") == 1
        assert kinds[-1] == "decision"

    def test_events_as_json(self, turnwheel: Command, server: Server) -> None:
        """--json prints the events of a run with a provider like those of any other."""
        ended = command(turnwheel, "run", "--model", "openai-chat/m", "--base-url", server.url, "--json", "hello")
        events = [json.loads(line) for line in ended.out.splitlines()]

        assert events[-1]["messages"][-1]["content"] == [{"type": "text", "text": "from afar"}]


class TestBadInput:
    """One clear line each, and exit status 1 or 2."""

    def told(self, ended: Ended, status: int, *words: str) -> None:
        line = ended.err.splitlines()[-1]
        assert ended.status == status
        assert line.startswith("turnwheel: ")
        for word in words:
            assert word in line
        assert "Traceback" not in ended.err

    def test_a_wrong_key(self, turnwheel: Command) -> None:
        """A key that the server refuses."""
        with serving(Answer.json({"error": {"message": "Incorrect API key provided"}}, 401)) as server:
            ended = command(turnwheel, "run", "--model", "openai-chat/m", "--base-url", server.url, "hi")
        self.told(ended, 1, "Incorrect API key", "key")

    def test_no_key(self, turnwheel: Command) -> None:
        """A key that is not set."""
        self.told(command(turnwheel, "run", "--model", "anthropic/m", "hi"), 2, "set ANTHROPIC_API_KEY")

    def test_an_unknown_provider(self, turnwheel: Command) -> None:
        """A provider that there is not."""
        self.told(command(turnwheel, "run", "--model", "nobody/m", "hi"), 2, "nobody/m", "turnwheel models")

    def test_an_unknown_model(self, turnwheel: Command) -> None:
        """A model that the server does not know."""
        error = {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}
        with serving(Answer.json(error, 404)) as server:
            ended = command(turnwheel, "run", "--model", "openai-chat/m", "--base-url", server.url, "hi")
        self.told(ended, 1, "does not exist")

    def test_no_server(self, turnwheel: Command) -> None:
        """An address where nobody answers."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        ended = command(turnwheel, "run", "--model", "openai-chat/m", "--base-url", url, "--retries", "0", "hi")
        self.told(ended, 1, f"127.0.0.1:{port} refused the connection", "base URL")

    def test_a_page(self, turnwheel: Command) -> None:
        """A page of HTML where an answer was expected."""
        page = Answer(b"<html><title>Welcome</title></html>", 200, {"content-type": "text/html"}, chunked=False)
        with serving(page) as server:
            ended = command(
                turnwheel, "run", "--model", "openai-chat/m", "--base-url", server.url, "--retries", "0", "hi"
            )
        self.told(ended, 1, "page")

    def test_a_proxy_that_refuses(self, turnwheel: Command) -> None:
        """A proxy that wants credentials."""
        with serving(Answer(b"", 407)) as proxy:
            ended = command(
                turnwheel,
                *("run", "--model", "openai-chat/m", "--base-url", "https://llm.example/v1", "--retries", "0", "hi"),
                environ={"HTTPS_PROXY": proxy.url, "NO_PROXY": ""},
            )
        self.told(ended, 1, "proxy")

    @pytest.mark.parametrize(
        "options",
        [("--retries", "-1"), ("--idle-timeout", "0"), ("--thinking", "lots"), ("--max-tokens", "0"), ("--log", "x")],
    )
    def test_options(self, turnwheel: Command, options: tuple[str, str]) -> None:
        """A value that an option does not take."""
        self.told(command(turnwheel, "run", *options, "hi"), 2, options[0])
