"""What can be set: the keys of the options (`toolmend_keep`), of the variables (`TOOLMEND_KEEP`) and of the file (`keep = …`).

Rule of this file: data. It imports nothing, so that a command that reads no settings can ask it.
"""

LIMITS = {"max_calls": 8, "collect_ms": 200, "max_bytes": 65536}
"""Of a policy, each with its default."""

RIGHT = {
    "hosts": '["llm.example.com"]',
    "dialects": '"auto", "known", "off", or ["kimi_k2"]',
    "mode": '"mend", or "observe"',
    "off": '["finish_reason", "api.openai.com"]',
    "flows": '"recordings", or "off"',
    "keep": '"500MB 14d", or "all"',
    "replay": '"recordings", or "off"',
    "replay_miss": '"fail", or "forward"',
    "policy": '"mixed", "first", "collect", or "drain"',
    **{name: str(limit) for name, limit in LIMITS.items()},
    "intercept": '"llm", or "all"',
    "metrics": '"127.0.0.1:9464", "otel", or "off"',
}
"""What a key is in a file, as an example."""

KEYS = tuple(RIGHT)
"""What a file may hold, beside the tables."""

TABLES = ("provider", "route", "dialect", "price")
"""Of each a file may hold any number: `[[provider]]`."""

OPTIONS = (*KEYS, "config")
"""The options, without their prefix `toolmend_`."""

HARMLESS = frozenset({"dialects", "mode", "off", "policy", *LIMITS, "provider", "price"})
"""What a ./toolmend.toml may say that nobody named: see config_places.py."""

VARIABLES = {f"TOOLMEND_{key.upper()}": key for key in OPTIONS}

OTHERS = ("TOOLMEND_PYTHON",)
"""Variables of that beginning that are no settings, but the launcher's: scripts/setup.sh."""
