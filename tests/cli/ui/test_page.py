"""What a browser gets of `toolmend ui`: files of ours, and pinned ones of others."""

import re
from hashlib import sha256

from tests.support.paths import ADDON

PAGE = ADDON / "toolmend" / "cli" / "ui" / "page"
PINNED = {
    "htm-preact.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
    "uplot.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uplot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
OURS = [path for path in sorted(PAGE.glob("*.*")) if path.suffix in (".js", ".html", ".css")]


def test_what_is_others_is_as_they_publish_it() -> None:
    files = {path.name: sha256(path.read_bytes()).hexdigest() for path in (PAGE / "vendor").iterdir() if path.suffix in (".js", ".css")}
    assert files == PINNED
    told = (PAGE / "vendor" / "THIRD_PARTY.md").read_text()
    assert all(name in told for name in files)
    assert all((PAGE / "vendor" / name).exists() for name in re.findall(r"LICENSE\.\w+", told))


def test_no_text_becomes_markup() -> None:
    for path in OURS:
        text = path.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|dangerouslySet", text), path
        assert not re.search(r"""["'`(]https?://(?!www\.w3\.org)""", text), path


def test_modules_import_what_is_there() -> None:
    for path in OURS:
        for names, place in re.findall(r'import \{([^}]*)\} from "\./([^"]+)"', path.read_text()):
            assert (PAGE / place).exists()
            if "vendor" not in place:
                exported = set(re.findall(r"export (?:async )?(?:function|const|class) (\w+)", (PAGE / place).read_text()))
                exported |= {name.strip() for group in re.findall(r"export \{([^}]*)\}", (PAGE / place).read_text()) for name in group.split(",")}
                assert {name.strip() for name in names.split(",") if name.strip()} <= exported, (path, place)
