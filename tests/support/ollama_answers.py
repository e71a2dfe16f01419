"""Responses of Ollama and what the pipeline makes of one."""

from typing import Any

from tests.support.other_api_streams import ollama_request
from toolmend.config.settings import Settings
from toolmend.pipeline.pipeline import Pipeline


def pipeline(request: dict[str, Any] | None = None, settings: Settings = Settings()) -> Pipeline:
    numbers = iter(range(100))
    asked = ollama_request() if request is None else request
    return Pipeline(asked, source="ollama", target="ollama", settings=settings, new_id=lambda: f"call_{next(numbers)}")
