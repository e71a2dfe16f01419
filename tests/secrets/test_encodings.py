"""The forms of a secret: those that are its spelling, and those that would hide it."""

import base64
import itertools

from toolmend.secrets.encodings import disguises, spellings
from toolmend.secrets.redactor import REDACTED, Redactor


def test_spellings() -> None:
    assert "\ud800bcdefgh" in spellings("\ud800bcdefgh")  # half a surrogate pair, which has no UTF-8
    assert spellings("plain-1") == {"plain-1"}
    assert spellings('a/"é') == {'a/"é', 'a/\\"é', 'a/\\"\\u00e9', 'a\\/"é', "a/\\u0022é", "a%2F%22%C3%A9"}
    assert spellings("a+b=") == {"a+b=", "a\\u002Bb=", "a+b\\u003d", "a%2Bb%3D"}


def test_disguises() -> None:
    """In percents, in escapes, in hex, and inside base64, wherever in it."""
    for secret in ("sk-Ab9Cd8Ef7Gh6Ij5Kl4", "p\u00e4ss/w+rd==?>", "abcdefgh", "\ud800bcdefgh", "😀😀😀"):
        found = disguises(secret)
        assert spellings(secret) <= found
        data = secret.encode(errors="surrogatepass")
        assert "".join(f"%{byte:02x}" for byte in data) in found
        assert "".join(f"\\u{unit:04X}" for unit in memoryview(secret.encode("utf-16", "surrogatepass")[2:]).cast("H")) in found
        assert {data.hex(), data.hex().upper()} <= found
        for before, after, encode in itertools.product(range(6), range(6), (base64.b64encode, base64.urlsafe_b64encode)):
            coded = encode(b"u" * before + data + b"~" * after).decode()
            kept = Redactor((secret,)).text(coded).replace(REDACTED, " ").split()
            assert sum(map(len, kept)) <= (before + after) * 4 / 3 + 6  # one character at either end, and what pads
