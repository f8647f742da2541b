"""The names that loggers accept, asked of the loggers themselves, each in a process of its own."""

import json
from importlib.util import find_spec

import pytest
from asserts import python

from recmetrics import StreamEvaluator

METRICS = ["ndcg(gain=exp2)@10", "recall(denom=relevant, rel=0.5)@20", "mrr@10", "hit@1", "auc"]

MLFLOW = """
import json, sys
import mlflow
from mlflow.exceptions import MlflowException

mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("names")
refused = []
with mlflow.start_run() as run:
    for means in json.load(sys.stdin):
        try:
            mlflow.log_metrics(means, step=1)
        except MlflowException:
            refused.append(list(means))
print(json.dumps([refused, mlflow.get_run(run.info.run_id).data.metrics]))
"""

WANDB = """
import json, sys
import wandb

with wandb.init(dir=sys.argv[1], project="names") as run:
    for means in json.load(sys.stdin):
        run.log(means)
    print(json.dumps({name: run.summary[name] for name in run.summary.keys()}))
"""


def logged(script, place, *means, **settings):
    return json.loads(python("-c", script, place, given=json.dumps(means), **settings).stdout)


@pytest.fixture
def stream():
    made = StreamEvaluator(METRICS)
    made.update([[0.1, 2.0, 0.3]], [0])
    return made


def test_mlflow_accepts_the_names_without_at(stream, tmp_path):
    if find_spec("mlflow") is None:
        pytest.skip("mlflow is not installed")
    plain = [{name: mean} for name, mean in stream.mean().items()]
    named = stream.mean(prefix="val/", at="_at_")
    refused, kept = logged(MLFLOW, tmp_path.as_uri(), *plain, named, MLFLOW_ALLOW_FILE_STORE="true")
    assert refused == [[name] for name in METRICS if "@" in name]
    assert kept == named | {"auc": stream.mean()["auc"]}


def test_wandb_accepts_any_name(stream, tmp_path):
    if find_spec("wandb") is None:
        pytest.skip("wandb is not installed")
    plain, named = stream.mean(), stream.mean(prefix="val/", at="_at_")
    kept = logged(WANDB, str(tmp_path), plain, named, WANDB_MODE="offline", WANDB_SILENT="true")
    own = {name: mean for name, mean in kept.items() if not name.startswith("_")}
    assert own == plain | named
