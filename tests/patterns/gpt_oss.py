"""gpt-oss: Harmony, all channels, with its tokens and without (dialects.md 4.14)."""

import json
from dataclasses import replace
from typing import Any

from streams import pieces, request, tool

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
    more = {"rules": ("harmony",), "expected_finish": "stop", **more}
    return Pattern(REQUEST, pieces(text, next(_N)), content=content, reasoning=reasoning, **more)


def prose(text: str, **more: Any) -> Pattern:
    return Pattern(REQUEST, pieces(text, next(_N)), content=text, expected_finish="stop", **more)


PATTERNS = {
    "two-calls": calls(TWO, *BOTH),
    "two-calls-text-around": calls(f"I will look. {TWO}Done.", *BOTH, content="I will look. Done."),
    "two-calls-in-reasoning": calls(f"I will look. {TWO}", *BOTH, reasoning="I will look. ", field="reasoning"),
    "another-model": replace(calls(TWO, *BOTH), request=OTHER_MODEL),
    "all-channels": calls(
        f"{said('analysis', THOUGHT)}{START}{said('commentary', 'I will look.')}{START}{call('read_file', READ)}"
        f"{START}{said('analysis', ' And the time.')}{START}{call('get_time', TIME)}",
        *BOTH, content="I will look.", reasoning=f"{THOUGHT} And the time.",
    ),
    "analysis-channel-type-code": calls(
        f"{said('analysis', THOUGHT)}{START}{call('read_file', READ, 'analysis', 'code')}"
        f"{START}{call('get_time', TIME, 'analysis', 'code', '')}",
        *BOTH, reasoning=THOUGHT,
    ),
    "analysis-and-calls-in-reasoning-content": calls(
        f"{THOUGHT}{END}{START}{call('read_file', READ, 'analysis', 'code')}{START}{call('get_time', TIME, 'analysis', 'code')}",
        *BOTH, reasoning=THOUGHT, field="reasoning_content",
    ),
    "recipient-in-front-of-the-channel": calls(
        f"{START} to=functions.read_file{CHANNEL}commentary json{MESSAGE}{READ}{CALL}"
        f"{START} {CONSTRAIN} json to=functions.get_time {CHANNEL} analysis {MESSAGE} {TIME} {CALL}",
        *BOTH,
    ),
    "first-message-begins-with-the-recipient": calls(
        f" to=functions.read_file{CHANNEL}commentary json{MESSAGE}{READ}{CALL}{START}{call('get_time', TIME)}",
        *BOTH, content=" ",
    ),
    "first-message-begins-with-the-recipient-alone": calls(
        f"to=functions.get_time{CHANNEL}analysis code{MESSAGE}{TIME}{CALL}", BOTH[1]
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
    "own-tokens-in-strings": calls(call("read_file", HARD), (None, "read_file", HARD)),
    "raw-newlines-in-strings": calls(
        call("get_time", '{"zone": "a\n\tb"}'), (None, "get_time", '{"zone": "a\\n\\tb"}')
    ),
    "name-with-minus-and-dot": calls(call("web-browsing.open", "{}"), (None, "web-browsing.open", "{}")),
    "no-prefix": calls(call("read_file", READ).replace("functions.", ""), BOTH[0]),
    "glued-and-doubled-headers": calls(
        f"{CHANNEL}commentary to=functions.read_filejson{MESSAGE}{READ}{CALL}"
        f"{START}{CHANNEL}commentary{CHANNEL}comment to=functions.get_time{CHANNEL}commentary {CONSTRAIN}json{TIME}{CALL}",
        *BOTH,
    ),
    "broken-off": Pattern(
        REQUEST, pieces(said("analysis", THOUGHT) + START + call("read_file", READ)[:-25], 60),
        [(None, "read_file", READ[:-17])], reasoning=THOUGHT, finish="length", expected_finish="length", rules=("harmony",),
    ),
    "broken-off-in-the-header": Pattern(
        REQUEST, pieces("Hm. " + call("read_file", READ)[:40], 61), content="Hm. " + call("read_file", READ)[:40],
        finish="length", expected_finish="length",
    ),
    "answer": answer(f"{said('analysis', THOUGHT)}{START}{said('final', 'Hello, *you*.', RETURN)}", "Hello, *you*.", THOUGHT),
    "answer-in-the-reasoning-field": answer(
        f"{THOUGHT}{END}{START}{said('final', 'Hello.', '')}", "Hello.", THOUGHT, field="reasoning"
    ),
    "answer-without-ends": answer(f"{said('analysis', THOUGHT, '')}{said('final', 'Hello.', '')}", "Hello.", THOUGHT),
    "answer-without-channel": answer(f"{START}{MESSAGE}Hello.{RETURN}", "Hello."),
    "answer-of-json": answer(f"{CHANNEL}final {CONSTRAIN}json{MESSAGE}{TIME}{RETURN}", TIME),
    "empty-messages": answer(f"{said('analysis', '')}{START}{said('commentary', '')}{START}{said('final', 'Hello.')}", "Hello."),
    "fields-told-apart-by-the-upstream": Pattern(
        REQUEST,
        [{"content": f"{CHANNEL}analysis{MESSAGE}"}, {"reasoning_content": THOUGHT}, {"content": f"{END}{START}{CHANNEL}final"},
         {"content": f"{MESSAGE}Hel"}, {"content": "lo."}],
        content="Hello.", reasoning=THOUGHT, expected_finish="stop", rules=("harmony",),
    ),
    "analysis-told-in-the-other-field": Pattern(
        REQUEST, [{"reasoning": f"{CHANNEL}analysis{MESSAGE}{THOUGHT}"}, {"content": "Hello."}],
        content="Hello.", reasoning=THOUGHT, expected_finish="stop", rules=("harmony",),
    ),
    "other-recipients": answer(
        f"{CHANNEL}analysis to=browser.search code{MESSAGE}{TIME}{CALL}{START} to=python{CHANNEL}commentary code{MESSAGE}print(1)"
        f"{CALL}{START}{CHANNEL}commentary to=assistant{CHANNEL}final{MESSAGE}Hello.",
        "Hello.", f"{TIME}print(1)",
    ),
    "the-tool-answers-itself": calls(
        f"{call('get_time', TIME)}<|start|>functions.get_time to=assistant{CHANNEL}commentary{MESSAGE}12:00{END}{START}"
        f"{said('final', 'Noon.', RETURN)}",
        BOTH[1], reasoning="12:00", content="Noon.",
    ),
    "prose-that-names-the-tokens": prose(
        f"gpt-oss opens with {CHANNEL} and {MESSAGE}, so {CHANNEL}analysis{MESSAGE} begins a thought, {END} ends it,\n"
        f"`{START}{CHANNEL}final{MESSAGE}Hi{RETURN}`.\n```\n{START}{CHANNEL}final{MESSAGE}Hi{END}\n{TWO.replace('read_file', 'f')[:50]}"
        f"\n```\n{CHANNEL}final is a channel, {CHANNEL}commentary? {CHANNEL}json{MESSAGE} {START} and {CALL}"
    ),
    "prose-that-names-a-call": prose(
        f"{CHANNEL}commentary to=functions.read_file {CONSTRAIN}json{MESSAGE} stands in front of its arguments, or "
        f"{CHANNEL}commentary to=functions.read_file json, <|chan, <|"
    ),
    "stripped-two-calls": calls(
        f"commentary to=functions.read_file json{READ}assistantcommentary to=functions.get_time json{TIME}", *BOTH, rules=STRIPPED
    ),
    "stripped-text-around": calls(
        f"I will look.commentary to=read_file {READ}\nanalysis to=functions.get_timecode{TIME} Done.",
        *BOTH, content="I will look. Done.", rules=STRIPPED,
    ),
    "stripped-recipient-in-front": calls(
        f"analysisHm.assistant to=functions.read_file commentary json {READ}assistant to=functions.get_timecommentary json{TIME}",
        *BOTH, reasoning="Hm.", rules=STRIPPED,
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
    "stripped-broken-off": Pattern(
        REQUEST, pieces(f"commentary to=functions.read_file json{READ[:-9]}", 62), [(None, "read_file", READ[:-9])],
        finish="length", expected_finish="length", rules=("harmony_stripped",),
    ),
    "stripped-other-model": Pattern(
        OTHER_MODEL, pieces(f"commentary to=functions.read_file json{READ}", 63),
        content=f"commentary to=functions.read_file json{READ}", expected_finish="stop",
    ),
    "stripped-in-reasoning": Pattern(
        REQUEST, pieces(f"commentary to=functions.read_file json{READ}", 64),
        reasoning=f"commentary to=functions.read_file json{READ}", field="reasoning", expected_finish="stop",
    ),
    "stripped-prose": prose(
        f"analysis of the assistant, as commentary to={{x}} assistantcode{READ} to=functions.read_file json, to=functions.rm json{READ}"
        f" `to=functions.read_file json{READ}` to=functions.read_file is {READ} assistant"
    ),
    "stripped-prose-that-begins-like-a-thought": prose("analysisResult = assistant + final  # commentary to"),
}  # fmt: skip
