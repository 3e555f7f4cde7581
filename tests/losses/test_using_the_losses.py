"""The page on using the losses does what it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from losslab.losses import LOSSES

pytestmark = pytest.mark.slow  # processes of their own

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "using_the_losses.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.M)
MARKED = re.findall(
    r"^```python (\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.M
)
RECIPES = [code for mark, code in MARKED if mark == "recipe"]
LIGHTNING = [code for mark, code in MARKED if mark == "lightning"]
BEFORE = """
loader = [(features[rows], targets[rows]) for rows in torch.arange(256).split(32)]
before = [weight.detach().clone() for weight in (*model.parameters(), *encoder.parameters())]
"""
AFTER = """
after = [*model.parameters(), *encoder.parameters()]
print(sum(not torch.equal(*pair) for pair in zip(before, after)), len(after))
"""
FIT = """
data = torch.utils.data.TensorDataset(features, targets)
classifier = Classifier(torch.nn.Linear(16, 5), targets)
trainer = lightning.Trainer(max_epochs=20, accelerator="cpu", logger=False)
trainer.fit(classifier, torch.utils.data.DataLoader(data, batch_size=32))
with torch.no_grad():
    right = (classifier.loss.scores(classifier.model(features)) > 0.5) == targets.bool()
print(trainer.global_step, right.float().mean().item())
"""
REPORT = """
import json
from losslab.losses import BinaryCrossEntropyLoss

def train(batch_size, accumulate, compute_loss):
    '''The weights of a model without dropout after two steps over 22 documents.'''
    torch.manual_seed(0)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    model = BertForSequenceClassification(config)
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=batch_size,
        gradient_accumulation_steps=accumulate, num_train_epochs=1, optim="sgd", learning_rate=1.0,
        max_grad_norm=0.0, report_to="none", use_cpu=True, disable_tqdm=True)
    trainer = Trainer(
        model, arguments, train_dataset=documents[:22], compute_loss_func=compute_loss)
    trainer.train()
    assert trainer.state.global_step == 2
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])

def without_weight(outputs, labels, num_items_in_batch=None):
    return encoder.criterion(outputs.logits, labels)

report = {
    "history": history,
    "accuracy": (predictions == targets.bool()).float().mean().item(),
    "steps": trainer.state.global_step,
    "eval_loss": evaluation["eval_loss"],
    "criterion_in_training": encoder.criterion.training,
    "multi_label": multi_label,
    "default_gamma": options["gamma"].default,
    "built_gamma": built.gamma,
}
encoder.criterion = BinaryCrossEntropyLoss()
whole = train(16, 1, compute_loss)
for name, function in (("weighted", compute_loss), ("unweighted", without_weight)):
    report[name] = (train(4, 4, function) - whole).abs().max().item()
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What the code blocks, run one after another, lead to."""
    return json.loads(run_blocks([*BLOCKS, REPORT], tmp_path_factory.mktemp("page")))


def run_blocks(blocks, folder):
    """The last line that code prints, run in a process of its own.

    ``tests/datasets`` would pass for Hugging Face's package here.
    """
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(blocks)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()[-1]


def test_the_page_has_code():
    assert len(BLOCKS) == 5


def test_the_loop_trains(report):
    assert report["history"][-1] < report["history"][0] / 2
    assert report["accuracy"] > 0.9


def test_trainer_trains_and_evaluates(report):
    assert report["steps"] == 5
    assert report["eval_loss"] > 0
    assert not report["criterion_in_training"]


def test_losses_are_found_by_name(report):
    assert set(report["multi_label"]) == set(LOSSES) - {"ce"}
    assert (report["default_gamma"], report["built_gamma"]) == (2.0, 1.0)


def test_accumulated_micro_batches_train_like_one_batch(report):
    assert report["weighted"] < 1e-5
    assert report["unweighted"] > 1e-3


def test_recipes_train(tmp_path):
    assert len(RECIPES) == 2
    trained, weights = run_blocks([*BLOCKS, BEFORE, *RECIPES, AFTER], tmp_path).split()
    assert int(trained) >= int(weights) - 2  # Trainer's model has weights that no gradient reaches


def test_lightning_trains(tmp_path):
    pytest.importorskip("lightning")
    blocks = [BLOCKS[0], "import lightning", *LIGHTNING, FIT]
    steps, accuracy = run_blocks(blocks, tmp_path).split()
    assert int(steps) == 160
    assert float(accuracy) > 0.85
