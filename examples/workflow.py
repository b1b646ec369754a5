"""The second of three ways to use a model: a workflow. Several calls, and code decides what comes after which.

A writer and an editor take turns, and the code below knows the order: write, judge, and at most twice write again. The
models only fill in the steps; neither can ask for another step.
"""

from __future__ import annotations

from turnwheel import AbortSignal, user
from turnwheel.requests import ModelRequest, Stream
from turnwheel.stream import Finished
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedModel

MOST = 3

writer = ScriptedModel(
    [
        ScriptedAnswer(text="Our utterly amazing kettle boils water."),
        ScriptedAnswer(text="Our amazing kettle boils a litre of water."),
        ScriptedAnswer(text="The kettle boils a litre of water in two minutes."),
    ]
)
editor = ScriptedModel(
    [
        ScriptedAnswer(text="How much water?"),
        ScriptedAnswer(text="Leave out the praise, and say how long it takes."),
        ScriptedAnswer(text="OK"),
    ]
)


def ask(stream: Stream, task: str) -> str:
    """Call a model once and return the text of its answer."""
    steps = stream(ModelRequest("m0", messages=[user(task)]), AbortSignal())
    assert not hasattr(steps, "__await__")
    assert not hasattr(steps, "__anext__")
    (answer,) = [step.message.text for step in steps if isinstance(step, Finished)]
    return answer


def main() -> None:
    """Write until the editor has nothing to say, or often enough."""
    draft = ask(writer, "Write one sentence about the kettle.")
    for number in range(1, MOST + 1):
        verdict = ask(editor, f"Say OK, or what is wrong with this: {draft}")
        print(f"draft {number}: {draft}")
        print(f"editor:  {verdict}")
        if verdict == "OK":
            break
        draft = ask(writer, f"Write this anew: {draft} Mind this: {verdict}")


if __name__ == "__main__":
    main()
