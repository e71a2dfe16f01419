r"""Finds credentials by their name or place: variables, members, settings, command options, file formats.

    DB_PASSWORD=kQ7zRtVbXw2L        password: "kQ7z…"        <password>kQ7z…</password>        jdbc:…?user=a&password=kQ7z…
    - name: DB_PASSWORD             Password=kQ7z…;          $env:API_TOKEN = 'kQ7z…'          seed phrase: zebra actor abuse …
      value: kQ7z…

The value of a credential's name is a credential of any length and entropy, unless it is words, an expression of a program, a
reference or a placeholder. The place decides how much evidence is needed: in quotes and in a settings file any value counts; in a
program or a sentence it has to look random.

Names and separators cover at least the keyword rules of gitleaks and detect-secrets.
"""

import re
from collections.abc import Iterator

from .names import is_credential
from .randomness import is_drawn
from .secret_places import PLACES, SHAPES

NAMED = "the value of what is named like a credential"
PHRASE = "a seed phrase"

MIN_VALUE = 5
"""Characters of a value that protects anything."""

MAX_VALUE = 20_000
"""Characters of a value; a longer one is a file."""

MAX_WORDY = 64
"""Characters of a value that is checked for placeholders: a longer random one may contain any word."""

MAX_NAME = 80
"""Characters of a name before its last word."""

MAX_LINE = 200
"""Characters of a line that are checked before a name and after a value."""

_WORDS = (
    r"pass(?:word|wd|phrase|code)s?|passw|pwd?|pass|psk|secrets?|tokens?|keys?|key[_-]?base|credentials?|creds?"
    r"|authorization|auth|jwt|bearer|cookies?|contrase[nñ]a|passwort|mot[_-]?de[_-]?passe|senha"
)
_SUFFIX = (
    r"[_-]?\d{1,2}|[_.-](?:prod(?:uction)?|dev(?:elopment)?|stag(?:e|ing)|qa|test|live|local|old|new|current|value|text|plain"
    r"|raw|ro|rw|admin|root|user|b64|base64)"
)
_ASSIGNED = re.compile(
    rf"(?i:(?:{_WORDS})(?:{_SUFFIX})?)(?![A-Za-z0-9_-])"
    r"(?:\]|\\*[\"'`]){0,3}"  # the end of the name
    r"(?::[ \t]?(?:&(?:'\w+\s)?)?(?:[A-Za-z][\w.]{0,30}(?:\[\w+\]|<\w+>)?\??)(?: \| \w+)?(?=[ \t]?=[^=]))?"  # its type
    r"(?P<sep>(?:,?(?:\s|\\[nrt]){0,40}\\*[\"']?(?i:value|secret_?string|string_?value)\\*[\"']?(?:[ \t]?[:=][ \t]?|>)"  # a pair
    r"|[ \t]?>|</(?i:key|name)>(?:\s|\\[nrt]){0,40}<(?i:string|value)>"  # in XML
    r"|[ \t]{0,40}(?::=|\|\|:?|\?=|={1,3}>?|:{1,2}|~>|->|,(?=\s?\\*[\"'`])|\((?=\\*[\"'`])"
    r"|\s(?i:is|was|are|to)(?=:?\s):?|(?=[ \t]))"
    r"(?:[ \t]|\\t){0,8}))"
    r"(?:(?i:bearer|basic|token)[ \t]+)?(?:[bBrRuUfF@](?=\\*[\"']))?(?:new\s+String\(|<!\[CDATA\[)?(?P<quote>\\{0,6}[\"'`]{1,3})?"
)
_NAME = re.compile(
    r"(?:pass|pwd|psk|passw|passcode|creds|keybase|(?:db|database|service|client|priv)key|contrase[nñ]a|senha|passwort|motdepasse)\Z|\A(?:pw|auth)\Z"
)
"""Names of credentials, in lower case and without punctuation, in addition to names.py."""
_NO_NAME = re.compile(
    r"(?:(?:public|primary|foreign|sort|partition|cache)key|bypass|compass|trespass|(?:request|change|idempotency|sync)token)\Z"
)
"""Names that end like a credential's but are not one, in addition to names.py."""
_BREAK = re.compile(r"[\r\n]|\\+[nr]")
_BEFORE = re.compile(r"[\w$.\[\]/:-]*\Z")
_QUOTED = {quote: re.compile(rf"[^{quote}\\\n]{{{MIN_VALUE},{MAX_VALUE}}}(?=\\{{0,6}}{quote})") for quote in "\"'`"}
_BARE = re.compile(rf"[^\s\"'`,;<>\\]{{{MIN_VALUE},{MAX_VALUE}}}")
_EXPRESSION = re.compile(r"[(\[{]|\A[$&@*!?]|[\w\])]\.[a-z_]\w*\Z|\A[A-Za-z_]\w*::")
"""Marks of an unquoted value that a program computes."""
_COMPUTED = re.compile(r"([A-Za-z_][\w.:>-]*|)[(\[{]|[$&@*!?]|[A-Za-z_]\w*::")
"""How such a value begins in a possible settings file."""
_LINE = re.compile(
    r"(?:[{\[,\s]*\\*\"[\w ]+\\*\"\s?:\s?\\*\")?[ \t>|#+-]*"
    r"(?:export[ \t]+|set(?:env|[xX])?[ \t]+(?:-\w+[ \t]+)*|(?:SET|ENV|ARG|env|Environment=|declare[ \t]+-\w+)[ \t]*"
    r"|\$env:|\$|//\S+:|--)?"
    r"[\"']?[A-Za-z_$][\w.:/$-]*[\"']?\Z"
)
"""What precedes a separator in a line of a settings file."""
_SPACED = re.compile(r"(?i)(?:\A|[\s;&|\"'`])(?:env|arg|setx?|setenv|set-item|config|secret|put|export)\b[^\n]{0,80}\Z")
"""Commands that separate name and value by a space."""
_REST = re.compile(r"[ \t\r\"'`,;})\]|\\]*(?:(?:#|//|;|--|\\[nr]|&&|\||/\w+)[^\n]*)?\Z")
"""What may follow the value in such a line."""

