"""The fast path only saves time: in a copy without its folder and its one import, everything else works.

Run here is a quick part of the tests. Any others pass there, too, but for those in this folder.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT

IMPORT = re.compile(r"^from \.fastpath\.run_reader import .*\n", re.MULTILINE)
CORE = (
    "tests/pipeline/test_chunk_reader.py",
    "tests/pipeline/test_event_reader.py",
    "tests/pipeline/test_undelivered.py",
    "tests/pipeline/transformers/test_finish.py",
    "tests/apis/shared/test_delta_template_learner.py::test_events_without_names",
    "tests/test_architecture.py",
)


def test_all_works_without_its_folder(tmp_path: Path) -> None:
    for name in ("addon", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "e2e", "fastpath"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    choice = tmp_path / "addon/toolmend/pipeline/reader_choice.py"
    text, removed = IMPORT.subn("", choice.read_text(encoding="utf-8"))
    assert removed == 1
    choice.write_text(text, encoding="utf-8")
    importing = [path for path in tmp_path.glob("addon/**/*.py") if re.search(r"import.*fastpath|from.*fastpath", path.read_text(encoding="utf-8"))]
    assert importing == []
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *CORE]
    done = subprocess.run(command, cwd=tmp_path, env=environment | {"PYTHONPATH": ""}, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
