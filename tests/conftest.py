"""Hypothesis: no deadlines, since machines are shared; more examples with HYPOTHESIS_PROFILE=deep.

Nobody's own settings: the variables of whoever runs the tests, and their config.toml, change none. Nor does a shell that runs them
in the background, where an interrupt is ignored, by all programs that are started as well.
"""

import os
import signal

from hypothesis import settings

OURS = ("TOOLMEND_PYTHON", "TOOLMEND_TORTURE", "TOOLMEND_EXACT")
"""Variables that say how to test."""

for name in [name for name in os.environ if name.startswith("TOOLMEND_") and name not in OURS]:
    del os.environ[name]
os.environ["XDG_CONFIG_HOME"] = f"{os.devnull}/none"  # a folder that cannot be

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", deadline=None)
settings.register_profile("deep", deadline=None, max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
