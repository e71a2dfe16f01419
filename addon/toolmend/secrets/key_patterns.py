"""The patterns of known keys, and a fast search for them.

    known_prefixes_in("is it sk-…?")  →  [("sk-", "[A-Za-z0-9_-]{16,}")]
    key_pattern("sk-", "[A-Za-z0-9_-]{16,}").search(text)

A text without keys costs little, and nothing the second time.
"""

import re
from collections.abc import Callable
from functools import cache

MASKED_KEYS = (
    ("sk-", r"[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek, Moonshot: their key pages
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
"""Keys that are masked in everything recorded or logged: a prefix, which begins like a word, and the pattern of the rest."""

KEYS = (
    *MASKED_KEYS,
    ("sk_test_", r"[A-Za-z0-9]{16,}"),  # Stripe, down to whsec_: docs.stripe.com/keys
    ("rk_live_", r"[A-Za-z0-9]{16,}"),
    ("rk_test_", r"[A-Za-z0-9]{16,}"),
    ("whsec_", r"[A-Za-z0-9+/]{20,}"),
    ("pypi-AgE", r"[A-Za-z0-9_-]{40,}"),  # PyPI: a macaroon
    ("glptt-", r"[0-9a-f]{40}"),  # GitLab, down to gloas-: docs.gitlab.com, "Token prefixes"
    ("gldt-", r"[A-Za-z0-9_-]{20,}"),
    ("glrt-", r"[A-Za-z0-9_-]{20,}"),
    ("glft-", r"[A-Za-z0-9_-]{20,}"),
    ("glcbt-", r"[0-9a-f]{1,5}_[A-Za-z0-9_-]{20,}"),
    ("glsoat-", r"[A-Za-z0-9_-]{20,}"),
    ("glagent-", r"[A-Za-z0-9_-]{50,}"),
    ("gloas-", r"[0-9a-f]{64}"),
    ("ABIA", r"[A-Z0-9]{16}"),  # AWS: docs.aws.amazon.com, "IAM identifiers"
    ("SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),  # SendGrid; so down to the end: their key pages
    ("dop_v1_", r"[0-9a-f]{64}"),  # DigitalOcean
    ("doo_v1_", r"[0-9a-f]{64}"),
    ("dor_v1_", r"[0-9a-f]{64}"),
    ("dckr_pat_", r"[A-Za-z0-9_-]{20,}"),  # Docker
    ("dckr_oat_", r"[A-Za-z0-9_-]{20,}"),
    ("shpat_", r"[0-9a-fA-F]{32}"),  # Shopify
    ("shpss_", r"[0-9a-fA-F]{32}"),
    ("shpca_", r"[0-9a-fA-F]{32}"),
    ("shppa_", r"[0-9a-fA-F]{32}"),
    ("lin_api_", r"[A-Za-z0-9]{32,}"),  # Linear
    ("lin_oauth_", r"[0-9a-f]{64}"),
    ("sntrys_", r"[A-Za-z0-9+/=_-]{40,}"),  # Sentry
    ("sntryu_", r"[0-9a-f]{64}"),
    ("hvs.", r"[A-Za-z0-9_-]{24,}"),  # Vault
    ("hvb.", r"[A-Za-z0-9_-]{24,}"),
    ("figd_", r"[A-Za-z0-9_-]{20,}"),  # Figma
    ("ntn_", r"[A-Za-z0-9]{40,}"),  # Notion
    ("PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),  # Postman
    ("NRAK-", r"[A-Z0-9]{27}"),  # New Relic
    ("sbp_", r"[0-9a-f]{40}"),  # Supabase
    ("sb_secret_", r"[A-Za-z0-9_-]{20,}"),
    ("ATATT3x", r"[A-Za-z0-9_=-]{40,}"),  # Atlassian
    ("rubygems_", r"[0-9a-f]{48}"),  # RubyGems
    ("CLOJARS_", r"[a-z0-9]{60}"),  # Clojars
    ("dapi", r"[0-9a-f]{32}"),  # Databricks
    ("tskey-", r"[a-z]+-[A-Za-z0-9-]{16,}"),  # Tailscale
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),  # age
    ("sk_", r"[0-9a-f]{48}"),  # ElevenLabs
    ("lsv2_", r"(pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),  # LangSmith
    ("tvly-", r"[A-Za-z0-9-]{20,}"),  # Tavily
    ("pcsk_", r"[A-Za-z0-9_]{40,}"),  # Pinecone
    ("jina_", r"[A-Za-z0-9_-]{40,}"),  # Jina
    ("e2b_", r"[0-9a-f]{40}"),  # E2B
    ("fc-", r"[0-9a-f]{32}"),  # Firecrawl
    ("bkua_", r"[0-9a-f]{40}"),  # Buildkite
    ("sgp_", r"([0-9a-f]{16}|local)_[0-9a-f]{40}"),  # Sourcegraph
    ("squ_", r"[0-9a-f]{40}"),  # SonarQube
    ("sqp_", r"[0-9a-f]{40}"),
    ("pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),  # Airtable
    ("pat-", r"[a-z]{2}[0-9]-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),  # HubSpot
    ("waka_", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),  # WakaTime
    ("xaat-", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),  # Axiom
    ("ops_eyJ", r"[A-Za-z0-9+/=_-]{100,}"),  # 1Password
    ("pul-", r"[0-9a-f]{40}"),  # Pulumi
    ("rnd_", r"[A-Za-z0-9]{28,}"),  # Render
    ("napi_", r"[a-z0-9]{40,}"),  # Neon
    ("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),  # Dynatrace
    ("key-", r"[0-9a-f]{32}"),  # Mailgun
    ("xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),  # Brevo
    ("re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),  # Resend
    ("SK", r"[0-9a-f]{32}"),  # Twilio
    ("shippo_live_", r"[0-9a-f]{40}"),  # Shippo
    ("FLWSECK-", r"[0-9a-z]{32}-X"),  # Flutterwave
)
"""All known keys. Those after MASKED_KEYS belong to services that no LLM API uses, but an agent may read them in files and
output; only the scan of a recording that is to leave this machine searches for them.

A row must not match an ordinary word. A key of random letters of both cases and digits needs no row: the scan detects its
entropy.
"""

LONGEST_KEY = 1000
"""Characters searched beyond a cut, so that a key across it is found."""

MOST_KEYLESS = 20_000
"""Texts known to contain no key, at 70 bytes each: agents send the whole conversation with every request."""

_keyless: set[int] = set()
"""Their hashes."""

LONG = 10_000
"""Characters of a text from which on its search has pauses."""

type Pause = Callable[[], object]
"""Called repeatedly while a body is searched. 500 KB take 20 ms, during which a thread may let others run."""


def no_pause() -> None:
    """Does not pause."""


def known_prefixes_in(text: str, pause: Pause) -> list[tuple[str, str]]:
    """Returns the rows of MASKED_KEYS whose prefixes occur in a text. Searching 100 KB for all takes 2 ms."""
    if (known := hash(text)) in _keyless:
        return []
    found = []
    for literal, rest in MASKED_KEYS:
        if literal in text:
            found.append((literal, rest))
        if len(text) > LONG:
            pause()
    if not found:
        if len(_keyless) >= MOST_KEYLESS:
            _keyless.clear()
        _keyless.add(known)
    return found


@cache  # few are ever used, and compiling all would add milliseconds to each start
def key_pattern(literal: str, rest: str) -> re.Pattern[str]:
    r"""The pattern of a key at the beginning of a word, or after the `\n` of an escaped text. The literal prefix is fast."""
    plain = re.escape(literal)
    return re.compile(rf"{plain}((?<![A-Za-z0-9]{plain})|(?<=\\[nrt]{plain})){rest}")
