"""Write how the numbers of a system differ from those of recmetrics, from the conventions."""

from markdown.extensions.toc import slugify

from recmetrics._spec.systems import CONVENTIONS


def of(convention: str) -> str:
    """List the differences and bugs of a system, with a link to its section."""
    system = CONVENTIONS[convention]
    parts = []
    if system.gaps:
        parts += ["Differences that remain:\n", *_bullets(system.gaps)]
    if system.wrong:
        parts += ["Bugs that recmetrics does not reproduce:\n", *_bullets(system.wrong)]
    anchor = slugify(system.name, "-")
    parts.append(f"Ties: {system.ties}. [All calls of {system.name}](conventions.md#{anchor}).\n")
    return "\n".join(parts)


def _bullets(facts: tuple[str, ...]) -> list[str]:
    return [*(f"- {fact}." for fact in facts), ""]
