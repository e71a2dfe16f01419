"""scripts/toolmend and scripts/setup.sh, run for real in a small checkout: venv and pip, but nothing from the network.

The checkout's package is a stand-in that tells how it was started, built by a backend of its own that needs nothing.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.support.paths import ROOT

TOOLS = ("bash", "cksum", "dirname", "env", "grep", "mkdir", "readlink", "rm", "sort")
SUITS = 'echo "$0"'  # a Python that is new enough tells its path
REFUSES = "exit 1"  # one that is too old, has no venv, or is a pyenv shim of a version that is not selected

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "toolmend"
version = "1"
"""
BACKEND = """
import os, zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "toolmend-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("toolmend.pth", os.path.abspath("addon"))
        wheel.writestr("toolmend-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: toolmend\\nVersion: 1\\n")
        wheel.writestr("toolmend-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr("toolmend-1.dist-info/RECORD", "")
    return name
"""
PACKAGE = """
import json, os, sys
names = ("PYTHONPATH", "_TOOLMEND_PYTHONPATH")  # it is taken away, and kept for what `toolmend run` starts
told = {"args": sys.argv[1:], "cwd": os.getcwd(), "prefix": sys.prefix, "stdin": sys.stdin.read()}
print(json.dumps(told | {"paths": [os.environ.get(name) for name in names]}))
sys.exit(7)
"""


def script(path: Path, body: str) -> None:
    """An executable that stands for a program on the user's machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{shutil.which('bash')} -p\n{body}\n")
    path.chmod(0o755)


def environment(home: Path, **more: str) -> dict[str, str]:
    """A machine with the usual tools, no Python of its own, no network, and settings that lead astray."""
    tools = home / "tools"
    tools.mkdir(parents=True)
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name} here"))
    (home / "astray").mkdir()
    for module in ("pip", "click", "toolmend"):
        (home / "astray" / f"{module}.py").write_text("raise SystemExit('imported from the wrong place')")
    return {
        "PATH": f"{home / 'bin'}:{tools}",
        "HOME": str(home),
        "CDPATH": "/",
        "PYTHONPATH": str(home / "astray"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_TARGET": str(home / "target"),
        "PIP_USER": "1",
        **more,
    }


def copy_scripts(checkout: Path) -> None:
    (checkout / "scripts").mkdir(parents=True)
    for name in ("setup.sh", "toolmend"):
        shutil.copy2(ROOT / "scripts" / name, checkout / "scripts")


def start(checkout: Path, *args: str, env: dict[str, str], cwd: Path | None = None) -> subprocess.Popen[str]:
    command = [checkout / "scripts" / "toolmend", *args]
    return subprocess.Popen(command, env=env, cwd=cwd, text=True, stdin=PIPE, stdout=PIPE, stderr=PIPE)


PYTHONS = [
    ({"bin/python3.12": SUITS, "bin/python3": SUITS}, {}, "bin/python3.12"),
    ({"bin/python3.13": REFUSES, "bin/python3": SUITS}, {}, "bin/python3"),
    (
        {
            "bin/python3.13": REFUSES,
            "bin/python3": REFUSES,
            ".pyenv/versions/3.9.18/bin/python": REFUSES,
            ".pyenv/versions/3.12.1/bin/python": SUITS,
            ".pyenv/versions/3.13.9/bin/python": SUITS,
            ".pyenv/versions/3.13.10/bin/python": SUITS,
            ".pyenv/versions/3.14.0/bin/python": REFUSES,
            ".pyenv/versions/3.15.0rc1/bin/python": SUITS,  # few wheels are made for it
        },
        {},
        ".pyenv/versions/3.13.10/bin/python",
    ),
    ({"py env/versions/3.12.1/bin/python": SUITS}, {"PYENV_ROOT": "py env"}, "py env/versions/3.12.1/bin/python"),
    ({"bin/python3": SUITS, "my python": SUITS}, {"TOOLMEND_PYTHON": "my python"}, "my python"),
    ({"bin/python3": REFUSES, "bin/uv": 'echo "$HOME/uv python"', "uv python": SUITS}, {}, "uv python"),
]


@pytest.mark.parametrize(("programs", "names", "found"), PYTHONS, ids=[case[2] for case in PYTHONS])
def test_finds_a_python(programs: dict[str, str], names: dict[str, str], found: str, tmp_path: Path) -> None:
    env = environment(tmp_path, **{name: str(tmp_path / path) for name, path in names.items()})
    for path, body in programs.items():
        script(tmp_path / path, body)
    copy_scripts(tmp_path / "checkout")
    command = ["bash", "-c", ". checkout/scripts/setup.sh; find_python"]
    done = subprocess.run(command, env=env, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / found}\n", "")


@pytest.mark.parametrize("named", [True, False])
def test_says_what_to_do_without_a_python(named: bool, tmp_path: Path) -> None:
    env = environment(tmp_path, **({"TOOLMEND_PYTHON": str(tmp_path / "bin" / "python3")} if named else {}))
    script(tmp_path / "bin" / "python3", REFUSES)
    copy_scripts(tmp_path)
    launcher = start(tmp_path, env=env)
    out, err = launcher.communicate()
    assert (launcher.returncode, out) == (3, "")
    first, second = err.splitlines()
    assert first.startswith("error: TOOLMEND_PYTHON=" if named else "error: found no Python 3.12 or newer")
    assert second.startswith("try: ")


HIJACKING = ("ensurepip.py", "venv.py", "pip.py", "sitecustomize.py", "usercustomize.py", "toolmend.py", "pytest.py", "encodings.py", "fcntl.py")
"""Modules in the folder that the user stands in: an interpreter that looks there ends with what it has touched."""

SETTINGS = ("pyproject.toml", "uv.toml", "pip.conf", "setup.cfg", "pytest.ini", ".python-version", ".tool-versions", ".pythonrc", ".npmrc")
PROGRAMS = (*TOOLS, *("python", "python3", "python3.12", "python3.14", "uv", "npm", "node", "nice", "sed", "tail", "cmp", "cp", "sh"))
COMMANDS = sorted(path.name for path in (ROOT / "scripts").iterdir() if os.access(path, os.X_OK))

PLAYS = r"""
printf '%s|%s|%s\n' "$0" "$PWD" "$*" >>"$PLAYED"
case "$*" in
    *'import ensurepip'*) "$REAL" "$@" >/dev/null && echo "$0" ;; # the real one imports, and nothing of the folder
    *'-m venv '*) for folder; do :; done; mkdir -p "$folder/bin"; ln -s "$0" "$folder/bin/python"; touch "$folder/pyvenv.cfg" ;;
