import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import softmax as scipy_softmax

from losslab.errors import SupervisionError
from losslab.supervision import (
    SoftLabels,
    classic_soft_labels,
    distilled_soft_labels,
    document_label_relevance,
    from_relevance,
    keyword_soft_labels,
    load_soft_labels,
    mean_length,
    mix_soft_targets,
    save_soft_labels,
    smooth_targets,
    word_document_relevance,
    word_label_relevance,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/kwls.json").read_text())


def test_functions_stream_on_request():
    counts = sparse.csr_array(np.random.default_rng(0).integers(1, 3, (9, 5)))
    targets = sparse.csr_array(np.eye(3, dtype=int)[[0, 1, 2] * 3])
    options = {"k1": 2, "b": 0.75, "k2": 2}
    for function in (keyword_soft_labels, document_label_relevance):
        blocks = list(function(counts, targets, **options, block_size=4))
        assert [len(block) for block in blocks] == [4, 4, 1]
        assert np.allclose(np.vstack(blocks), function(counts, targets, **options))


def test_classic_smoothing_has_the_golden_figures_where_documents_have_one_label():
    targets = sparse.csr_array(np.array(GOLDEN["labels_multi"]))
    ours = classic_soft_labels(targets, eps=GOLDEN["ls_classic"]["eps"])
    single = np.asarray(targets.sum(axis=1)).ravel() == 1
    assert single.any()
    expected = np.array(GOLDEN["ls_classic"]["soft_label"])[single]
    assert np.abs(ours[single] - expected).max() <= 1e-9


@pytest.mark.parametrize("eps", [0, 0.1, 1])
def test_classic_smoothing_shares_the_rest_among_the_labels_carried(eps):
    targets = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    ours = classic_soft_labels(targets, eps=eps)
    share = (1 - eps) / 2 + eps / 4
    assert np.allclose(ours[0], [share, share, eps / 4, eps / 4])
    assert np.allclose(ours[1:], 1 / 4)
    assert np.allclose(smooth_targets(targets, eps=eps)(np.array([0, 2])), ours[[0, 2]])


def test_classic_smoothing_refuses_more_than_everything():
    with pytest.raises(SupervisionError, match=r"eps must be in \[0, 1\], got 1.5"):
        classic_soft_labels(np.eye(2), eps=1.5)


def test_distilled_labels_are_the_softmax_of_the_baseline():
    logits = np.random.default_rng(1).normal(0, 50, (5, 4))
    assert np.allclose(distilled_soft_labels(logits), scipy_softmax(logits, axis=1), atol=1e-12)


def test_distilled_labels_refuse_a_broken_baseline():
    with pytest.raises(SupervisionError, match="not finite"):
        distilled_soft_labels(np.array([[0.0, np.nan]]))


@pytest.fixture
def keyword_labels():
    """Soft labels of KWLS as the pipeline makes them, of nine documents, and their targets."""
    random = np.random.default_rng(5)
    counts = sparse.csr_array(random.integers(0, 3, (9, 12)))
    targets = sparse.csr_array(np.eye(3, dtype=np.int8)[[0, 1, 2] * 3])
    words = word_label_relevance(counts, targets, k1=2, b=0.75, dtype=np.float32)
    documents = word_document_relevance(counts, k2=2, dtype=np.float32)
    rows = np.arange(10, 28, 2)
    return from_relevance(documents, words, mean_length(counts), rows=rows), targets


@settings(deadline=None, derandomize=True)
@given(
    st.integers(1, 6).flatmap(
        lambda labels: st.lists(
            st.lists(st.integers(0, 1), min_size=labels, max_size=labels), min_size=1, max_size=5
        )
    ),
    st.floats(0, 1),
)
def test_mixed_targets_are_smoothed_label_by_label(targets, eps):
    soft = mix_soft_targets(np.array(targets), eps=eps)(np.arange(len(targets)))
    labels = len(targets[0])
    expected = [[(1 - eps) * y + eps / labels for y in row] for row in targets]
    assert np.allclose(soft, expected, atol=1e-12)
    assert ((soft >= 0) & (soft <= 1)).all()


@pytest.mark.parametrize("eps", [0, 0.1, 0.7, 1])
def test_targets_mix_with_the_keywords_distribution(keyword_labels, eps):
    distribution, targets = keyword_labels
    soft = mix_soft_targets(targets, eps=eps, distribution=distribution)
    rows = np.array([26, 10, 12])
    expected = (1 - eps) * targets.toarray()[[8, 0, 1]] + eps * distribution(rows)
    assert np.allclose(soft(rows), expected, atol=1e-6)
    assert soft(rows).dtype == np.float32
    assert np.array_equal(soft.relevance(rows), distribution.relevance(rows))


@pytest.mark.parametrize("eps", np.linspace(0.01, 0.99, 50))
def test_mixed_targets_stay_below_1_where_the_distribution_is_sure(eps):
    sure = SoftLabels(np.array([[200.0, 0.0, 0.0]], dtype=np.float32))
    soft = mix_soft_targets(np.array([[1, 0, 0]]), eps=eps, distribution=sure)
    assert soft(np.array([0])).max() <= 1


def test_mixed_targets_of_many_documents_and_labels_stay_sparse():
    documents, labels = 100_000, 18_000
    one = (np.ones(documents, np.int8), (np.arange(documents), np.arange(documents) % labels))
    soft = mix_soft_targets(sparse.csr_array(one, shape=(documents, labels)), eps=0.1)
    assert soft.offset.nnz == documents
    assert soft.documents.nnz == 0
    block = soft(np.array([99_999, 5]))
    assert block.shape == (2, labels)
    assert block[1, 5] == pytest.approx(0.9 + 0.1 / labels)
    assert block[1].sum() == pytest.approx(1)


@pytest.mark.parametrize("by_keywords", [True, False])
def test_mixed_targets_come_back_from_their_file(keyword_labels, tmp_path, by_keywords):
    distribution, targets = keyword_labels
    choice = {"distribution": distribution} if by_keywords else {"rows": distribution.rows}
    soft = mix_soft_targets(targets, eps=0.2, **choice)
    save_soft_labels(soft, tmp_path / "soft.safetensors")
    back = load_soft_labels(tmp_path / "soft.safetensors")
    assert np.array_equal(back(distribution.rows), soft(distribution.rows))
    assert np.array_equal(back.rows, distribution.rows)


def test_mixing_what_is_mixed_already_mixes_again():
    targets = np.array([[1, 0], [0, 1]])
    twice = mix_soft_targets(
        targets, eps=0.5, distribution=mix_soft_targets(targets[::-1], eps=0.2)
    )
    assert np.allclose(twice(np.array([0])), [[0.5 + 0.05, 0.45]])


def test_targets_and_distribution_must_be_of_the_same_documents(keyword_labels):
    distribution, targets = keyword_labels
    with pytest.raises(SupervisionError, match=r"targets are \(8, 3\), .* is \(9, 3\)"):
        mix_soft_targets(targets[:8], eps=0.1, distribution=distribution)
    with pytest.raises(SupervisionError, match="of different rows"):
        mix_soft_targets(targets, eps=0.1, distribution=distribution, rows=np.arange(9))
    with pytest.raises(SupervisionError, match=r"eps must be in \[0, 1\], got -1"):
        mix_soft_targets(targets, eps=-1)
