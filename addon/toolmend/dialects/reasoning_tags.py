"""Reasoning that a model writes into its content between tags.

    <think>The user wants …</think>The answer is …          also  <thinking>  <seed:think>  [THINK]  ◁think▷  <think:opensource>

Many templates open the tag in the prompt, so the text begins inside it and only the closer is seen; where the profile says so,
the beginning of the text is held until the closer comes, or the end. A tag counts at the beginning of a line; its closer
anywhere. Source: the chat templates of DeepSeek R1, Qwen3, Kimi-VL, Seed-OSS and Magistral.
"""

from typing import TYPE_CHECKING

from ..scanner import Reading
from .dialect import Door

if TYPE_CHECKING:
    from ..reader import Reader

_PAIRS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<seed:think>": "</seed:think>",
    "<think:opensource>": "</think:opensource>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|channel>thought\n": "<channel|>",
}
_CLOSERS = tuple(_PAIRS.values())


class ReasoningTags(Door):
    """Not a way to call, but read by the same engine: calls stand inside reasoning, too."""

    def read(self, reader: "Reader") -> Reading[bool]:
        scanner = reader.scanner
        tag = yield from scanner.literal(self.openers)
        if tag in _CLOSERS:
            if not reader.thinking and not reader.may_be_inside:
                return False
        elif reader.in_reasoning or not reader.place.line_start:
            return False
        yield from scanner.blanks()
        if reader.doubtful and tag in _CLOSERS and not (yield from scanner.peek()):
            reader.were_calls()  # nothing follows the reasoning
        reader.turn(self, thinking=tag not in _CLOSERS)
        return True


REASONING_TAGS = ReasoningTags("reasoning_tags", (*_PAIRS, *_CLOSERS), ambiguous=True)
