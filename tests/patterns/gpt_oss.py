"""gpt-oss: Harmony, all channels, with its tokens and without."""

import json
from dataclasses import replace
from typing import Any

from tests.support.streams import pieces, request, tool

from . import Pattern

REQUEST = request(
    tool("read_file", path={"type": "string"}, limit={"type": "integer"}),
    tool("get_time", zone={"type": "string"}),
    tool("web-browsing.open", url={"type": "string"}),
    model="openai/gpt-oss-120b",
)
OTHER_MODEL = {**REQUEST, "model": "some-model"}
READ = '{"path": "a.md", "limit": 20}'
TIME = '{"zone": "UTC"}'
BOTH = [(None, "read_file", READ), (None, "get_time", TIME)]

START, CHANNEL, CONSTRAIN, MESSAGE = "<|start|>assistant", "<|channel|>", "<|constrain|>", "<|message|>"
END, CALL, RETURN = "<|end|>", "<|call|>", "<|return|>"


def said(channel: str, text: str, end: str = END) -> str:
    """A message that is no call."""
    return f"{CHANNEL}{channel}{MESSAGE}{text}{end}"


JSON = f"{CONSTRAIN}json"


def call(name: str, arguments: str, channel: str = "commentary", type_: str = JSON, end: str = CALL) -> str:
    return f"{CHANNEL}{channel} to=functions.{name} {type_}{MESSAGE}{arguments}{end}"


TWO = f"{call('read_file', READ)}{START}{call('get_time', TIME)}"
THOUGHT = "The user wants `a.md"  # the backtick is not closed: the channel ends all the same
RULES = ("harmony", "finish_reason")
STRIPPED = ("harmony_stripped", "finish_reason")
_HARD = f'<|call|> <|end|> <|return|> {START}{CHANNEL}final{MESSAGE} assistantfinal é 🌤 < \\ " \n\t</x> }}'
HARD = json.dumps({"path": _HARD, "nested": {"a": [{}, [1, 2.50, None]], "<|call|>": "}"}}, ensure_ascii=False)
CODE = "analysis", "code"
HEADER = f"{CHANNEL}commentary to=functions.read_file"
_N = iter(range(1, 100))


def calls(text: str, *found: tuple[str | None, str, str], **more: Any) -> Pattern:
    return Pattern(REQUEST, pieces(text, next(_N)), list(found), rules=more.pop("rules", RULES), **more)


def answer(text: str, content: str, reasoning: str = "", **more: Any) -> Pattern:
    """Channels, but no call."""
    more = {"rules": ("harmony",), "expected_finish": "stop"} | more
    return Pattern(REQUEST, pieces(text, next(_N)), content=content, reasoning=reasoning, **more)


def prose(text: str, **more: Any) -> Pattern:
    return answer(text, text, rules=(), **more)


