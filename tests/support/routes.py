"""Tables `[[route]]` as text, and what they are parsed to."""

from pathlib import Path

from toolmend.config.settings import parse
from toolmend.providers.routes import Route

MESSAGES, CHAT = "https://api.anthropic.com/v1/messages", "https://openrouter.ai/api/v1/chat/completions"

SECRET = "sk-or-0123456789abcdefghij"


def parsed(text: str, folder: Path) -> tuple[Route, ...]:
    file = folder / "toolmend.toml"
    file.write_text(text)
    return parse({"config": str(file), "flows": "off"}).routes


def table(**fields: str) -> str:
    given = {"from": MESSAGES, "to": CHAT} | fields
    return "\n".join(["[[route]]", *(f"{name} = {value!r}" for name, value in given.items() if value)]) + "\n"
