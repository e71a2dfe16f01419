"""images.py: an image of a request is found again by its key, if it is one by its first bytes."""

import base64
from typing import Any

import pytest

from toolmend.recordings.read.images import MIN_TEXT, find_image, image_key, media_type

BODIES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\0" * 40,
    "image/jpeg": b"\xff\xd8\xff" + b"\0" * 40,
    "image/gif": b"GIF89a" + b"\0" * 40,
    "image/webp": b"RIFF\0\0\0\0WEBP" + b"\0" * 40,
}
PNG = base64.b64encode(BODIES["image/png"]).decode()
NO_IMAGE = [b"<svg onload=x>" + b" " * 40, b"%PDF-1.7" + b"\0" * 40, b"<html>" + b"\0" * 40, b"RIFF\0\0\0\0WAVE" + b"\0" * 40, b"\0" * 40]


@pytest.mark.parametrize("kind", BODIES)
def test_kinds(kind: str) -> None:
    assert media_type(BODIES[kind]) == kind
    data = base64.b64encode(BODIES[kind]).decode()
    assert find_image({"a": [data]}, image_key(data)) == (kind, BODIES[kind])


@pytest.mark.parametrize("body", NO_IMAGE)
def test_others_have_no_key(body: bytes) -> None:
    assert media_type(body) == ""
    assert image_key(base64.b64encode(body).decode()) == ""


@pytest.mark.parametrize("data", ["", "iVBO", "no base64 at all, but a text of some length", PNG[: MIN_TEXT - 1], "日本" * 40])
def test_texts_have_no_key(data: str) -> None:
    assert image_key(data) == ""


@pytest.mark.parametrize(
    "request_",
    [
        {"messages": [{"content": [{"image_url": {"url": f"data:image/png;base64,{PNG}"}}]}]},
        {"messages": [{"content": [{"source": {"data": PNG}}]}]},
        {"messages": [{"images": [PNG]}]},
        {"contents": [{"parts": [{"inlineData": {"mimeType": "text/html", "data": PNG}}]}]},
    ],
)
def test_an_image_in_each_api(request_: Any) -> None:
    assert find_image(request_, image_key(PNG)) == ("image/png", BODIES["image/png"])


def test_another_key_finds_nothing() -> None:
    assert len(image_key(PNG)) == 24
    for key in ("", "0" * 24, image_key(PNG)[:-1]):
        found = find_image({"a": PNG, "b": "text"}, key)
        assert found is None


def test_broken_data_is_no_image() -> None:
    broken = PNG + "!"
    assert find_image({"a": broken}, image_key(broken)) is None
