"""Counts the idioms that docs/dev/glossary.md asks to avoid, in names and prose, per package and 1,000 lines.

python scripts/check_prose.py            one line per package; exit code 1 if one is above its budget
python scripts/check_prose.py --quiet    only packages above their budget
python scripts/check_prose.py --update   lowers the budgets to the current counts; a budget never rises
"""

import re
import sys
import tomllib
from math import ceil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "addon" / "toolmend"
BUDGETS = ROOT / "scripts" / "prose_budget.toml"
IDIOMS = re.compile(
    r"\b(told|tells?|said|says|(?:is|are) none|is no [a-z]+|of (?:ours|theirs)|anew|in vain|whatever|so many|who asks|nobody"
    r"|no more than|as it came|behind|in front of|beside)\b"
)


def density(folder: Path) -> float:
    """Idioms per 1,000 lines of the Python files below a folder."""
    texts = [file.read_text(encoding="utf-8") for file in folder.rglob("*.py")]
    lines = sum(text.count("\n") for text in texts)
    return round(1000 * sum(len(IDIOMS.findall(text)) for text in texts) / max(lines, 1), 1)


def main(arguments: list[str]) -> int:
    """Runs the check and returns the exit code."""
    budgets: dict[str, int] = tomllib.loads(BUDGETS.read_text(encoding="utf-8"))
    found = {folder.name: density(folder) for folder in sorted(PACKAGES.iterdir()) if (folder / "__init__.py").exists()}
    if "--update" in arguments:
        lower = {name: min(ceil(value), budgets.get(name, ceil(value))) for name, value in found.items()}
        head = [line for line in BUDGETS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        rows = [f"{name} = {value}" for name, value in lower.items()]
        BUDGETS.write_text("\n".join([*head, *rows]) + "\n", encoding="utf-8")
        return 0
    above = [name for name, value in found.items() if value > budgets.get(name, 0)]
    for name in above:
        most = budgets.get(name, 0)
        sys.stdout.write(f"{name}: {found[name]} idioms per 1,000 lines, at most {most}: see docs/dev/glossary.md\n")
    if not above and "--quiet" not in arguments:
        sys.stdout.write(f"prose: {', '.join(f'{name} {value}' for name, value in found.items())}\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