PATTERNS = {
    "two-calls-text-around": calls(f"I will look. {TWO}Done.", *BOTH, content="I will look. Done."),
    "two-calls-in-reasoning": calls(f"I will look. {TWO}", *BOTH, reasoning="I will look. ", field="reasoning"),
    "all-channels": calls(
        f"{said('analysis', THOUGHT)}{START}{said('commentary', 'I will look.')}{START}{call('read_file', READ)}"
        f"{START}{said('analysis', ' And the time.')}{START}{call('get_time', TIME)}",
        *BOTH, content="I will look.", reasoning=f"{THOUGHT} And the time.",
    ),
    "analysis-channel-type-code": calls(
        f"{said('analysis', THOUGHT)}{START}{call('read_file', READ, *CODE)}{START}{call('get_time', TIME, *CODE, '')}",
        *BOTH, reasoning=THOUGHT,
    ),
    "analysis-and-calls-in-reasoning-content": calls(
        f"{THOUGHT}{END}{START}{call('read_file', READ, *CODE)}{START}{call('get_time', TIME, *CODE)}",
        *BOTH, reasoning=THOUGHT, field="reasoning_content",
    ),
    "recipient-in-front-of-the-channel": calls(
        f"{START} to=functions.read_file{CHANNEL}commentary json{MESSAGE}{READ}{CALL}"
        f"{START} {CONSTRAIN} json to=functions.get_time {CHANNEL} analysis {MESSAGE} {TIME} {CALL}",
        *BOTH,
    ),
    "first-message-begins-with-the-recipient": calls(
        f"to=functions.read_file{CHANNEL}commentary json{MESSAGE}{READ}{CALL}{START}{call('get_time', TIME)}", *BOTH
    ),
    "blanks-and-newlines": calls(
        f"\n{CHANNEL} commentary  to=functions.read_file\n{CONSTRAIN} json\n{MESSAGE}\n{READ}\n{CALL}\n{START} \n"
        f"{CHANNEL}commentary to=functions.get_time{CONSTRAIN}json{MESSAGE}{TIME}\n",
        *BOTH, content="\n",
    ),
    "three-calls-no-ends": calls(
        f"{call('read_file', READ, end='')}{START}{call('get_time', TIME, end='')}{call('get_time', TIME, end=END)}",
        *BOTH, BOTH[1],
    ),
    "empty-arguments": calls(
        f"{call('get_time', '')}{START}{call('get_time', '{}')}{START}{call('get_time', 'null')}{START}"
        + call("get_time", json.dumps(TIME)),
        *[(None, "get_time", "{}")] * 3, BOTH[1],
    ),
    "own-tokens-and-raw-newlines-in-strings": calls(
        f"{call('read_file', HARD)}{START}" + call("get_time", '{"zone": "a\n\tb"}'),
        (None, "read_file", HARD), (None, "get_time", '{"zone": "a\\n\\tb"}'),
    ),
    "glued-and-doubled-headers": calls(
        f"{HEADER}json{MESSAGE}{READ}{CALL}{START}{CHANNEL}commentary{CHANNEL}comment to=functions.get_time{CHANNEL}commentary "
        f"{CONSTRAIN}json{TIME}{CALL}",
        *BOTH,
    ),
    "broken-off": calls(
        said("analysis", THOUGHT) + START + call("read_file", READ)[:-25], (None, "read_file", READ[:-17]),
        reasoning=THOUGHT, finish="length", expected_finish="length", rules=("harmony",),
    ),
    "broken-off-in-the-header": prose(f"Hm. {HEADER}", finish="length", expected_finish="length"),
    "answer": answer(f"{said('analysis', THOUGHT)}{START}{said('final', 'Hi, *you*.', RETURN)}", "Hi, *you*.", THOUGHT),
    "answer-in-the-reasoning-field": answer(
        f"{THOUGHT}{END}{START}{said('final', 'Hello.', '')}", "Hello.", THOUGHT, field="reasoning"
    ),
    "fields-told-apart-by-the-upstream": Pattern(
        REQUEST,
        [{"content": f"{CHANNEL}analysis{MESSAGE}"}, {"reasoning_content": THOUGHT}, {"content": f"{END}{START}{CHANNEL}"},
         {"content": f"final{MESSAGE}Hel"}, {"content": "lo."}],
        content="Hello.", reasoning=THOUGHT, expected_finish="stop", rules=("harmony",),
    ),
    "other-recipients": answer(
        f"{CHANNEL}analysis to=browser.search code{MESSAGE}{TIME}{CALL}{START} to=python{CHANNEL}commentary code{MESSAGE}"
        f"print(1){CALL}{START}{CHANNEL}commentary to=assistant{CHANNEL}final{MESSAGE}Hello.",
        "Hello.", f"{TIME}print(1)",
    ),
    "the-tool-answers-itself": calls(
        f"{call('get_time', TIME)}<|start|>functions.get_time to=assistant{CHANNEL}commentary{MESSAGE}12:00{END}{START}"
        f"{said('final', 'Noon.', RETURN)}",
        BOTH[1], reasoning="12:00", content="Noon.",
    ),
    "prose-that-names-the-tokens": prose(
        f"gpt-oss opens with {CHANNEL} and {MESSAGE}, so {CHANNEL}analysis{MESSAGE} begins a thought, {END} ends it,\n"
        f"`{START}{CHANNEL}final{MESSAGE}Hi{RETURN}`.\n```\n{START}{CHANNEL}final{MESSAGE}Hi{END}\n{HEADER}_2{MESSAGE}{{}}"
        f"\n```\n{CHANNEL}final is a channel, {CHANNEL}commentary? {CHANNEL}json{MESSAGE} {START} and {CALL}. "
        f"{HEADER} {JSON}{MESSAGE} stands in front of its arguments, or {HEADER} json, <|chan, <|"
    ),
    "stripped-two-calls": calls(
        f"I will look.commentary to=functions.read_file json{READ}assistantcommentary to=functions.get_time json{TIME} Done.",
        *BOTH, content="I will look. Done.", rules=STRIPPED,
    ),
    "stripped-thought-and-call": calls(
        f"analysis{THOUGHT}. commentary to=functions.get_time json{{}} it may be.assistantcommentaryI look."
        f"assistantanalysis to=functions.read_file code{READ}",
        BOTH[0], content="I look.", reasoning=f"{THOUGHT}. commentary to=functions.get_time json{{}} it may be.", rules=STRIPPED,
    ),
    "stripped-answer": answer(
        f"analysis{THOUGHT} analysis.assistantfinalHello, an assistant.", "Hello, an assistant.", f"{THOUGHT} analysis.",
        rules=("harmony_stripped",),
    ),
    "stripped-prose": prose(
        f"analysis of the assistant, as commentary to={{x}} assistantcode{READ} to=functions.read_file json, to=functions.rm"
        f" json{READ} `to=functions.read_file json{READ}` to=functions.read_file is {READ} assistant"
    ),
    "stripped-other-model": replace(prose(f"commentary to=functions.read_file json{READ}"), request=OTHER_MODEL),
}  # fmt: skip
