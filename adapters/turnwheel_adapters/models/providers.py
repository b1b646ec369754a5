"""The providers, as data: where each one is, which API it speaks, where its key comes from, in what its server differs.

Another provider is another entry; `read_providers` reads such entries from a TOML file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, final, get_args, get_origin

import attrs
from attrs import field, frozen

from turnwheel.errors import ParseError
from turnwheel_adapters.apis.api import ApiName, Settings, Target
from turnwheel_adapters.apis.compat import Compat

if TYPE_CHECKING:
    from cattrs import Converter

KeyHeader = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key"]
"""In which header a key goes: Authorization: Bearer …, or one of that name."""


@final
@frozen
class Provider:
    """One provider.

    `base_url` None: the user must say it, or the variable `base_url_from` does. `keys` are the environment variables
    that may hold the key, the first that is set counts; without `key_needed`, requests go out without one as well.
    `text_only` are patterns of models that take no images; `headers` go with every request.
    """

    title: str
    api: ApiName
    base_url: str | None
    keys: Sequence[str] = ()
    header: KeyHeader = "bearer"
    key_needed: bool = True
    compat: Compat = Compat()
    text_only: Sequence[str] = ()
    base_url_from: str | None = None
    headers: Mapping[str, str] = field(factory=dict)

    def target(self, name: str, model: str, base_url: str | None, settings: Settings) -> Target:
        """Return where requests to a model go. Raises ValueError where nobody says at which address."""
        url = base_url or self.base_url
        if url is None:
            variable = f" or set {self.base_url_from}" if self.base_url_from else ""
            raise ValueError(f"{name} has no address of its own: give --base-url{variable}")
        images = not any(fnmatchcase(model, pattern) for pattern in self.text_only)
        return Target(name, model, self.api, url.rstrip("/"), self.compat, settings, images)


_PLAIN: Final = Compat(
    max_tokens="max_tokens",
    takes_developer_role=False,
    takes_store=False,
    takes_strict_tools=False,
    takes_cache_key=False,
    thinking="none",
)
"""What a server takes that imitates only the old core of Chat Completions."""

_LOCAL: Final = Compat(
    max_tokens="max_tokens",
    takes_developer_role=False,
    takes_store=False,
    takes_strict_tools=False,
    takes_cache_key=False,
    thinking="none",
    tool_ids="any",
)

PROVIDERS: Final[Mapping[str, Provider]] = {
    "anthropic": Provider(
        "Anthropic", "anthropic-messages", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "x-api-key"
    ),
    "openai": Provider("OpenAI, Responses", "openai-responses", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "openai-chat": Provider(
        "OpenAI, Chat Completions; and any server like it, with --base-url",
        "openai-chat",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
    ),
    "google": Provider(
        "Google Gemini",
        "google-gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "x-goog-api-key",
    ),
    "azure": Provider(
        "Azure OpenAI, Responses",
        "openai-responses",
        None,
        ("AZURE_OPENAI_API_KEY",),
        "api-key",
        base_url_from="AZURE_OPENAI_BASE_URL",
    ),
    "azure-chat": Provider(
        "Azure OpenAI, Chat Completions",
        "openai-chat",
        None,
        ("AZURE_OPENAI_API_KEY",),
        "api-key",
        base_url_from="AZURE_OPENAI_BASE_URL",
    ),
    "openrouter": Provider(
        "OpenRouter",
        "openai-chat",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        compat=Compat(
            max_tokens="max_tokens",
            takes_developer_role=False,
            takes_store=False,
            takes_cache_key=False,
            takes_cache_control=True,
            thinking="openrouter",
            reasoning_back="reasoning_details",
        ),
    ),
    "groq": Provider(
        "Groq",
        "openai-chat",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        compat=Compat(takes_developer_role=False, takes_store=False, takes_cache_key=False, reasoning_back="reasoning"),
    ),
    "mistral": Provider(
        "Mistral",
        "openai-chat",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        compat=Compat(
            max_tokens="max_tokens",
            takes_developer_role=False,
            takes_usage_option=False,
            takes_store=False,
            takes_strict_tools=False,
            takes_cache_key=False,
            thinking="none",
            tool_ids="mistral",
            wants_tool_name=True,
            wants_answer_after_results=True,
        ),
        text_only=("codestral*", "devstral*", "ministral-3b*"),
    ),
    "deepseek": Provider(
        "DeepSeek",
        "openai-chat",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        compat=Compat(
            max_tokens="max_tokens",
            takes_developer_role=False,
            takes_store=False,
            takes_strict_tools=False,
            takes_cache_key=False,
            thinking="deepseek",
            reasoning_back="reasoning_content",
        ),
        text_only=("deepseek-*",),
    ),
    "xai": Provider(
        "xAI",
        "openai-chat",
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        compat=Compat(takes_developer_role=False, takes_store=False, takes_strict_tools=False, takes_cache_key=False),
        text_only=("grok-3*", "grok-code*"),
    ),
    "together": Provider(
        "Together", "openai-chat", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), compat=_PLAIN
    ),
    "fireworks": Provider(
        "Fireworks",
        "openai-chat",
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY",),
        compat=_PLAIN,
    ),
    "cerebras": Provider(
        "Cerebras",
        "openai-chat",
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        compat=Compat(takes_developer_role=False, takes_store=False, takes_cache_key=False),
        text_only=("*",),
    ),
    "moonshot": Provider(
        "Moonshot",
        "openai-chat",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        compat=Compat(
            max_tokens="max_tokens",
            takes_developer_role=False,
            takes_store=False,
            takes_strict_tools=False,
            takes_cache_key=False,
            thinking="none",
            reasoning_back="reasoning_content",
        ),
    ),
    "ollama": Provider(
        "Ollama", "openai-chat", "http://localhost:11434/v1", ("OLLAMA_API_KEY",), key_needed=False, compat=_LOCAL
    ),
    "lmstudio": Provider(
        "LM Studio", "openai-chat", "http://localhost:1234/v1", ("LMSTUDIO_API_KEY",), key_needed=False, compat=_LOCAL
    ),
    "vllm": Provider(
        "vLLM", "openai-chat", "http://localhost:8000/v1", ("VLLM_API_KEY",), key_needed=False, compat=_LOCAL
    ),
    "llamacpp": Provider(
        "llama.cpp", "openai-chat", "http://localhost:8080/v1", ("LLAMACPP_API_KEY",), key_needed=False, compat=_LOCAL
    ),
}
"""By the name that stands before the slash of a model: `openai/gpt-5`."""


def read_providers(text: str, source: str = "") -> dict[str, Provider]:
    """Read providers from TOML: a table for each, with the fields of Provider, and those of Compat under `compat`.

    Raises ParseError, naming the entry and the field, for what does not fit.
    """
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParseError(f"this is not TOML: {error}", source=source) from error
    return {name: _read(name, entry, source) for name, entry in entries.items()}


def _read(name: str, entry: object, source: str) -> Provider:
    from cattrs import BaseValidationError, transform_error

    if not isinstance(entry, dict):
        raise ParseError("expected a table, such as [mine]", path=name, source=source)
    for place, kind, fields in ((name, Provider, entry), (f"{name}.compat", Compat, entry.get("compat"))):
        known = [field.name for field in attrs.fields(kind)]
        for unknown in sorted(set(fields) - set(known)) if isinstance(fields, dict) else ():
            raise ParseError(f"there is no {unknown!r}; there are {', '.join(known)}", path=place, source=source)
    lone = {name: [value] for name, value in entry.items() if name in ("keys", "text_only") and isinstance(value, str)}
    try:
        provider: Provider = _converter().structure({"title": name, "base_url": None, **entry, **lone}, Provider)
    except BaseValidationError as error:
        complaints = transform_error(error, path=name, format_exception=_complaint)
        raise ParseError("; ".join(complaints), source=source) from error
    return provider


def _complaint(error: BaseException, kind: type | None) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices:
        return f"expected one of {', '.join(map(str, choices))}"
    return f"expected {getattr(kind, '__name__', kind)}, {error}"


@cache
def _converter() -> Converter:
    from cattrs import Converter

    converter = Converter()

    def exact(kind: type) -> Callable[[Any, Any], Any]:
        def structure(value: Any, _: Any) -> Any:
            if type(value) is not kind:
                raise TypeError(f"got {value!r}")
            return value

        return structure

    for kind in (str, bool, int, float):
        converter.register_structure_hook(kind, exact(kind))
    return converter
