"""A trace abridged for people: events with their numbers, the calls of callbacks indented between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from turnwheel.messages import Json
from turnwheel_adapters.cli.output import brief, json_line

Line = Mapping[str, Json]


def timeline(trace: Sequence[Line], title: str) -> Iterator[str]:
    """Yield the lines of a timeline. The numbers are those that `abort.onEvent` of a scenario counts by."""
    yield title
    numbers = count()
    for line in trace:
        match line:
            case {"event": event}:
                yield f"{next(numbers):4}  {_event(event)}".rstrip()
            case {"call": call}:
                yield f"          {call['name']}  {_call(call)}".rstrip()
            case {"result": result}:
                yield f"      result: {_messages(result['messages'])}"
            case {"throws": text}:
                yield f"      throws: {brief(text)}"


def _event(event: Line) -> str:
    kind = event["type"]
    match event:
        case {"assistantMessageEvent": step}:
            delta = f" {_quoted(step['delta'])}" if "delta" in step else ""
            return f"{kind}  [{step['contentIndex']}] {step['type']}{delta}"
        case {"type": "turn_end", "message": message, "toolResults": results}:
            return f"{kind}  {message.get('stopReason')}{f', results: {_messages(results)}' if results else ''}"
        case {"message": message}:
            return f"{kind}  {_message(message)}"
        case {"messages": messages}:
            return f"{kind}  {_messages(messages)}"
        case {"toolCallId": id_, "toolName": name}:
            return f"{kind}  {id_} {name} {_outcome(event)}"
    return str(kind)


def _outcome(event: Line) -> str:
    if "result" in event:
        return f"{'error ' if event['isError'] else ''}{_content(event['result'].get('content'))}"
    if "partialResult" in event:
        return _content(event["partialResult"].get("content"))
    return _json(event["args"])


def _call(call: Line) -> str:
    match call:
        case {"messages": messages, "model": model}:
            return f"{model}: {_roles([message['role'] for message in messages])}"
        case {"messages": roles} | {"context": roles}:
            return _roles(roles)
        case {"toolCallId": id_, **rest}:
            return " ".join([id_, *(f"{key}={_json(value)}" for key, value in rest.items() if key != "name")])
        case {"toolName": name, "args": args}:
            return f"{name} {_json(args)}"
    return ""


def _message(message: Line) -> str:
    words = [str(message["role"])]
    if "stopReason" in message:
        words.append(f"({message['stopReason']})")
    if "toolCallId" in message:
        words.append(f"{message['toolCallId']}{' error' if message.get('isError') else ''}")
    return " ".join([*words, _content(message.get("content"))])


def _content(content: Json) -> str:
    if not isinstance(content, list):
        return _quoted(content) if isinstance(content, str) else _json(content)
    return " ".join(map(_block, content)) or "(empty)"


def _block(block: Json) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return _quoted(text)
        case {"type": "thinking", "thinking": str(text)}:
            return f"thinking {_quoted(text)}"
        case {"type": "toolCall", "id": id_, "name": name}:
            return f"{name}({id_})"
        case {"type": str(kind)}:
            return kind
    return _json(block)


def _json(value: Json) -> str:
    return brief(json_line(value), 60)


def _quoted(text: str) -> str:
    return f'"{brief(text, 40)}"'


def _messages(messages: Sequence[Line]) -> str:
    return _roles([str(message["role"]) for message in messages])


def _roles(roles: Sequence[str]) -> str:
    return f"{len(roles)} ({', '.join(roles[:8])}{', …' if len(roles) > 8 else ''})" if roles else "none"
