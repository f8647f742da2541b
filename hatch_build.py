"""The README of wheel and sdist, whose links lead to the public address once there is one."""

import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Readme(MetadataHookInterface):
    """Hatchling calls it, with the table ``project`` of pyproject.toml and the version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README."""
        root = Path(self.root)
        sys.path.insert(0, str(root / "docs"))
        import addresses

        text = (root / "README.md").read_text(encoding="utf-8")
        text = addresses.absolute(text, addresses.addresses(root), metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
