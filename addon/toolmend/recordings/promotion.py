"""A recording becomes a fixture: redacted, searched for secrets, on request made small, and played before it is put in its place.

    promotion = prepare(folder, os.environ)      what the fixture is to hold, and what speaks against it
    put(promotion, Path("flows/kimi/case"))      all of it, or nothing

Rule of this file: nothing is written before all is known to be well. The recording itself is left as it is.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import json_text
from ..redaction import REDACTED, Redactor
from ..replay import Recording, load
from ..request_secrets import secrets_of
from ..routes import STANDS_AT
from ..value import replace, value
from . import fixture
from .echo import EchoMask
from .echo_frames import FrameMask, mask_of
from .exchange import Exchange
from .folder import KNOWN
from .minimise import minimise
from .regular_file import read
from .secret_scan import Finding, scan


@value
class Promotion:
    """A fixture that is not written yet. `findings` are reasons not to; `notes` are worth knowing.

    `sizes`: bytes of the stream before and after.
    """

    files: Mapping[str, bytes]
    rules: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    sizes: tuple[int, int]


def prepare(folder: Path, environ: Mapping[str, str], *, small: bool = False) -> Promotion:
    """What becomes of a recording. Raises RecordingError."""
    recorded = load(folder)
    notes = [f"the recording is {state}" for state in (recorded.meta.get("state"),) if state != "complete"]
    recording, forwarded = _redacted(recorded, _json(folder / "upstream_request.json"))
    if fixture.golden(recording)[0] != recording.client:
        notes.append("the client gets something else today than it got then; the fixture expects what it gets today")
    before = sum(map(len, recording.chunks))
    if small:
        minimised = minimise(recording)
        recording, forwarded = minimised.recording, None
        if not minimised.whole:
            notes.append("it was too long to try all that can be left out")
        if minimised.words:
            notes.append(f"{minimised.words} words of the stream stay as they were: something hangs on them")
    kept = _files(recording, forwarded)
    files = kept | fixture.files(recording, kept)
    rules = tuple(fixture.golden(recording)[1])
    if not rules:
        notes.append("no rule is at work: the fixture says that nothing is to be done")
    searched = {name: data for name, data in files.items() if name != "message.json"}  # which says what client.sse says
    return Promotion(files, rules, tuple(scan(searched, environ)), tuple(notes), (before, sum(map(len, recording.chunks))))


def put(promotion: Promotion, folder: Path) -> None:
    """Writes the fixture. Raises FileExistsError, OSError."""
    fixture.create(folder, promotion.files)


def _redacted(recording: Recording, forwarded: Any) -> tuple[Recording, bytes | None]:
    """What the recorder does on the way to disk, done once more: a recording may be of an older version, or another's."""
    meta = recording.meta
    request = _bytes(recording.request)
    headers = {side: _pairs(meta.get(f"{side}_headers")) for side in ("request", "response")}
    exchange = Exchange(
        flow_id="",
        **{name: meta.get(name) or "" for name in KNOWN},  # type: ignore[arg-type]  # what is looked at are texts
        request_headers=headers["request"],
        response_headers=headers["response"],
        request=request or b"",
        upstream_request=_bytes(forwarded),
        settings={},
    )
    secrets = [secret for secret in secrets_of(exchange) if secret != REDACTED]
    redactor = Redactor(secrets)
    clean = redactor.value({name: value for name, value in meta.items() if name not in ("ids", "sha256", "flow_id")})
    clean |= {name: meta[name] for name in ("ids", "sha256") if name in meta}
    clean |= {f"{side}_headers": redactor.headers(pairs) for side, pairs in headers.items()}
    clean["path"] = redactor.path(str(meta.get("path") or ""))
    if clean.get("fault"):
        clean["fault"] = clean["fault"].partition(STANDS_AT)[0]
    chunks, at = [], 0
    body = _masked(b"".join(recording.chunks), mask_of(exchange.api, secrets))
    for chunk in recording.chunks:
        chunks.append(body[at : at + len(chunk)])
        at += len(chunk)
    asked = redactor.value(recording.request)
    client = _masked(recording.client, mask_of(exchange.api, secrets))
    return replace(recording, meta=clean, request=asked, chunks=tuple(chunks), client=client), _bytes(redactor.value(forwarded))


def _masked(body: bytes, mask: EchoMask | FrameMask) -> bytes:
    out = bytearray(mask.feed(body) + mask.close())
    for offset, piece in mask.restored:
        out[offset : offset + len(piece)] = piece
    return bytes(out)


def _files(recording: Recording, forwarded: bytes | None) -> dict[str, bytes]:
    """The files that are no result of the mending."""
    stream = recording.stream
    files = {f"upstream.{'sse' if stream else 'json'}": b"".join(recording.chunks)}
    if (request := _bytes(recording.request)) is not None:
        files["request.json"] = request
    if forwarded is not None:
        files["upstream_request.json"] = forwarded
    if stream:
        lines, at = [], 0
        for chunk, time in zip(recording.chunks, recording.times, strict=True):
            lines.append(f'{{"off":{at},"len":{len(chunk)},"t_ms":{time * 1000:.3f}}}\n')
            at += len(chunk)
        files["upstream.idx"] = "".join(lines).encode()
    return files


def _json(path: Path) -> Any:
    return json_text.loads(read(path)) if path.exists() else None


def _bytes(value: Any) -> bytes | None:
    return None if value is None else json_text.dumps(value).encode()


def _pairs(headers: Any) -> tuple[tuple[str, str], ...]:
    pairs = headers if isinstance(headers, list) else []
    return tuple((str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2)
