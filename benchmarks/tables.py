"""Time the metrics of a table of a million recommendations, also with a Python function per list.

    python benchmarks/tables.py [--users 100000] [--repeats 7] [--large 3000000]

Each time is from two tables, recommendations (user, item, rank) and truth (user, item, rating), to
a table of five metrics for each list. It is divided by the time that ``pandas.factorize`` takes for
the four columns of ids in pandas; the two alternate in one process. The group-by with a Python
function per list is how LensKit 0.14 computes. It runs on a slice of the users, and its time is
scaled up. ``--large`` is the number of users with ten rows of text ids each in Parquet files, which
``evaluate_table`` reads by buckets of users, and writes its result to a file. Its time per row is
divided by that of a call of all rows in memory, which takes 7 GB for 3,000,000 users, and by that
of a call of the rows of 100,000 users.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from timing import environment, in_turn

from recmetrics import tables

N_ITEMS = 20_000
LENGTH = 10  # of the lists, and of the truths
METRICS = ("ndcg", "precision", "recall", "recip_rank", "hit")
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
SLICE = 2_000  # users of the group-by
BLOCK = 100_000  # users of a file, and of the call in memory
# Prints the seconds of a call in memory, and of one by buckets, and the peak of the memory in KiB.
LARGE = """
import resource, sys, time
import polars as pl
from recmetrics.tables import evaluate_table

def seconds(*tables, **options):
    began = time.perf_counter()
    evaluate_table(*tables, ["ndcg@10", "precision@10", "recall@10", "mrr", "hit"], **options)
    return time.perf_counter() - began

tables = [pl.scan_parquet(f"{sys.argv[1]}/{name}-*.parquet") for name in ("recs", "truth")]
if sys.argv[2] == "buckets":
    took = seconds(*tables, per_user=f"{sys.argv[1]}/values.parquet")
elif sys.argv[2] == "all rows":
    frames = [table.collect().rechunk() for table in tables]
    took = seconds(*frames)
else:
    block = [pl.read_parquet(f"{sys.argv[1]}/{name}-0.parquet") for name in ("recs", "truth")]
    seconds(*block)
    took = min(seconds(*block) for _ in range(5))
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def problem(n_users, ids, seed=0):
    """The columns of both tables; lists stand together unless ids are shuffled."""
    rng = np.random.default_rng(seed)
    users = rng.permutation(10 * n_users)[:n_users]
    items = np.random.default_rng(0).permutation(10 * N_ITEMS)[:N_ITEMS]  # of every seed

    def draw():
        first, steps = (
            rng.integers(0, N_ITEMS, (n_users, 1)),
            rng.integers(1, 50, (n_users, LENGTH)),
        )
        return items[((first + np.cumsum(steps, axis=1)) % N_ITEMS).ravel()]

    recs = {
        "user": np.repeat(users, LENGTH),
        "item": draw(),
        "rank": np.tile(np.arange(1, LENGTH + 1), n_users),
    }
    truth = {
        "user": np.repeat(users, LENGTH),
        "item": draw(),
        "rating": rng.integers(1, 6, n_users * LENGTH).astype(float),
    }
    if ids == "integers, rows shuffled":
        for columns in (recs, truth):
            order = rng.permutation(n_users * LENGTH)
            columns.update({name: column[order] for name, column in columns.items()})
    if ids == "strings":
        for columns in (recs, truth):
            for name in ("user", "item"):
                columns[name] = np.char.add("id-", columns[name].astype(str)).astype(object)
    return recs, truth


def analysis():
    """Five metrics by LensKit's definitions."""
    made = tables.RecListAnalysis()
    for name in METRICS:
        made.add_metric(getattr(tables, name))
    return made


def group_by(recs, truth):
    """LensKit's way: for each list a call of each metric, in Python and NumPy."""
    truths = {user: rows.set_index("item") for user, rows in truth.groupby("user")}
    found = {}
    for user, rows in recs.groupby("user"):
        relevant = truths[user]
        rows = rows.sort_values("rank")
        hits = rows["item"].isin(relevant.index).to_numpy()
        places = relevant.index.get_indexer(rows["item"])
        gains = np.where(places >= 0, relevant["rating"].to_numpy()[places], 0.0)
        ideal = np.sort(relevant["rating"].to_numpy())[::-1]
        found[user] = (
            _dcg(gains) / _dcg(ideal),
            hits.mean(),
            hits.sum() / len(relevant),
            1 / (hits.argmax() + 1) if hits.any() else 0.0,
            float(hits.any()),
        )
    return pd.DataFrame.from_dict(found, orient="index", columns=METRICS)


