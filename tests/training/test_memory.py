"""A training for which there is not enough memory."""

import numpy as np
import pytest
import torch
from recipe_conf import read_recipe
from scipy import sparse

from losslab.errors import TrainingFailedError
from losslab.losses import LOSSES
from losslab.parameters import LossSettings
from losslab.supervision import describe_labels
from losslab.training.job import TrainingData, TrainingJob, describe_job, run_job
from losslab.training.memory import explains_memory, is_out_of_memory


def make_job(hidden_dim: int) -> tuple[TrainingJob, TrainingData]:
    targets = sparse.csr_array(np.eye(4, dtype=np.int8)[np.arange(12) % 4])
    recipe = read_recipe("probe", epochs=1)
    model = recipe.model.model_copy(update={"hidden_dim": hidden_dim})  # past validation
    job = describe_job(
        LossSettings(name="bce", options=LOSSES["bce"].defaults()),
        recipe.model_copy(update={"model": model}),
        describe_labels(targets) | {"groups": ["head", "medium", "tail", "tail"]},
        "multi",
        labels=tuple("abcd"),
        grid=(0.5,),
        seed=3,
    )
    features = {"embeddings": np.ones((12, 6), dtype=np.float32)}
    rows = np.arange(12)
    return job, TrainingData(features, targets, rows[:8], rows[8:], ids=rows.astype(str))


def test_model_that_fits_no_memory_is_told_in_one_line():
    job, data = make_job(hidden_dim=10**14)  # more than a process can address
    with pytest.raises(TrainingFailedError) as told:
        run_job(job, data)
    assert str(told.value) == (
        "bce, seed 3: memory does not suffice for the recipe probe; "
        "make its model, max_length or batch_size smaller"
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("shapes do not match"), False),
    ],
)
def test_other_errors_are_no_lack_of_memory(error, expected):
    job, _ = make_job(hidden_dim=0)

    @explains_memory
    def fail(job: TrainingJob) -> None:
        raise error

    assert is_out_of_memory(error) == expected
    with pytest.raises(TrainingFailedError if expected else type(error)):
        fail(job)
