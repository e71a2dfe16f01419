"""Fuzzes one target with atheris, guided by what the code does: scripts/fuzz starts it, once for each target.

    fuzz.py TARGET SECONDS CORPUS      inputs that reach something new are kept in CORPUS; one that fails lies there as crash-…

Rule of this file: what it does is atheris's; what must hold stands in targets.py.
"""

import os
import sys
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "addon")]

with atheris.instrument_imports(include=["toolmend"]):
    import samples
    import targets

SEEDS = 200
"""Inputs to begin with, made of the recordings: whole streams, and texts of models."""


def seed(corpus: Path) -> None:
    """Fills an empty corpus."""
    corpus.mkdir(parents=True, exist_ok=True)
    if any(corpus.iterdir()):
        return
    files = [folder / "upstream.sse" for folder in samples.SEEDS if (folder / "upstream.sse").exists()]
    for at, file in enumerate(files[:SEEDS]):
        (corpus / f"recording-{at}").write_bytes(bytes([at % len(samples.PAIRS), at % 256]) + file.read_bytes()[:4000])
    for at in range(SEEDS):
        (corpus / f"choices-{at}").write_bytes(os.urandom(20 + at))


def main() -> None:
    """Runs until the time is over or something fails; its exit code says which."""
    name, seconds, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    seed(folder)
    words = folder.parent / f"{folder.name}.dict"
    words.write_text("".join(f'"{"".join(f"\\x{byte:02x}" for byte in word.encode())}"\n' for word in samples.MARKUP))
    options = [f"-max_total_time={seconds}", "-max_len=4096", f"-dict={words}", f"-artifact_prefix={folder}/", "-rss_limit_mb=2048", "-timeout=20"]
    atheris.Setup([sys.argv[0], *options, str(folder)], targets.TARGETS[name])
    atheris.Fuzz()


main()
