"""The estimate of tokens: never far too few, never far too many."""

import base64
from typing import Any

import pytest

from toolmend.requests import estimate
from toolmend.requests.estimate import IMAGE, PAGE, TOOLS, UNSEEN_PAGES, of_text, tokens

ENGLISH = (
    "The results of a tool call must stand directly behind the message that made it, or the server answers with an error. "
    "What is the weather in Beijing today, and how will it be tomorrow? Please explain your reasons in detail. "
)
MINIFIED = 'function a(b,c){return b?c.map(function(d){return d*2}):null};var e={f:[1,2,3],g:"h"};if(e.f.length>0&&e.g!=="i"){console.log(a(!0,e.f))}'
CHINESE = "工具调用必须紧跟在助手消息之后，否则上游会返回错误。模型在思考时也会调用工具，代理需要在流中修复它们。北京今天的天气怎么样？请用中文回答，并且给出详细的理由和数据来源。"
JAPANESE = "ツール呼び出しはアシスタントのメッセージの直後になければなりません。東京の今日の天気はどうですか。詳しく説明してください。"
KOREAN = "도구 호출은 어시스턴트 메시지 바로 뒤에 와야 합니다. 오늘 서울의 날씨는 어떻습니까? 자세히 설명해 주세요."
RUSSIAN = "Результаты вызовов инструментов должны следовать сразу за сообщением помощника, иначе сервер вернёт ошибку."
ARABIC = "يجب أن تأتي نتائج استدعاء الأدوات مباشرة بعد رسالة المساعد وإلا سيعيد الخادم خطأ."
HINDI = "टूल कॉल के परिणाम सहायक के संदेश के ठीक बाद आने चाहिए, अन्यथा सर्वर त्रुटि लौटाएगा।"

MEASURED = {  # the text, what OpenAI's tokenizers o200k_base and cl100k_base make of ten of it, how many times the larger is allowed
    "english": (ENGLISH, 461, 461, 1.5),
    "minified": (MINIFIED, 590, 580, 1.1),
    "chinese": (CHINESE, 570, 860, 1.3),
    "japanese": (JAPANESE, 420, 590, 1.4),
    "korean": (KOREAN, 340, 590, 1.1),
    "russian": (RUSSIAN, 260, 380, 2.2),
    "arabic": (ARABIC, 240, 570, 1.1),
    "hindi": (HINDI, 260, 840, 1.1),
}


@pytest.mark.parametrize("name", MEASURED)
def test_texts(name: str) -> None:
    text, newer, older, most = MEASURED[name]
    assert max(newer, older) <= of_text(text * 10) <= most * max(newer, older)


def test_base64_in_text_is_no_language() -> None:
    noise = base64.b64encode(bytes(range(1, 250)) * 8).decode()
    assert of_text(noise) > 0.66 * len(noise)
    assert of_text("word " * 400) < 0.31 * 2000
    assert of_text("a" * 2000) == pytest.approx(600)  # a ruler


ROWS = "".join(f"{number:013d}\n" for number in range(100)) + "words, words\n" * 100
LONG = {
    **{name: text * 2000 for name, (text, *_) in MEASURED.items()},
    "one after the other": "".join(text * 200 for text, *_ in MEASURED.values()),
    "in turns": "".join(text for text, *_ in MEASURED.values()) * 200,
    "rows of the same width": ROWS * 100,
    "rows as wide as a block": ("1" * 128 + "a" * 127 + "\n") * 1000,
    "base64 in prose": (ENGLISH * 20 + base64.b64encode(bytes(range(1, 250)) * 8).decode()) * 50,
}


@pytest.mark.parametrize("name", LONG)
def test_of_a_long_text_a_part_tells(name: str) -> None:
    text = LONG[name]
    piece = estimate.SEEN // 4  # characters, of four bytes at most
    exact = sum(of_text(text[at : at + piece]) for at in range(0, len(text), piece))
    assert len(text.encode()) > 4 * estimate.SEEN
    assert of_text(text) == pytest.approx(exact, rel=0.05)


def test_half_a_surrogate_pair_is_counted() -> None:
    assert of_text("\ud83d") > 0


