"""Write the public addresses of ``pyproject.toml`` into the README and ``CITATION.cff``.

python docs/addresses.py            writes them; without addresses both name none
python docs/addresses.py --check    whether they are those of pyproject.toml

The site and the wheel take them from pyproject.toml when they are built (docs/site/hooks.py,
hatch_build.py).
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- addresses: .*? -->\n)(.*?)(<!-- end of addresses -->)", re.DOTALL)
LINK = re.compile(r"(!?\[[^\]]*\]\()(?!\w+:)([^)\s]+)")
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


def absolute(text, urls, version):
    """Lead the relative links of the README to the files of a version, as the wheel has them."""
    if "Repository" not in urls:
        return text

    def lead(found):
        kind = "raw" if found[1].startswith("!") else "blob"
        path = f"README.md{found[2]}" if found[2].startswith("#") else found[2]
        return f"{found[1]}{urls['Repository']}/{kind}/v{version}/{path}"

    return LINK.sub(lead, text)


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
