"""The last whole run of each campaign, as a dated section of RUNS.md."""

import re
import subprocess
from datetime import date
from pathlib import Path

FILE = Path(__file__).with_name("RUNS.md")


def record(campaign, *lines, file=FILE):
    """Put what a campaign found in the place of what it found before."""
    command = ["git", "-C", file.parent, "describe", "--always", "--dirty"]
    version = subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"
    head, *sections = re.split(r"^(?=## )", file.read_text(), flags=re.MULTILINE)
    kept = [each.strip() for each in sections if not each.startswith(f"## {campaign}, ")]
    heading = f"## {campaign}, {date.today()}, version {version}"
    found = "\n".join([heading, "", *(f"- {line}" for line in lines)])
    file.write_text("\n\n".join([head.strip(), *sorted([*kept, found])]) + "\n")