def _dcg(gains):
    return gains @ (1 / np.maximum(np.log2(np.arange(1, len(gains) + 1)), 1))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--large", type=int, help="only this: users of tables larger than memory")
    args = parser.parse_args()
    if args.large:
        larger_than_memory(args.large)
        return
    print(f"{args.users * LENGTH:,} rows, {args.users:,} lists, {len(METRICS)} metrics")
    print("| ids | table | over factorize of the ids | ms | factorize, ms |")
    print("| --- | --- | ---: | ---: | ---: |")
    for ids in ("integers", "integers, rows shuffled", "strings"):
        recs, truth = problem(args.users, ids)
        frames = [pd.DataFrame(recs), pd.DataFrame(truth)]
        columns = [frame[name] for frame in frames for name in ("user", "item")]

        def factorize(columns=columns):
            for column in columns:
                pd.factorize(column)

        _check_and_time_group_by(frames, ids, factorize, args.repeats)
        for kind, make in MAKERS.items():
            given = (make(recs), make(truth))

            def run(given=given):
                return analysis().compute(*given)

            run()
            ratio = in_turn(run, factorize, args.repeats)
            print(
                f"| {ids} | {kind} | {ratio.value:.2f} ({ratio.low:.2f} .. {ratio.high:.2f}) "
                f"| {ratio.ms:.0f} | {ratio.other_ms:.0f} |"
            )
    print(json.dumps(environment()))


def larger_than_memory(n_users):
    """Write tables in files of 100,000 users, and evaluate them in processes of their own."""
    with TemporaryDirectory() as folder:
        for number in range(n_users // BLOCK):
            for name, columns in zip(
                ("recs", "truth"), problem(BLOCK, "strings", number), strict=True
            ):
                frame = pl.DataFrame(columns).with_columns(
                    pl.format("{}-{}", pl.lit(number), "user").alias("user")
                )
                frame.write_parquet(Path(folder) / f"{name}-{number}.parquet")
        figures = {}
        for way in ("one file", "all rows", "buckets"):
            command = [sys.executable, "-c", LARGE, folder, way]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            figures[way] = [float(figure) for figure in done.stdout.split()]
    n_rows = n_users // BLOCK * BLOCK * LENGTH
    in_memory, peak_in_memory = figures["all rows"]
    seconds, peak = figures["buckets"]
    ratio = seconds / n_rows / (figures["one file"][0] / (BLOCK * LENGTH))
    titles = (
        "rows with text ids",
        "in memory",
        "GB",
        "by buckets",
        "GB",
        "ratio",
        "over 1,000,000",
    )
    print(f"| {' | '.join(titles)} |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    print(
        f"| {n_rows:,} | {in_memory:.1f} s | {peak_in_memory * 1024 / 1e9:.1f} | {seconds:.1f} s "
        f"| {peak * 1024 / 1e9:.1f} | {seconds / in_memory:.2f} | {ratio:.2f} |"
    )
    print(json.dumps(environment()))


def _check_and_time_group_by(frames, ids, factorize, repeats):
    """Assert that both ways give the same, then time the group-by on a slice of the users."""
    users = frames[0]["user"].unique()[:SLICE]
    slices = [frame[frame["user"].isin(users)] for frame in frames]
    expected = group_by(*slices)
    got = analysis().compute(*slices)[list(METRICS)]
    np.testing.assert_allclose(got.loc[expected.index], expected, rtol=1e-12)
    began = time.perf_counter()
    group_by(*slices)
    seconds = (time.perf_counter() - began) * frames[0]["user"].nunique() / SLICE
    base = in_turn(factorize, factorize, repeats).ms / 1000
    print(
        f"| {ids} | group-by, {SLICE:,} users scaled | {seconds / base:.0f} | {seconds * 1000:.0f} "
        f"| {base * 1000:.0f} |"
    )


if __name__ == "__main__":
    main()
