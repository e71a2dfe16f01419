"""What goes out, to the byte, for what the other tests only ask the meaning of: exact/ has it as it was when it was last looked at.

    TOOLMEND_EXACT=write scripts/test tests/test_exact.py; git diff tests/exact

Rule of this file: a case fails where anything at all is another than it was: a member, its name, its place, a word of a note. If
that was meant, write the files anew and read their difference: it is what users will see. A long line that stands there twice is
the second time told by how it begins, and a checksum.
"""

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.support import legal_streams
from tests.support import translated_streams as translation
from tests.support.other_api_streams import PATTERNS, gemini_pattern, gemini_sse, ollama_pattern
from tests.support.regular_streams import REGULAR
from tests.support.request_tables.by_client import REQUESTS, Given
from tests.support.upstream_answers import APIS, WEATHER, asked, speak, tell
from tests.support.wild_streams import WILD, body_of
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import RequestError, translate

FILES = Path(__file__).parent / "exact"


# requests: by client, what they are called, as the tables of the other tests have them


HOSTS = {"chat": ("api.openai.com", "openrouter.ai", "api.moonshot.ai"), "messages": ("api.anthropic.com",), "responses": ("api.openai.com",)}


def forwarded(client: str, upstream: str) -> Iterator[tuple[str, list[str]]]:
    for name, given in REQUESTS[client]():
        request = {"model": "m", **({"max_tokens": 9} if client == "messages" else {}), **given}
        for host in HOSTS[upstream]:
            try:
                made = translate(request, client, upstream, host=host)
            except RequestError as error:
                yield f"{name} ({host})", [str(error)]
            else:
                more = {"custom": sorted(made.custom), "names": dict(made.names), "stop": made.stop}
                said = json.dumps({**made.request, **{key: value for key, value in more.items() if value}})
                yield f"{name} ({host})", [said, *made.notes]


# answers


def pipeline(source: str, target: str, request: Given | None = None) -> Pipeline:
    numbers = iter(range(10_000))
    return Pipeline(request or asked(target, *WEATHER), source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}")


def lines(made: Pipeline, out: bytes) -> list[str]:
    assert made.error is None, made.error
    told = [line for line in out.decode(errors="backslashreplace").split("\n") if line]
    return [*told, "; ".join([*made.rules, *made.notes])]


def given_streams(source: str) -> Iterator[tuple[str, bytes]]:
    yield from ((name, speak(source, *answer, translation.SPENT)) for name, answer in translation.ANSWERS.items())
    tables = {"chat": translation.IRREGULAR, "messages": translation.MESSAGES, "responses": translation.RESPONSES}
    yield from ((name, body) for name, (body, _) in tables[source].items())
    if source == "chat":
        yield from ((f"regular: {name}", body) for name, body in REGULAR.items())
    else:
        streams = {"messages": legal_streams.MESSAGES, "responses": legal_streams.RESPONSES}[source]
        yield from ((f"legal: {name}", legal_streams.sse(stream)) for name, stream in streams.items())
    yield "wild", body_of(source, WILD[source])
    yield "wild, from behind", body_of(source, WILD[source][::-1])


def answered(source: str, target: str) -> Iterator[tuple[str, list[str]]]:
    for name, body in given_streams(source):
        made = pipeline(source, target)
        yield name, lines(made, made.feed(body) + made.close())
    for name, answer in translation.ANSWERS.items():
        made = pipeline(source, target)
        yield f"whole: {name}", lines(made, made.message(tell(source, *answer, translation.SPENT)))


def others(api: str) -> Iterator[tuple[str, list[str]]]:
    """What Gemini and Ollama say, of each provider's first pattern."""
    seen = set()
    for name, pattern in PATTERNS.items():
        provider = name.partition("/")[0]
        if provider in seen or not pattern.rules:
            continue
        seen.add(provider)
        if api == "gemini":
            request, chunks = gemini_pattern(pattern)
            body = gemini_sse(chunks)
        else:
            request, body = ollama_pattern(pattern)
        made = pipeline(api, api, request)
        yield name, lines(made, made.feed(body) + made.close())


CASES = {
    **{f"request-{client}-{upstream}": (forwarded, client, upstream) for client in APIS for upstream in APIS if client != upstream},
    **{f"answer-{source}-{target}": (answered, source, target) for source in APIS for target in APIS},
    **{f"answer-{api}": (others, api) for api in ("gemini", "ollama")},
}


def spelled(cases: Iterator[tuple[str, list[str]]]) -> Iterator[str]:
    """A file, line by line."""
    seen = set()
    for name, told in cases:
        yield f"# {ascii(name)[1:-1]}"
        for line in map(ascii, told):
            yield line if line not in seen else f"{line[:80]} ... {sha256(line.encode()).hexdigest()[:12]}"
            seen |= {line} if len(line) > 120 else set()
        yield ""


@pytest.mark.parametrize("name", CASES)
def test_it_is_what_it_was(name: str) -> None:
    make, *arguments = CASES[name]
    now = list(spelled(make(*arguments)))
    file = FILES / f"{name}.txt"
    if os.environ.get("TOOLMEND_EXACT") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(now))
    case = ""
    for then, line in zip_longest(file.read_text().split("\n"), now):
        case = line if line and line.startswith("# ") else case
        assert line == then, case