TEXT = "x" * 1000
IMAGES: list[dict[str, Any]] = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 100_000}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}},
    {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 100_000},
    {"type": "image", "source": {"type": "url", "url": "https://a.example/" + "b" * 2000}},
    {"type": "input_image", "file_id": "file_1"},
]
PDF = base64.b64encode(b"%PDF-1.7\n" + b"<< /Type /Page /Parent 1 0 R >>\n" * 3 + b"<< /Type /Pages /Count 3 >>").decode()
BLIND = base64.b64encode(b"%PDF-1.7\n" + b"\x00" * 120_000).decode()
FILES: list[tuple[dict[str, Any], float]] = [
    ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}, 3 * PAGE),
    ({"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}, 3 * PAGE),
    ({"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}, 3 * PAGE),
    ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": BLIND}}, 3 * PAGE),
    ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "!"}}, PAGE),
    ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "A"}}, PAGE),
    ({"type": "document", "source": {"type": "url", "url": "https://a.example/a.pdf"}}, UNSEEN_PAGES * PAGE),
    ({"type": "input_file", "file_id": "file_1"}, UNSEEN_PAGES * PAGE),
]


def of_part(part: Any) -> float:
    """What a part adds to a message."""
    return tokens({"messages": [{"role": "user", "content": [part]}]}, "messages") - tokens({"messages": [{"role": "user", "content": []}]}, "messages")


@pytest.mark.parametrize("part", IMAGES)
def test_an_image_counts_by_what_is_seen_of_it(part: Any) -> None:
    assert of_part(part) == pytest.approx(IMAGE, abs=1)


@pytest.mark.parametrize(("part", "expected"), FILES)
def test_a_document_counts_by_its_pages(part: Any, expected: float) -> None:
    assert of_part(part) == pytest.approx(expected, abs=1)


def test_a_document_of_text_counts_as_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": TEXT}
    assert of_text(TEXT) < of_part({"type": "document", "source": source}) < of_text(TEXT) + 50


def test_an_argument_that_looks_like_an_image_is_text() -> None:
    use = {"type": "tool_use", "id": "a", "name": "draw", "input": {"type": "image", "prompt": TEXT}}
    assert of_text(TEXT) < of_part(use) < of_text(TEXT) + 50


def test_what_is_encrypted_counts_by_what_it_hides() -> None:
    for part in (
        {"type": "thinking", "thinking": "", "signature": "Q" * 1000},
        {"type": "redacted_thinking", "data": "Q" * 1000},
        {"type": "reasoning", "summary": [], "encrypted_content": "Q" * 1000},
    ):
        assert 199 <= of_part(part) < 230


TOOL_SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "description": TEXT}}}
SAME = {
    "chat": {
        "messages": [{"role": "system", "content": TEXT}, {"role": "user", "content": TEXT}],
        "tools": [{"type": "function", "function": {"name": "read", "description": TEXT, "parameters": TOOL_SCHEMA}}],
    },
    "messages": {
        "system": [{"type": "text", "text": TEXT}],
        "messages": [{"role": "user", "content": TEXT}],
        "tools": [{"name": "read", "description": TEXT, "input_schema": TOOL_SCHEMA}],
    },
    "responses": {
        "instructions": TEXT,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": TEXT}]}],
        "tools": [{"type": "function", "name": "read", "description": TEXT, "parameters": TOOL_SCHEMA}],
    },
}


@pytest.mark.parametrize("api", SAME)
def test_the_same_request_is_about_the_same_in_every_api(api: str) -> None:
    least = 4 * of_text(TEXT) + TOOLS
    assert least < tokens(SAME[api], api) < least + 80
    assert tokens({"model": TEXT, "metadata": {"a": TEXT}}, api) == 1  # the model reads none of it


def test_what_makes_no_sense_is_counted_all_the_same() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for strange in (None, 7, "x", {"type": []}, {"type": "image"}, {"type": "document", "source": 7}, deep):
        for api in SAME:
            assert tokens({"messages": strange, "input": strange, "tools": strange}, api) >= 1


def test_twice_the_text_is_twice_the_tokens() -> None:
    assert estimate.of_text(ENGLISH * 20) == pytest.approx(2 * of_text(ENGLISH * 10))
