"""How often the verdicts of ``Comparison.gate`` err, by simulation; prints tables in Markdown.

    python tests/campaigns/decisions.py                # a few minutes
    python tests/campaigns/decisions.py --times 1000   # rough figures

Each sample of users is judged by ``Comparison.gate`` itself. In the first table, and in the second,
whose users have weights, the true difference lies exactly at the margin: every verdict that passes
is an error. In the third, it lies there in each of 20 groups: every verdict that fails is an error.
The fourth looks up to ten times at samples that grow by 100 users, the fifth has the power where
the library says 0.8. The first two are of 10,000 samples for each figure, the third of 5,000, the
others of 2,500.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

import recmetrics
from recmetrics import Comparison, Metrics
from recmetrics.comparison import Gate

MARGIN = 0.01
RULE = f"m >= +{MARGIN}"
N_GROUPS = 20
SPREAD = 0.2
Draw = Callable[[np.random.Generator, int], np.ndarray]


def gamma(shape: float, sign: int) -> Draw:
    """A skewed distribution with mean 0, with the skewness sign * 2 / sqrt(shape)."""
    return lambda rng, n: sign * SPREAD * (rng.gamma(shape, size=n) - shape) / np.sqrt(shape)


def of_models(metric: str) -> Draw:
    """The differences of two simulated models, without their mean, drawn from 20,000 users."""
    rng = np.random.default_rng(1)
    taste = rng.standard_normal((20_000, 100)).astype(np.float32)
    truth = rng.random(taste.shape) < 0.1 / (1 + np.exp(-3 * taste))
    values = []
    for noise in (1.0, 0.9):
        scores = taste + noise * rng.standard_normal(taste.shape).astype(np.float32)
        values.append(Metrics.compute(scores, truth, metric)[metric])
    difference = values[1] - values[0]
    difference = difference[~np.isnan(difference)]
    difference -= difference.mean()
    return lambda rng, n: rng.choice(difference, n)


def distributions() -> dict[str, Draw]:
    """The distributions of differences, all with mean 0."""
    return {
        "normal": lambda rng, n: SPREAD * rng.standard_normal(n),
        "few large gains, skewness 1": gamma(4, 1),
        "few large losses, skewness -1": gamma(4, -1),
        "few large gains, skewness 2": gamma(1, 1),
        "few large losses, skewness -2": gamma(1, -1),
        "ndcg@10 of two models": of_models("ndcg@10"),
        "hit@10 of two models": of_models("hit@10"),
    }


def compared(n: int, by: object = None, weights: object = None) -> Comparison:
    """A comparison of n users whose values ``judged`` replaces."""
    models = {model: {"m": np.linspace(0.0, 1.0, n)} for model in ("old", "new")}
    return recmetrics.compare(models, by=by, weights=weights, n_resamples=100)


def judged(found: Comparison, difference: np.ndarray, rule: str, looks: int = 1) -> Gate:
    """The gate for other differences."""
    old, samples = found.samples.values["old"]["m"], found.samples
    values = {"old": {"m": old}, "new": {"m": old + difference}}
    runs = {model: {"m": each["m"][np.newaxis]} for model, each in values.items()}
    return replace(found, samples=replace(samples, values=values, runs=runs)).gate(
        rule, looks=looks
    )


def false_passes(draw: Draw, n: int, times: int, is_weighted: bool = False) -> float:
    """The share of samples that pass where the true difference is the margin."""
    rng = np.random.default_rng([n, 0])
    found = compared(n, weights=rng.exponential(size=n) if is_weighted else None)
    passed = [judged(found, draw(rng, n) + MARGIN, RULE).passed is True for _ in range(times)]
    return float(np.mean(passed))


def false_fails(draw: Draw, n: int, times: int) -> float:
    """The share of samples of which a group fails where all of them are at the margin."""
    rng = np.random.default_rng([n, 1])
    found = compared(n * N_GROUPS, np.repeat(np.arange(N_GROUPS), n))
    rule = f"{RULE} in every group"
    failed = [
        judged(found, draw(rng, n * N_GROUPS) + MARGIN, rule).passed is False for _ in range(times)
    ]
    return float(np.mean(failed))


def looking(times: int, looks: int) -> float:
    """The share of normal samples that pass at one of ten looks, of 100, 200, ..., 1,000 users."""
    rng, found = np.random.default_rng(3), [compared(100 * look) for look in range(1, 11)]
    passed = 0
    for _ in range(times):
        difference = rng.normal(MARGIN, SPREAD, 1_000)
        passed += any(
            judged(each, difference[: 100 * look], RULE, looks).passed is True
            for look, each in enumerate(found, start=1)
        )
    return passed / times


def powers(n: int, times: int, drawn: dict[str, Draw]) -> Iterator[tuple[str, float]]:
    """The power of what is said to have power 0.8."""
    rng = np.random.default_rng([n, 2])

    def differ(values: np.ndarray) -> Comparison:
        models = {"old": {"m": np.zeros(values.size)}, "new": {"m": values}}
        return recmetrics.compare(models, n_resamples=100)

    def shown(size: float, n: int) -> bool:
        return differ(rng.normal(size, SPREAD, n)).differences[0].significant

    sizes = [differ(rng.normal(0, SPREAD, n)).differences[0].detectable for _ in range(times)]
    found = [shown(size, n) for size in sizes]
    yield f"`detectable` of {n:,} users", float(np.mean(found))
    # The first samples are quantiles, so that their errors are not part of the figures.
    first = {}
    for name, draw in drawn.items():
        noise = np.sort(draw(rng, 1_000 * n)).reshape(n, 1_000).mean(axis=1)
        first[name] = SPREAD * (noise - noise.mean()) / noise.std(ddof=1)
    wanted = SPREAD / np.sqrt(n)
    needed = differ(first["normal"]).users_needed("m", wanted).with_value
    found = [shown(wanted, needed) for _ in range(times)]
    yield f"`users_needed`, {needed:,} users", float(np.mean(found))
    rule = f"m >= {-wanted}"
    for name, draw in drawn.items():
        [verdict] = judged(compared(n), first[name], rule).verdicts
        again = compared(verdict.n_needed)
        passed = [judged(again, draw(rng, verdict.n_needed), rule).passed for _ in range(times)]
        title = f"an open rule that needs {verdict.n_needed:,} users, {name}"
        yield title, float(np.mean([p is True for p in passed]))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=10_000, help="samples of the first table")
    times = parser.parse_args().times
    drawn, weighted = distributions(), partial(false_passes, is_weighted=True)
    sizes = (10, 50, 200, 1_000)
    for title, share, numbers, samples in (
        ("false passes", false_passes, sizes, times),
        ("false passes, exponential weights", weighted, sizes[1:], times),
        (f"false fails, {N_GROUPS} groups", false_fails, (30, 50, 200), times // 2),
    ):
        print(f"| {title} | " + " | ".join(f"n = {n:,}" for n in numbers) + " |")
        print("| --- |" + " ---: |" * len(numbers))
        for name, draw in drawn.items():
            cells = [f"{share(draw, n, samples):.1%}" for n in numbers]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        print()
    print("| passes at one of ten looks | share |\n| --- | ---: |")
    for looks in (1, 10):
        print(f"| `looks={looks}` | {looking(times // 4, looks):.1%} |", flush=True)
    print()
    print("| power where 0.8 is said | share |\n| --- | ---: |")
    skewed = {name: draw for name, draw in drawn.items() if name.endswith(("normal", "1"))}
    for n in (50, 200):
        for name, power in powers(n, times // 4, skewed):
            print(f"| {name} | {power:.3f} |", flush=True)


if __name__ == "__main__":
    main()
