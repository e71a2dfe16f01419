"""Cohere Command R and Command A: a JSON array between tokens, or ReAct text.

    <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "a.md"}}]<|END_ACTION|>

The id is in the text. Command R, which has no tokens for this, writes the word, and the list in a fence (ollama#14970):

    Action: ```json
    [{"tool_name": "read_file", "parameters": {"path": "a.md"}}]
    ```

and many models that know the prompts of ReAct write `Action: read_file` and, on the next line, `Action Input: {"path": "a.md"}`.
Source: the Command R, Command R7B and Command A chat templates.
"""

import re
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.json_body import read_arguments
from ..engine.names import bare_name
from ..engine.tag import Tag
from ..engine.tags import TagDialect
from .open_json import FENCE, Fence

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_NAME = re.compile(r"[^\s`\[\]{}<>()\"']*")
_INPUT = ("Action Input:", "Action_Input:", "Input:", "Arguments:")


class CohereAction(Fence):
    """Calls after the word `Action:`."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        yield from scanner.literal(self.openers)
        yield from scanner.blanks()
        if (yield from scanner.ahead(FENCE.openers)):
            return (yield from self.read_fence(parser))
        name = bare_name(parser, (yield from scanner.run(_NAME, 128)) or "")
        if not name:
            return (yield from self.read_calls(parser))
        yield from scanner.blanks()
        if not parser.accepts(self, name) or not (yield from scanner.literal(_INPUT)):
            return False
        yield from scanner.blanks()
        if (yield from scanner.peek()) != "{":
            return False
        return (yield from read_arguments(parser, lambda: parser.start(self, parser.new_id(), name), ()))


COHERE = TagDialect("cohere", call=Tag(("<|START_ACTION|>",), end=("<|END_ACTION|>",)), arguments="envelope")
COHERE_ACTION = CohereAction("cohere_action", ("Action:",), ambiguous=True, offered_only=True, place="line", in_reasoning="never")
