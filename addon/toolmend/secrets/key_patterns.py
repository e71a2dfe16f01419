"""The shapes of known keys, and how a text is searched for them.

    begun_in("is it sk-…?")  →  [("sk-", "[A-Za-z0-9_-]{16,}")]        key_shape("sk-", "[A-Za-z0-9_-]{16,}").search(text)

Rule of this file: a text that holds no key costs little, and nothing the second time.
"""

import re
from collections.abc import Callable
from functools import cache

KEYS = (
    (
        "sk-",
        r"[A-Za-z0-9_-]{16,}",
    ),  # OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek, Moonshot: their key pages
    ("AIza", r"[A-Za-z0-9_-]{30,}"),  # Google, down to GOCSPX-: cloud.google.com/docs/authentication
    ("AQ.", r"[A-Za-z0-9_-]{30,}"),
    ("ya29.", r"[A-Za-z0-9_-]{20,}"),
    ("GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
    ("gsk_", r"[A-Za-z0-9]{20,}"),  # Groq: console.groq.com/keys
    ("xai-", r"[A-Za-z0-9_-]{20,}"),  # xAI: docs.x.ai
    ("hf_", r"((oauth|jwt)_[A-Za-z0-9._-]{20,}|[A-Za-z0-9]{20,})"),  # Hugging Face: huggingface.co/docs/hub/security-tokens
    ("pplx-", r"[A-Za-z0-9]{20,}"),  # Perplexity: its key page; so down to nvapi-
    ("csk-", r"[A-Za-z0-9]{20,}"),  # Cerebras
    ("fw_", r"[A-Za-z0-9]{20,}"),  # Fireworks
    ("tgp_v1_", r"[A-Za-z0-9_-]{20,}"),  # Together
    ("r8_", r"[A-Za-z0-9]{20,}"),  # Replicate
    ("nvapi-", r"[A-Za-z0-9_-]{20,}"),  # NVIDIA
    ("ghp_", r"[A-Za-z0-9]{20,}"),  # GitHub, down to github_pat_: docs.github.com, "GitHub's token formats"
    ("gho_", r"[A-Za-z0-9]{20,}"),
    ("ghu_", r"[A-Za-z0-9]{20,}"),
    ("ghs_", r"([0-9]+_eyJ[A-Za-z0-9_.-]{20,}|[A-Za-z0-9]{20,})"),  # since 2026 with a JWT inside
    ("ghr_", r"[A-Za-z0-9]{20,}"),
    ("github_pat_", r"[A-Za-z0-9_]{20,}"),
    ("glpat-", r"[A-Za-z0-9_.-]{20,}"),  # GitLab: docs.gitlab.com, "Token prefixes"
    ("xox", r"[abceoprs]-[A-Za-z0-9-]{10,}"),  # Slack: docs.slack.dev, "Tokens"
    ("xoxd-", r"[A-Za-z0-9%/+=_-]{20,}"),
    ("xapp-", r"[A-Za-z0-9-]{10,}"),
    ("AKIA", r"[A-Z0-9]{16}"),  # AWS: docs.aws.amazon.com, "IAM identifiers"
    ("ASIA", r"[A-Z0-9]{16}"),
    ("ABSK", r"[A-Za-z0-9+/=]{40,}"),  # Bedrock: docs.aws.amazon.com, "Amazon Bedrock API keys"
    ("bedrock-api-key-", r"[A-Za-z0-9+/=]{40,}"),
    ("vck_", r"[A-Za-z0-9]{24,}"),  # Vercel: vercel.com/docs/ai-gateway
    ("sk_live_", r"[A-Za-z0-9]{16,}"),  # Stripe: docs.stripe.com/keys
    ("npm_", r"[A-Za-z0-9]{36}"),  # npm: docs.npmjs.com, "About access tokens"
    ("Bearer ", r"[A-Za-z0-9._~+/=-]{16,}"),  # RFC 6750, section 2.1
    ("bearer ", r"[A-Za-z0-9._~+/=-]{16,}"),
    ("eyJ", r"(?<![_-]eyJ)[A-Za-z0-9_-]{5,}(\.[A-Za-z0-9_-]*){2,}"),  # JWT, JWE: RFC 7519, RFC 7516; `{"` in base64
    ("-----BEGIN ", r"[A-Z0-9 ]*PRIVATE KEY[\s\S]*?(-----END [A-Z0-9 ]*-----|\Z)"),  # PEM: RFC 7468
)
"""Known keys: what they begin with, as a word does, and how they go on."""

LONGEST_KEY = 1000
"""Characters: a key that a text is cut in is known by what is behind the cut."""

MOST_KEYLESS = 20_000
"""Texts that are known to hold no key: agents send the whole conversation with every request. 70 bytes each."""

_keyless: set[int] = set()
"""Their hashes."""

LONG = 10_000
"""Characters of a text, as of which there are pauses while it is searched."""

type Pause = Callable[[], object]
"""Called again and again while a body is gone through: one of 500 KB takes 20 ms, in which a thread may let others go on."""


def go_on() -> None:
    """No pause."""


def begun_in(text: str, pause: Pause) -> list[tuple[str, str]]:
    """Of KEYS, those whose beginnings stand in a text. To search 100 KB for all takes 2 ms."""
    if (known := hash(text)) in _keyless:
        return []
    found = []
    for literal, rest in KEYS:
        if literal in text:
            found.append((literal, rest))
        if len(text) > LONG:
            pause()
    if not found:
        if len(_keyless) >= MOST_KEYLESS:
            _keyless.clear()
        _keyless.add(known)
    return found


@cache  # few of them ever occur, and to make all takes milliseconds of each start
def key_shape(literal: str, rest: str) -> re.Pattern[str]:
    r"""A known key where a word begins, be it behind the `\n` of a text in a text. A literal first: that is fast."""
    plain = re.escape(literal)
    return re.compile(rf"{plain}((?<![A-Za-z0-9]{plain})|(?<=\\[nrt]{plain})){rest}")
