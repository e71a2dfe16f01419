r"""The forms in which a text may contain a secret: as JSON and URLs write it, or encoded to pass a filter.

    sk-A/1   "sk-A\/1"   sk-A%2F1   %73%6b%2d%41%2f%31   \u0073\u006b\u002d\u0041\u002f\u0031   c2stQS8x   736b2d412f31

Each form is a literal to search for; how JSON escapes its characters is up to the caller.

XX: of a secret inside base64, a character at either end that also encodes its neighbour is not part of any form.
"""

import base64
import json
from urllib.parse import quote

from ..core import json_text

_URL_SAFE = str.maketrans("+/", "-_")


_ESCAPED = (  # the characters of keys that JSON serialisers escape, and how
    str.maketrans({char: f"\\u{ord(char):04X}" for char in "\"&'+<>`"}),  # System.Text.Json, of .NET
    str.maketrans({char: f"\\u{ord(char):04x}" for char in "&'<=>"}),  # Gson
    str.maketrans({char: f"\\u{ord(char):04x}" for char in "&<>"}),  # encoding/json, of Go
)


def spellings(secret: str) -> frozenset[str]:
    """Returns the spellings of a secret: verbatim, inside a JSON string, with escaped slashes and the like, in a URL."""
    in_json = (json_text.inside(secret), json.dumps(secret)[1:-1], *(secret.translate(table) for table in _ESCAPED))
    return frozenset((secret, *in_json, secret.replace("/", "\\/"), quote(secret, safe="", errors="surrogatepass")))


def disguises(secret: str) -> frozenset[str]:
    r"""Returns the spellings of a secret and its encodings: percents, `\u0073`, hex, and inside base64.

    In base64 each offset has a form of its own, since three bytes become four characters. A character that also encodes the text
    before or after the secret is left out.
    """
    data, utf16 = secret.encode(errors="surrogatepass"), secret.encode("utf-16-be", "surrogatepass").hex()
    percents = "".join(f"%{byte:02x}" for byte in data)
    escapes = "".join(f"\\u{utf16[at : at + 4]}" for at in range(0, len(utf16), 4))
    found = {*spellings(secret), percents, percents.upper(), escapes, escapes.upper().replace("U", "u")}
    found |= {data.hex(), data.hex().upper()}
    for offset, skipped in ((0, 0), (1, 2), (2, 3)):
        coded = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")[skipped:]
        found |= {coded, coded.translate(_URL_SAFE)}
        if (offset + len(data)) % 3:  # the last character also encodes what follows
            found |= {coded[:-1], coded[:-1].translate(_URL_SAFE)}
    return frozenset(found)