_PLACEHOLDER = re.compile(
    r"(?i)example|your|xxx|dummy|placeholder|change_?-?me|redacted|replace|insert|sample|\*\*\*|\.\.\.|…|•|1234567890|abcdef|p@ssw|fake"
    r"|\A<.*>\Z|\w\[[\w*-]*\]|\A\[.*\]\Z"
    r"|[$#]\{|\{[a-z_][\w.]*\}|\$\(|\{\{|\}\}|%[({]?[a-z_]{2,}[)}]?[%sd]|\A%[sdr]\Z|\A\$[a-z_]|\A\$\$?[({a-z]|\A[@&]\w+\Z"
    r"|\A(?:my|the|some|a|an|no|not|old|new|any)[-_ ]"
    r"|\A(?:pass(?:word|wd)?|secret|token|admin|root|user|key|guest|letmein|qwerty|abc|foo|bar|test|demo|changeit|default|postgres"
    r"|mysql|redis|minio)(?:pass(?:word|wd)?|admin|key)?[-_]?[\d!@]{0,4}\Z|\Atest|todo|\A(?:none|null|true|false|undefined|nil)\Z"
)
_REFERENCE = re.compile(
    r"(?i)\A(?:arn|op|vault|ref\+\w+|env|file|secrets?|keyring|keychain|gcp|gsm|aws|azure|ssm|sops|kms|ssh|https?|s3|gs|bao|doppler|process|os"
    r"|config|var|local|data|module|vars|github|steps|inputs|self|this|settings|kv|cmd|\w*secretmanager)[:./\[]|\A!\w+|\AENC\[|\Aprojects/"
)
"""A reference to where the credential is stored."""
_WORDY = re.compile(
    r"(?:[A-Z]?[a-z]++|[A-Z]++)(?:[-_./:\\ ]*+(?:[A-Z]?[a-z]++|[A-Z]++|\d{1,3}(?![A-Za-z0-9])))*+[.!?:]?"
    r"|[A-Za-z]:?[\\/][\w.\\/ -]*+|~?(?:/[\w.@-]++)++/?|\d++(?:\.\d++)*+|[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)++"
)
"""Words and identifiers, paths, numbers, and member accesses."""
_PASSWORD = re.compile(r"(?i)pass|pwd?\b|psk|secret|creds|contrase|senha|pw\Z")
_TYPE = re.compile(
    r"(?i)(?:string|str|number|integer|boolean|bool|object|array|optional|required|bytes|secretstr|any|varchar\S*|text)\b[^\w]?"
)

_WALLET = re.compile(
    r"(?i)\b(?:seed|recovery|backup|wallet|bip-?39|metamask|ledger|trezor|secret)[ _-]?(?:phrase|words?|key|seed)?s?\b|mnemonic"
)
_WORD = r"(?:\d{1,2}[.):]\s*)?[a-z]{3,8}"
_PHRASE = re.compile(rf"(?<![a-z])(?:{_WORD}(?:[\s,]|\\n){{1,4}}){{11,23}}{_WORD}(?![a-z])")
_NEAR = 160
"""Characters between a word of _WALLET and a phrase."""
_NO_SEEDS = frozenset(
    (
        *("the", "and", "for", "are", "with", "was", "his", "her", "has", "had", "but", "not", "from", "our", "its", "their"),
        *("were", "been", "which", "who", "than", "because", "would", "should", "could", "does", "did", "these", "those"),
        *("any", "your", "them", "here"),
    )
)
"""Words that occur in nearly every sentence but in no BIP 39 word list."""