esac
"""
"""Stands for Python: keeps how it was started, and makes a venv of itself."""


def hostile(folder: Path, touched: Path) -> None:
    """A folder in which every name that something may look for there leaves a trace if it is run."""
    folder.mkdir()
    for name in HIJACKING:
        (folder / name).write_text(f"open({str(touched)!r}, 'a').write({name + chr(10)!r}); raise SystemExit(9)")
    for name in PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >>'{touched}'\n")
        (folder / name).chmod(0o755)
    for name in SETTINGS:
        (folder / name).write_text(f"echo {name} >>'{touched}'\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_current_folder_is_not_run(command: str, tmp_path: Path) -> None:
    """Each script, without a .venv, from a folder full of hijacking names, which PATH and other variables name, too."""
    touched, played = tmp_path / "touched", tmp_path / "played"
    hostile(tmp_path / "here", touched)
    env = environment(tmp_path)
    for name in ("cmp", "cp", "ln", "mkdir", "nice", "sed", "tail", "touch", "cat"):
        (tmp_path / "tools" / name).unlink(missing_ok=True)
        (tmp_path / "tools" / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name} here"))
    for name in ("npm", "node"):
        script(tmp_path / "bin" / name, 'printf "%s|%s|%s\\n" "$0" "$PWD" "$*" >>"$PLAYED"')
    script(tmp_path / "bin" / "python3.13", PLAYS)
    env |= {"PATH": f":.:{env['PATH']}:../here:", "PYTHONPATH": ":.", "PYTHONSTARTUP": ".pythonrc", "BASH_ENV": "./pip.conf"}
    env |= {"ENV": "pip.conf", "PYTHONUSERBASE": ".", "PYTHONPYCACHEPREFIX": ".", "PYTHONHOME": ".", "PIP_CONFIG_FILE": "pip.conf"}
    env |= {f"BASH_FUNC_{name}%%": f"() {{ echo {name} >>'{touched}'; }}" for name in ("cd", "cksum", "printf", "setup")}
    env |= {"UV_CONFIG_FILE": "uv.toml", "PLAYED": str(played), "REAL": sys.executable}
    checkout = tmp_path / "a checkout"
    shutil.copytree(ROOT / "scripts", checkout / "scripts")
    for name in ("pyproject.toml", "constraints.txt", "constraints-envoy.txt"):
        shutil.copy2(ROOT / name, checkout)
    for name in ("agents", "sdk"):
        (checkout / "tests" / name).mkdir(parents=True)
    place = Path("..", checkout.name, "scripts", command)
    if command == "toolmend":
        place = tmp_path / "link"
        place.symlink_to(f"{checkout.name}/scripts/{command}")

    for _ in range(2 if command == "toolmend" else 1):
        subprocess.run([place], env=env, cwd=tmp_path / "here", stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert not touched.exists(), touched.read_text()
    starts = [line.split("|") for line in played.read_text().splitlines()]
    assert {"venv", "pip"} <= {word for _, _, words in starts for word in words.split()}
    for program, folder, words in starts:
        assert Path(program).is_absolute()
        if Path(program).name.startswith("python"):
            assert {"-I", "-P"} & set(words.split()), words
            assert folder != str(tmp_path / "here") or "-P -m bench" in words or words.startswith("-P -m toolmend"), words


def test_python_is_named_from_the_current_folder(tmp_path: Path) -> None:
    env = environment(tmp_path, TOOLMEND_PYTHON="./mine")
    script(tmp_path / "mine", SUITS)
    copy_scripts(tmp_path / "checkout")
    command = ["bash", "-c", ". checkout/scripts/setup.sh; find_python"]
    done = subprocess.run(command, env=env, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.stdout == f"{tmp_path}/./mine\n"


def machine(home: Path) -> tuple[Path, dict[str, str]]:
    """A checkout with a set-up that was cut short, and the environment of a machine with Python under pyenv only."""
    env = environment(home)
    script(home / "bin" / "python3", REFUSES)
    script(home / ".pyenv" / "versions" / "3.13.0" / "bin" / "python", f'exec "{sys.executable}" "$@"')
    checkout = home / "a [small] checkout"
    copy_scripts(checkout)
    (checkout / "addon" / "toolmend").mkdir(parents=True)
    (checkout / "addon" / "toolmend" / "__main__.py").write_text(PACKAGE)
    (checkout / "pyproject.toml").write_text(PYPROJECT)
    (checkout / "backend.py").write_text(BACKEND)
    (checkout / "constraints.txt").write_text("")
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / ".unfinished").touch()
    (checkout / ".venv" / "bin" / "python").symlink_to(sys.executable)
    return checkout, env


def told(launcher: subprocess.Popen[str], stdin: str = "") -> tuple[dict[str, object], Sequence[str]]:
    """What the stand-in said, and what the launcher said."""
    out, err = launcher.communicate(stdin)
    assert launcher.returncode == 7, err
    return json.loads(out), err.splitlines()


def test_the_first_run(tmp_path: Path) -> None:
    checkout, env = machine(tmp_path)
    stranger = env["PYTHONPATH"]  # a working directory full of modules that are not ours
    expected = {"args": ["a b", "--c", ""], "cwd": stranger, "prefix": str(checkout / ".venv"), "stdin": "typed", "paths": [None, stranger]}

    both = [start(checkout, "a b", "--c", "", env=env, cwd=Path(stranger)) for _ in range(2)]
    answers = [told(launcher, "typed") for launcher in both]
    assert [answer for answer, _ in answers] == [expected, expected]
    said = [line for _, lines in answers for line in lines]
    (made,) = [line for line in said if "waiting" not in line]
    assert made.startswith("toolmend: .venv has no working Python 3.12 or newer, setting up .venv with Python 3.")
    assert not (checkout / ".venv" / ".unfinished").exists()
    assert not Path(env["PIP_TARGET"]).exists()

    link = tmp_path / "bin" / "toolmend"
    link.symlink_to(os.path.relpath(checkout / "scripts" / "toolmend", link.parent))
    through = subprocess.Popen([link], env=env, text=True, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    assert told(through) == ({**expected, "args": [], "cwd": str(Path.cwd()), "stdin": ""}, [])

    (checkout / "constraints.txt").write_text("# other versions\n")
    assert told(start(checkout, env=env))[1] == ["toolmend: bringing .venv up to date …"]
    assert told(start(checkout, env=env))[1] == []

    (checkout / "backend.py").write_text("raise SystemExit('no network, say')")
    (checkout / "constraints.txt").write_text("")
    for _ in range(2):  # what failed is not taken for done
        failing = start(checkout, env=env)
        out, err = failing.communicate()
        assert (failing.returncode, out) == (3, "")
        assert "no network, say" in err
        assert err.splitlines()[-1].startswith("try: ")
