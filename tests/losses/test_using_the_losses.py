"""The page on using the losses does what it says."""

import re
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from losslab.losses import LOSSES, BinaryCrossEntropyLoss

PAGE = Path(__file__).parents[2] / "docs" / "using_the_losses.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.M)
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the code blocks, run one after another, leave behind."""
    namespace = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for block in BLOCKS:
            exec(compile(block, PAGE.name, "exec"), namespace)  # noqa: S102
    return namespace


def test_the_page_has_code(page):
    assert len(BLOCKS) == 5


def test_the_loop_trains(page):
    assert page["history"][-1] < page["history"][0] / 2
    accuracy = (page["predictions"] == page["targets"].bool()).float().mean()
    assert accuracy > 0.9


def test_trainer_trains_and_evaluates(page):
    assert page["trainer"].state.global_step == 5
    assert page["evaluation"]["eval_loss"] > 0
    assert not page["encoder"].criterion.training


def test_losses_are_found_by_name(page):
    assert set(page["multi_label"]) == set(LOSSES) - {"ce"}
    assert page["options"]["gamma"].default == 2.0
    assert page["built"].gamma == 1.0


def train(page, folder, *, batch_size, accumulate, compute_loss):
    """The weights of a model without dropout after two steps over 22 documents."""
    torch.manual_seed(0)
    config = BertConfig(**page["config"].to_diff_dict() | {"num_labels": 5})
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    model = BertForSequenceClassification(config)
    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=batch_size,
        gradient_accumulation_steps=accumulate,
        num_train_epochs=1,
        optim="sgd",
        learning_rate=1.0,
        max_grad_norm=0.0,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(
        model, arguments, train_dataset=page["documents"][:22], compute_loss_func=compute_loss
    )
    trainer.train()
    assert trainer.state.global_step == 2
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def test_accumulated_micro_batches_train_like_one_batch(page, tmp_path):
    page["encoder"].criterion = BinaryCrossEntropyLoss()
    whole = train(page, tmp_path, batch_size=16, accumulate=1, compute_loss=page["compute_loss"])
    parts = train(page, tmp_path, batch_size=4, accumulate=4, compute_loss=page["compute_loss"])
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-5)

    def without_weight(outputs, labels, num_items_in_batch=None):
        return page["encoder"].criterion(outputs.logits, labels)

    wrong = train(page, tmp_path, batch_size=4, accumulate=4, compute_loss=without_weight)
    assert (wrong - whole).abs().max() > 1e-3
