"""Write how the numbers of a system differ from those of recmetrics, from the conventions."""

from markdown.extensions.toc import slugify
from systems import PROSE

from recmetrics._spec.systems import CONVENTIONS


def of(convention: str) -> str:
    """List the differences and bugs of a system, with a link to its section."""
    name, prose = CONVENTIONS[convention].name, PROSE[convention]
    parts = []
    if prose.gaps:
        parts += ["Differences that remain:\n", *_bullets(prose.gaps)]
    if prose.wrong:
        parts += ["Bugs that recmetrics does not reproduce:\n", *_bullets(prose.wrong)]
    anchor = slugify(name, "-")
    parts.append(f"Ties: {prose.ties}. [All calls of {name}](conventions.md#{anchor}).\n")
    return "\n".join(parts)


def _bullets(facts: tuple[str, ...]) -> list[str]:
    return [*(f"- {fact}." for fact in facts), ""]
