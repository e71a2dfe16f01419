"""Hypothesis: no deadlines, since machines are shared; more examples with HYPOTHESIS_PROFILE=deep."""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("deep", deadline=None, max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
