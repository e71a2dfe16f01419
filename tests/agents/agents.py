"""The agents, as a table: how each is started headless, and what it is told so that it calls a host and asks for a model.

Nothing of this is for the proxy: a user's configuration looks the same without one. What phones home is switched off, as far
as its maker has a switch; the rest meets a closed door (to_loopback.py).
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROMPT = "Write the proof."
OWN_KEY = "sk-the-agents-own-key"


@dataclass(frozen=True)
class Start:
    """A command with its variables; a name without a slash is one of node_modules/.bin."""

    command: Sequence[str]
    variables: Mapping[str, str]


type Prepare = Callable[[Path, str], Start]
"""Writes the agent's configuration into its empty home; given that folder and the model."""


@dataclass(frozen=True)
class Agent:
    """`package`: whose version the table tells. `api`: what it speaks. `endpoint`: what it then calls.

    `model`: the one that it has to ask for, whatever the provider's is; None: any. `fragile`: it gives up, without any proxy too,
    at a comment in a stream and at a stream that breaks off.
    """

    title: str
    package: str
    api: str
    endpoint: str
    prepare: Prepare
    model: str | None = None
    fragile: bool = False


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def claude(_home: Path, model: str) -> Start:
    command = ["claude", "-p", PROMPT, "--model", model, "--allowedTools", "Bash,Write", "--output-format", "stream-json", "--verbose"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
    where = {"ANTHROPIC_BASE_URL": "https://openrouter.ai/api", "ANTHROPIC_SMALL_FAST_MODEL": model}
    return Start(command, {"ANTHROPIC_API_KEY": OWN_KEY, **where, **quiet})


def codex(home: Path, model: str, *, sockets: bool = False) -> Start:
    write(
        home / ".codex" / "config.toml",
        f"""
model = "{model}"
model_provider = "own"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.own]
name = "own"
base_url = "https://api.openai.com/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
supports_websockets = {str(sockets).lower()}
""",
    )
    command = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT]
    return Start(command, {"OPENAI_API_KEY": OWN_KEY})


def codex_sockets(home: Path, model: str) -> Start:
    return codex(home, model, sockets=True)


def opencode(home: Path, model: str) -> Start:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": "https://openrouter.ai/api/v1", "apiKey": OWN_KEY},
        "models": {model: {"name": "the model"}},
    }
    settings = {"provider": {"own": provider}, "permission": {"*": "allow"}, "autoupdate": False, "share": "disabled"}
    write(home / ".config" / "opencode" / "opencode.json", settings)
    return Start(["opencode", "run", "--model", f"own/{model}", PROMPT], {"OPENCODE_DISABLE_MODELS_FETCH": "1"})


def qwen(home: Path, model: str) -> Start:
    write(home / ".qwen" / "settings.json", {"privacy": {"usageStatisticsEnabled": False}, "general": {"disableAutoUpdate": True}})
    where = {"OPENAI_BASE_URL": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "OPENAI_MODEL": model}
    command = ["qwen", "--auth-type", "openai", "--approval-mode", "yolo", "-p", PROMPT]
    return Start(command, {"OPENAI_API_KEY": OWN_KEY, "QWEN_USAGE_STATISTICS_ENABLED": "false", **where})


def pi(home: Path, model: str, api: str = "openai-completions", base: str = "https://openrouter.ai/api/v1") -> Start:
    models = [{"id": model, "name": "the model", "reasoning": True, "input": ["text"], "contextWindow": 128000, "maxTokens": 8000}]
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    own = {"baseUrl": base, "apiKey": "PI_OWN_KEY", "api": api, "models": [{**one, "cost": cost} for one in models]}
    write(home / ".pi" / "agent" / "models.json", {"providers": {"own": own}})
    return Start(["pi", "--print", "--provider", "own", "--model", model, PROMPT], {"PI_OWN_KEY": OWN_KEY, "PI_OFFLINE": "1"})


def kimi(home: Path, model: str) -> Start:
    write(
        home / ".kimi-code" / "config.toml",
        f"""
default_model = "own"
telemetry = false

[models.own]
provider = "own"
model = "{model}"
max_context_size = 128000

[providers.own]
type = "openai"
base_url = "https://api.moonshot.ai/v1"
api_key = "{OWN_KEY}"
""",
    )
    return Start(["kimi", "-p", PROMPT], {"KIMI_CODE_NO_AUTO_UPDATE": "1"})


def gemini(home: Path, model: str) -> Start:
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    write(home / ".gemini" / "settings.json", {**auth, "privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}})
    return Start(["gemini", "--skip-trust", "--yolo", "--model", model, "-p", PROMPT], {"GEMINI_API_KEY": OWN_KEY})


CHAT, MESSAGES, RESPONSES = "/chat/completions", "/messages", "/responses"

AGENTS = {
    "claude": Agent("Claude Code", "@anthropic-ai/claude-code", "messages", "https://openrouter.ai/api/v1/messages", claude),
    "codex": Agent("Codex", "@openai/codex", "responses", "https://api.openai.com/v1/responses", codex),
    "codex-exec": Agent("Codex with the tool `exec`", "@openai/codex", "responses", "https://api.openai.com/v1/responses", codex, "gpt-6-sol"),
    "codex-socket": Agent("Codex over WebSocket", "@openai/codex", "responses", "https://api.openai.com/v1/responses", codex_sockets),
    "opencode": Agent("opencode", "opencode-ai", "chat", "https://openrouter.ai/api/v1/chat/completions", opencode),
    "qwen": Agent("Qwen Code", "@qwen-code/qwen-code", "chat", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions", qwen),
    "pi": Agent("pi", "@mariozechner/pi-coding-agent", "chat", "https://openrouter.ai/api/v1/chat/completions", pi),
    "kimi": Agent("Kimi Code", "@moonshot-ai/kimi-code", "chat", "https://api.moonshot.ai/v1/chat/completions", kimi),
    "gemini": Agent("Gemini CLI", "@google/gemini-cli", "gemini", "https://generativelanguage.googleapis.com/v1beta/models/*", gemini, "gemini-2.5-pro", fragile=True),
}


def version(agent: Agent) -> str:
    """The version that is installed."""
    return str(json.loads((HERE / "node_modules" / agent.package / "package.json").read_bytes())["version"])


def variables(home: Path) -> dict[str, str]:
    """What any program of a user has: its home, our Node.js first on the PATH, nothing of the one who runs the tests."""
    path = os.pathsep.join([str(HERE / "node_modules" / "node" / "bin"), os.environ["PATH"]])
    kept = {name: os.environ[name] for name in ("LANG", "TERM", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": path, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".local" / "share")}
