"""Where the numbers of a system differ from those here, from the table of conventions."""

from markdown.extensions.toc import slugify

from recmetrics._spec.systems import CONVENTIONS


def of(convention: str) -> str:
    """What differs, what is wrong there, and where the whole of it is."""
    system = CONVENTIONS[convention]
    parts = []
    if system.gaps:
        parts += ["Where numbers differ all the same:\n", *_bullets(system.gaps)]
    if system.wrong:
        parts += ["Wrong there, and not copied:\n", *_bullets(system.wrong)]
    anchor = slugify(system.name, "-")
    parts.append(
        f"Ties there: {system.ties}. [All calls of {system.name}](conventions.md#{anchor}).\n"
    )
    return "\n".join(parts)


def _bullets(facts: tuple[str, ...]) -> list[str]:
    return [*(f"- {fact}." for fact in facts), ""]
