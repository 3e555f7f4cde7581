import numpy as np
import pytest
from kedro.io import Version
from scipy import sparse

from losslab.datasets import SoftLabelsDataset
from losslab.supervision import SoftLabels

DOCUMENTS = sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0]], dtype=np.float32))
WORDS = sparse.csr_array(np.array([[1, 0], [0, 2], [0.5, 0]], dtype=np.float32))
ROWS = np.array([4, 9])


@pytest.mark.parametrize(
    "soft",
    [
        SoftLabels(DOCUMENTS, WORDS, rows=ROWS),
        SoftLabels(DOCUMENTS, softmax=False, floor=0.25, rows=ROWS),
        SoftLabels(DOCUMENTS.toarray(), rows=ROWS),
        SoftLabels(DOCUMENTS, WORDS),
    ],
    ids=["product", "sparse", "dense", "counted"],
)
def test_soft_labels_come_back_the_same(tmp_path, soft):
    dataset = SoftLabelsDataset(
        filepath=str(tmp_path / "soft.safetensors"), version=Version(None, None)
    )
    dataset.save(soft)
    back = dataset.load()
    rows = ROWS if soft.rows is not None else np.array([0, 1])
    assert np.array_equal(back(rows), soft(rows))
    assert back(rows).dtype == np.float32
    assert len(back) == 2