def named(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields start, end and kind of each such credential."""
    for kind, shape in SHAPES:
        yield from ((*match.span(), kind) for match in shape.finditer(text))
    yield from _assigned(text)
    for kind, place in PLACES:
        for match in place.finditer(text):
            if is_secret(match["v"]):
                yield *match.span("v"), kind
    yield from _phrases(text)


def is_secret(value: str, *, words: bool = False) -> bool:
    """Whether the value of a credential's name is a credential. `words`: also eight digits or more."""
    if len(value) > MAX_WORDY:
        return " " not in value and len(set(value)) > 8 and not _WORDY.fullmatch(value) and not _REFERENCE.match(value)
    if len(value) < MIN_VALUE - 1 or len(set(value)) < 4 or " " in value or not value.isprintable():
        return False
    if _PLACEHOLDER.search(value) or _REFERENCE.match(value) or _TYPE.fullmatch(value):
        return False
    if is_drawn(value):
        return True
    if _WORDY.fullmatch(value):
        return words and value.isdigit() and len(value) >= 8
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    marks = len(value) - letters - digits - sum(map(value.count, "-_./: "))
    return letters >= 2 and (digits >= 1 or marks >= 1) and value.count("%") * 4 <= len(value)


def _assigned(text: str) -> Iterator[tuple[int, int, str]]:
    passed = 0  # the end of a long value; names inside it are skipped, or it would be parsed repeatedly
    for match in _ASSIGNED.finditer(text):
        if match.start() < passed:
            continue
        name = _name(text, match)
        quote = (match["quote"] or "")[-1:]
        value = (_QUOTED[quote] if quote else _BARE).match(text, match.end())
        if value and len(value[0]) > MAX_LINE:
            passed = value.end()
        if not value or not _is_name(name):
            continue
        before = _BREAK.split(text[max(0, match.start() - MAX_LINE) : match.start("sep")])[-1]
        after = _BREAK.split(text[value.end() : value.end() + MAX_LINE], maxsplit=1)[0]
        if _is_assigned(name, match["sep"], bool(quote), before, value[0], after):
            yield *value.span(), NAMED


def _is_assigned(name: str, sep: str, quoted: bool, before: str, value: str, after: str) -> bool:
    """Whether a value is a credential there. `before` and `after`: the rest of its line."""
    mark = sep.strip().lower()
    weak = mark in ("", "is", "was", "are", "to", ",", "(", "is:", "->")  # also occur in sentences
    setting = bool(_LINE.fullmatch(before)) and bool(_REST.match(after)) and not weak
    spaced = not mark and bool(_SPACED.search(before[: -len(name)] if name else before))
    whole = value if quoted else re.split(r"[&)}\]|](?=[\w]*[=)}\]]|\Z)", value)[0]
    words = bool(_PASSWORD.search(name))
    if (weak and name.lower() == "pass") or (name.lower().endswith(("cookie", "cookies", "auth")) and not is_drawn(value)):
        return False
    if not mark and not (spaced or quoted):
        return is_drawn(whole) and words and len(whole) >= 8
    if mark == ">" and not after.startswith(("<", "]]>")):
        return False
    if quoted or setting or spaced or ">" in mark or "value" in mark:
        return any(is_secret(text, words=words) for text in {value, whole}) and (quoted or not _is_computed(value))
    return is_drawn(whole) and not _EXPRESSION.search(value) and is_secret(whole)


def _is_computed(value: str) -> bool:
    """Whether an unquoted value is an expression, not a password with such characters."""
    begun = _COMPUTED.match(value)
    return begun is not None and not is_drawn(begun[1] or "")


def _name(text: str, match: re.Match[str]) -> str:
    """Returns the whole name that a match ends."""
    before = text[max(0, match.start() - MAX_NAME) : match.start()]
    return "".join(_BEFORE.findall(before)) + text[match.start() : match.start("sep")].partition(":")[0].strip("\\\"'`] ")


def _is_name(name: str) -> bool:
    """Whether a name is a credential's."""
    last = re.split(r"[.\[\]/:$]", re.sub(rf"(?i)(?:{_SUFFIX})\Z", "", name))[-1]
    plain = re.sub(r"[\W_]", "", last.lower())
    return not _NO_NAME.search(plain) and (is_credential(last) or bool(_NAME.search(plain)))


def _phrases(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields the seed phrases near a word of _WALLET."""
    reached = 0
    for word in _WALLET.finditer(text):
        for found in _PHRASE.finditer(text, max(reached, word.start() - 3 * _NEAR), word.end() + 4 * _NEAR):
            words = re.findall(r"[a-z]{3,8}", found[0])
            near = min(abs(found.start() - word.end()), abs(word.start() - found.end())) <= _NEAR
            if near and len({*words}) * 3 >= len(words) * 2 and _NO_SEEDS.isdisjoint(words):
                reached = found.end()
                yield *found.span(), PHRASE
