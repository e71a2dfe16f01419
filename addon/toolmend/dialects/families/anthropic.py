"""The markup of Anthropic's prompts: `<invoke>` with parameters, in a block or without one.

    <invoke name="Bash">
    <parameter name="command">npm test</parameter>
    </invoke>

Claude itself leaks it in long sessions, after a stray word in place of the block's tag (`court`, `count`, `call`:
claude-code#74063 counts 1.8 % of Opus 4.8's messages). So do Kimi K2.5 and MiniMax M2.7 (hermes-agent#7332) and DeepSeek V4
(vellum-assistant#42234), whose DSML looks the same without its mark (opencode#34676). Values are raw text: no entity is decoded.
Only a profile distinguishes it from other XML. A leak begins a line; within a line, the text is about the markup.
"""

from ..engine.dialect import InReasoning
from ..engine.tag import ATTRIBUTE, Tag
from ..engine.tags import TagDialect

CALL = Tag(("<invoke",), (">",), ("</invoke>",), ATTRIBUTE)
PARAMETER = Tag(("<parameter",), (">",), ("</parameter>",), ATTRIBUTE)

_PREFIXES = ("", "antml:")


def _spelt(tag: str) -> tuple[str, ...]:
    return tuple(tag.format(prefix) for prefix in _PREFIXES)


class Claude(TagDialect):
    """Claude's own markup, never in reasoning: that is signed, and Anthropic refuses it with a part removed."""

    @property
    def in_reasoning(self) -> InReasoning:
        return "never"


_LOST = ("tool_calls", "calls")
"""DeepSeek's wrapper without its mark."""

_WRAPPER = Tag(
    (*_spelt("<{}function_calls>"), *(f"<{gap}{word}>" for word in _LOST for gap in ("", " "))),
    end=(*_spelt("</{}function_calls>"), *(f"</{gap}{word}>" for word in _LOST for gap in ("", " "))),
)
_CALL = Tag(_spelt("<{}invoke"), (">",), _spelt("</{}invoke>"), ATTRIBUTE)
_PARAMETER = Tag(_spelt("<{}parameter"), (">",), _spelt("</{}parameter>"), ATTRIBUTE)

ANTHROPIC = TagDialect("anthropic", _CALL, _WRAPPER, "parameters", _PARAMETER, ambiguous=True, place="line")
CLAUDE = Claude("claude", _CALL, _WRAPPER, "parameters", _PARAMETER, ambiguous=True, place="line")
