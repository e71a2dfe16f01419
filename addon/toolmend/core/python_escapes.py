r"""The escapes of Python string literals.

`ESCAPE` matches one (`\x41`), `unescaped` returns its character (`A`), and `CUT_ESCAPE` matches an incomplete one (`\x4`).
"""

import re

_HEX = "[0-9A-Fa-f]"
ESCAPE = re.compile(
    rf"\\(?:x({_HEX}{{2}})|u({_HEX}{{4}})|U({_HEX}{{8}})|(?P<octal>[0-7]{{1,3}})|(?P<other>\r\n|.))", re.DOTALL
)
CUT_ESCAPE = re.compile(rf"\\(?:x{_HEX}?|u{_HEX}{{0,3}}|U{_HEX}{{0,7}}|[0-7]{{1,2}}|\r)?\Z")
_ESCAPES = dict(zip("ntrabfv\\'\"", "\n\t\r\a\b\f\v\\'\"", strict=True)) | {"\n": "", "\r\n": ""}


def unescaped(escape: re.Match[str]) -> str:
    """Returns the character of an escape; the escape itself if Python has no such escape."""
    if escape["other"]:
        return _ESCAPES.get(escape["other"], escape.group())
    code = int(escape["octal"], 8) if escape["octal"] else int(escape[1] or escape[2] or escape[3], 16)
    return chr(code) if code <= 0x10FFFF else escape.group()
