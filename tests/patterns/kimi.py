"""Kimi K2: every variant of the tokens that was seen in the wild."""

from tests.support.streams import WEATHER, pieces, request, tool

from . import Pattern

S, E = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
B, A, C = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
CITY = '{"city": "Beijing"}'
ONE = f"{S}{B}functions.get_weather:0{A}{CITY}{C}{E}"
GET = ("functions.get_weather:0", "get_weather", CITY)
RULES = ("kimi_k2", "finish_reason")

TASK = '{"description": "Explore core C headers", "prompt": "Recursively explore <all> headers \\u00e4 \\"x\\""}'
TASK_2 = '{"description": "Explore network headers"}'
SEED = [
    "I will look.", f" {S}", f" {B}", " functions", ".task", ":", "45", f" {A}",
    *pieces(" " + TASK, 1, (3, 9, 20)), f" {C}", f" {B}", " functions", ".task", ":", "46", f" {A}",
    *pieces(" " + TASK_2, 2, (3, 9, 20)), f" {C}", f" {E}",
]  # fmt: skip

PATTERNS = {
    "seed-tokens-alone-in-reasoning": Pattern(
        WEATHER, SEED, [("functions.task:45", "task", TASK), ("functions.task:46", "task", TASK_2)],
        reasoning="I will look. ", field="reasoning", rules=RULES,
    ),
    "whole-call-in-one-delta": Pattern(WEATHER, [ONE], [GET], rules=RULES),
    "character-by-character": Pattern(
        WEATHER, list(f"Hm\n{B}task:0{A}{{}}{C}"), [("task:0", "task", "{}")], content="Hm\n", rules=RULES
    ),
    "reasoning-content": Pattern(
        WEATHER, pieces(f"The user wants weather.{ONE}", 3), [GET],
        reasoning="The user wants weather.", field="reasoning_content", rules=RULES,
    ),
    "several-sections-text-between": Pattern(
        WEATHER,
        pieces(f"One {ONE} and two {S}\n{B}functions.task:1{A} {{}} {C}\n{E}\nDone.", 4),
        [GET, ("functions.task:1", "task", "{}")], content="One  and two \nDone.", rules=RULES,
    ),
    "three-calls-newlines-between": Pattern(
        WEATHER,
        pieces(
            f"{S}\n{B} functions.get_weather:0 \n{A}\n{CITY}\n{C}\n{B}functions.task:1{A}{TASK}{C}\n"
            f"{B}functions.task:2{A}{TASK_2}{C}\n{E}\n", 5,
        ),
        [GET, ("functions.task:1", "task", TASK), ("functions.task:2", "task", TASK_2)], rules=RULES,
    ),
    "singular-section-tokens": Pattern(
        WEATHER, pieces(ONE.replace("tool_calls_section", "tool_call_section"), 6), [GET], rules=RULES
    ),
    "no-section": Pattern(
        WEATHER, pieces(f"Now: {B}functions.get_weather:0{A}{CITY}{C}", 7), [GET], content="Now: ", rules=RULES
    ),
    "no-call-end": Pattern(
        WEATHER,
        pieces(f"{S}{B}functions.get_weather:0{A}{CITY}{B}functions.task:1{A}{TASK}{E}ok", 8),
        [GET, ("functions.task:1", "task", TASK)], content="ok", rules=RULES,
    ),
    "no-end-at-all": Pattern(WEATHER, pieces(f"{S}{B}functions.get_weather:0{A}{CITY}", 9), [GET], rules=RULES),
    "cut-inside-the-arguments": Pattern(
        WEATHER, pieces(f"{S}{B}functions.get_weather:0{A}" + '{"city": "Bei', 10),
        [("functions.get_weather:0", "get_weather", '{"city": "Bei')],
        finish="length", expected_finish="length", rules=("kimi_k2",),
    ),
    "cut-inside-the-end-token": Pattern(
        WEATHER, pieces(f"{S}{B}functions.get_weather:0{A}{CITY}{C[:9]}", 27), [GET], finish="length", expected_finish="length", rules=("kimi_k2",),
    ),
    "cut-inside-the-header": Pattern(
        WEATHER, pieces(f"Let me {S}{B}functions.get_wea", 11), content=f"Let me {S}{B}functions.get_wea",
        finish="length", expected_finish="length",
    ),
    "id-without-counter": Pattern(
        request(*WEATHER["tools"], messages=[
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "functions.task:0", "type": "function", "function": {"name": "task", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "functions.task:0", "content": "ok"},
        ]),
        pieces(f"{S}{B}functions.get_weather{A}{CITY}{C}{B}task{A}{{}}{C}{E}", 12),
        [("functions.get_weather:1", "get_weather", CITY), ("functions.task:2", "task", "{}")], rules=RULES,
    ),
    "bare-counter": Pattern(
        WEATHER, pieces(f"{S}{B}3{A}{CITY}{C}{E}", 13),
        [("functions.get_weather:3", "get_weather", CITY)], rules=RULES,
    ),
    "bare-counter-that-fits-none": Pattern(
        WEATHER, pieces(f'{S}{B}3{A}{{"town": 1}}{C}{E}', 14), content=f'{S}{B}3{A}{{"town": 1}}{C}{E}', expected_finish="stop",
    ),
    "name-and-counter": Pattern(
        WEATHER, pieces(f"{S}{B}get_weather:7{A}{CITY}{C}{E}", 15), [("get_weather:7", "get_weather", CITY)], rules=RULES,
    ),
    "names-with-dots-and-dashes": Pattern(
        request(tool("mcp.files-v2.read-file"), tool("functions.odd")),
        pieces(f"{S}{B}functions.mcp.files-v2.read-file:0{A}{{}}{C}{B}functions.odd:1{A}{{}}{C}{E}", 16),
        [("functions.mcp.files-v2.read-file:0", "mcp.files-v2.read-file", "{}"), ("functions.odd:1", "functions.odd", "{}")],
        rules=RULES,
    ),
    "equal-ids": Pattern(
        WEATHER, pieces(f"{S}{B}functions.task:0{A}{{}}{C}{B}functions.task:0{A}{TASK_2}{C}{E}", 17),
        [("functions.task:0", "task", "{}"), ("functions.task:1", "task", TASK_2)], rules=RULES,
    ),
    "no-arguments": Pattern(
        WEATHER, pieces(f"{S}{B}functions.task:0{A}{C}{B}functions.task:1{C}{B}functions.task:2{A}null{C}{E}", 18),
        [(f"functions.task:{n}", "task", "{}") for n in range(3)], rules=RULES,
    ),
    "arguments-in-a-string": Pattern(
        WEATHER, pieces(f'{S}{B}functions.get_weather:0{A}"{{\\"city\\": \\"Beijing\\"}}"{C}{E}', 19), [GET], rules=RULES,
    ),
    "arguments-in-a-string-that-is-no-json": Pattern(
        WEATHER, pieces(text := f'{S}{B}functions.get_weather:0{A}"{{\\u12}}"{C}{E}', 19), content=text, expected_finish="stop",
    ),
    "raw-newlines-in-a-string": Pattern(
        WEATHER, pieces(f'{S}{B}functions.task:0{A}{{\n "description": "a\n\tb"\n}}{C}{E}', 20),
        [("functions.task:0", "task", '{\n "description": "a\\n\\tb"\n}')], rules=RULES,
    ),
    "backslashes-that-escape-nothing": Pattern(
        WEATHER, pieces(f'{S}{B}functions.task:0{A}{{"description": "\\d+\\.py C:\\Temp \\$x \\\n\\n\\u00e9 \\\\d"}}{C}{E}', 24),
        [("functions.task:0", "task", r'{"description": "\\d+\\.py C:\\Temp \\$x \\\n\n\u00e9 \\d"}')], rules=RULES,
    ),
    "commas-in-front-of-nothing": Pattern(
        WEATHER, pieces(f'{S}{B}functions.task:0{A}{{"description": "a,]", "n": [1, 2 , ],\n"m": {{"k": 0,}} ,\n}}{C}{E}', 7),
        [("functions.task:0", "task", '{"description": "a,]", "n": [1, 2  ],\n"m": {"k": 0} \n}')], rules=RULES,
    ),
    "pythons-words": Pattern(
        WEATHER, pieces(f'{S}{B}functions.task:0{A}{{"description": "None, True", "n": [True,False, None], "m":None}}{C}{E}', 5),
        [("functions.task:0", "task", '{"description": "None, True", "n": [true,false, null], "m":null}')], rules=RULES,
    ),
    "cut-behind-a-comma": Pattern(
        WEATHER, pieces(f'{S}{B}functions.task:0{A}{{"description": "a", ', 9), [("functions.task:0", "task", '{"description": "a", ')],
        finish="length", expected_finish="length", rules=RULES[:1],
    ),
    "cut-in-a-word": Pattern(
        WEATHER, pieces(f'{S}{B}functions.task:0{A}{{"description": Non', 9), [("functions.task:0", "task", '{"description": Non')],
        finish="length", expected_finish="length", rules=RULES[:1],
    ),
    "markers-inside-a-string": Pattern(
        WEATHER, pieces(f'{S}{B}functions.task:0{A}{{"description": "a {C} b {E} {B} \\" {{"}}{C}{E}', 21),
        [("functions.task:0", "task", f'{{"description": "a {C} b {E} {B} \\" {{"}}')], rules=RULES,
    ),
    "doubled-openers": Pattern(
        WEATHER, pieces(f"{S}{S}{B} {B}functions.get_weather:0{A}{CITY}{C}{C}{E}{E}!", 22), [GET], content="!", rules=RULES,
    ),
    "surplus-brace": Pattern(
        WEATHER, pieces(f"{S}{B}functions.get_weather:0{A}{CITY}}} {C}{E}", 23), [GET], rules=RULES
    ),
    "text-inside-the-section": Pattern(
        WEATHER, pieces(f"{S}{B}functions.get_weather:0{A}{CITY}{C} so <b> {E} far {B}functions.task:1{A}{{}}{C}", 24),
        [GET, ("functions.task:1", "task", "{}")], content=" so <b>  far ", rules=RULES,
    ),
    "residue-behind-the-name": Pattern(
        WEATHER, pieces(f"{S}{B}functions.get_weather:0<|im_end|>x{A}{CITY}{C}{E}", 25), [GET], rules=RULES
    ),
    "prose-about-markers": Pattern(
        WEATHER,
        pieces(
            f"Kimi writes `{B}`, an id and `{A}`; around it {S} and {E}. <|tool_ is no token, nor is {B} {A} or <|. "
            f"{B}a b{A}{{}} {S}x", 26,
        ),
        content=f"Kimi writes `{B}`, an id and `{A}`; around it {S} and {E}. <|tool_ is no token, nor is {B} {A} or <|. "
        f"{B}a b{A}{{}} {S}x",
        expected_finish="stop",
    ),
}  # fmt: skip
