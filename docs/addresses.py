"""Write the public addresses of ``pyproject.toml`` into the README and ``CITATION.cff``.

python docs/addresses.py            writes them; without addresses both name none
python docs/addresses.py --check    whether they are those of pyproject.toml

The site takes them from pyproject.toml when it is built (docs/site/hooks.py).
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- addresses: .*? -->\n)(.*?)(<!-- end of addresses -->)", re.DOTALL)
CITED = {"Repository": "repository-code", "Documentation": "url"}


def addresses(root=ROOT):
    """Read the addresses, by their names."""
    return tomllib.loads((root / "pyproject.toml").read_text())["project"].get("urls", {})


def readme(text, urls):
    """Put the addresses into the README."""
    line = " | ".join(f"[{name}]({url})" for name, url in urls.items())
    return BLOCK.sub(lambda found: f"{found[1]}{line + chr(10) if line else ''}{found[3]}", text)


def citation(text, urls):
    """Put the addresses that a citation has at the end of ``CITATION.cff``."""
    lines = [line for line in text.splitlines() if line.split(":")[0] not in CITED.values()]
    lines += [f"{key}: {urls[name]}" for name, key in CITED.items() if name in urls]
    return "\n".join(lines) + "\n"


def main(root=ROOT):
    """Write the addresses, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    for name, put in {"README.md": readme, "CITATION.cff": citation}.items():
        path = root / name
        text = path.read_text()
        wanted = put(text, addresses(root))
        if check and text != wanted:
            sys.exit(f"{name} has other addresses than pyproject.toml: python docs/addresses.py")
        if not check:
            path.write_text(wanted)


if __name__ == "__main__":
    main()
