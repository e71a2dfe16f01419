"""Which ports a process listens on."""

from pathlib import Path


def ports(pid: int) -> set[tuple[str, str]]:
    """The (address, port) that a process listens on, as /proc writes them."""
    inodes = {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    found = [row[1].split(":") for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]
    return {(address, port) for address, port in found}
