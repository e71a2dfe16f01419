"""The names of the settings: options (`toolmend_keep`), variables (`TOOLMEND_KEEP`) and keys of a file (`keep = …`).

Data without imports, for commands that read no settings.
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
"""An example of each key in a file."""

KEYS = tuple(RIGHT)
"""The keys of a file, without tables."""

TABLES = ("provider", "route", "dialect", "price")
"""The tables of a file, each any number of times: `[[provider]]`."""

OPTIONS = (*KEYS, "config")
"""The options, without their prefix `toolmend_`."""

HARMLESS = frozenset({"dialects", "mode", "off", "policy", *LIMITS, "provider", "price"})
"""What an unnamed ./toolmend.toml may set: see config_places.py."""

VARIABLES = {f"TOOLMEND_{key.upper()}": key for key in OPTIONS}

OTHERS = ("TOOLMEND_PYTHON",)
"""Variables with this prefix that are not settings but the launcher's: scripts/setup.sh."""
