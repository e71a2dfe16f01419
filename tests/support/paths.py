"""Places of the repository that tests read."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
ADDON = ROOT / "addon"
FLOWS = ROOT / "flows"
