r"""The forms in which a text may hold a secret: written as JSON and URLs have it, or so that a filter does not see it.

    sk-A/1   "sk-A\/1"   sk-A%2F1   %73%6b%2d%41%2f%31   \u0073\u006b\u002d\u0041\u002f\u0031   c2stQS8x   736b2d412f31

Rule of this file: each form is a text to look for as it is; how JSON spells its characters is the reader's business.

XX: of a secret inside base64, a character at either end that tells of its neighbour as well is no part of any form.
"""

import base64
import json
from urllib.parse import quote

from ..core import json_text

_URL_SAFE = str.maketrans("+/", "-_")


_ESCAPED = (  # what JSON writers escape of what keys are made of, and the escapes
    str.maketrans({char: f"\\u{ord(char):04X}" for char in "\"&'+<>`"}),  # System.Text.Json, of .NET
    str.maketrans({char: f"\\u{ord(char):04x}" for char in "&'<=>"}),  # Gson
    str.maketrans({char: f"\\u{ord(char):04x}" for char in "&<>"}),  # encoding/json, of Go
)


def spellings(secret: str) -> frozenset[str]:
    """A secret as a text may hold it: as it is, inside a JSON string, with slashes and the like escaped, in a URL."""
    in_json = (json_text.inside(secret), json.dumps(secret)[1:-1], *(secret.translate(table) for table in _ESCAPED))
    return frozenset((secret, *in_json, secret.replace("/", "\\/"), quote(secret, safe="", errors="surrogatepass")))


def disguises(secret: str) -> frozenset[str]:
    r"""Its spellings, and what is made of it to get it past a filter: in percents, in `\u0073`, in hex, and inside base64.

    In base64 each place has a form of its own, as three bytes become four characters; one that tells also of what stands in
    front of the secret is left out.
    """
    data, utf16 = secret.encode(errors="surrogatepass"), secret.encode("utf-16-be", "surrogatepass").hex()
    percents = "".join(f"%{byte:02x}" for byte in data)
    escapes = "".join(f"\\u{utf16[at : at + 4]}" for at in range(0, len(utf16), 4))
    found = {*spellings(secret), percents, percents.upper(), escapes, escapes.upper().replace("U", "u")}
    found |= {data.hex(), data.hex().upper()}
    for behind, skipped in ((0, 0), (1, 2), (2, 3)):
        coded = base64.b64encode(b"\0" * behind + data).decode().rstrip("=")[skipped:]
        found |= {coded, coded.translate(_URL_SAFE)}
        if (behind + len(data)) % 3:  # the last one tells of what follows as well
            found |= {coded[:-1], coded[:-1].translate(_URL_SAFE)}
    return frozenset(found)
