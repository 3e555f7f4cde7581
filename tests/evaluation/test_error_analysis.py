import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score

from losslab.evaluation import analyse_errors, pool_confusions
from losslab.evaluation.error_analysis import confused_pairs

LABELS = [f"label {number}" for number in range(12)]


def draw(seed=0, documents=80):
    random = np.random.default_rng(seed)
    truth = random.random((documents, 12)) < np.linspace(0.5, 0.05, 12)
    return truth.astype(np.int8), [random.random(truth.shape) < 0.3 * truth + 0.2 for _ in range(2)]


def analyse(truth, guesses, **options):
    frequencies = np.arange(120, 0, -10)
    options = {"cardinality_limits": [1], **options}
    return analyse_errors(
        sparse.csr_array(truth), guesses, labels=LABELS, frequencies=frequencies, **options
    )


def test_pairs_count_documents_that_miss_one_label_and_wrongly_get_the_other():
    truth, (guess, _) = draw()
    counts = confused_pairs(
        sparse.csr_array(truth.astype(int)), sparse.csr_array(guess.astype(int))
    ).toarray()
    for i in range(12):
        for j in range(12):
            missed, wrong = (truth[:, i] == 1) & ~guess[:, i], (truth[:, j] == 0) & guess[:, j]
            assert counts[i, j] == (missed & wrong).sum()


def test_most_confused_pair_comes_first_named_and_averaged_over_seeds():
    truth = np.zeros((4, 12), dtype=np.int8)
    truth[:, 3] = 1
    guess = np.zeros((4, 12), dtype=bool)
    guess[:3, 5] = guess[3, 7] = True
    told = analyse(truth, [guess, truth])
    first = {"missed": "label 3", "predicted": "label 5", "documents": 1.5}
    assert told["pairs"] == [first, {**first, "predicted": "label 7", "documents": 0.5}]
    assert told["confusions"] == 2.0


def test_confusions_are_summed_over_losses_as_by_a_loop():
    truth, first = draw()
    _, second = draw(seed=1)
    predictions = {"bce": first, "db": second, "zlpr": second[:1]}
    groups = sparse.csr_array(np.eye(4)[np.arange(12) // 3])
    table = pool_confusions(
        sparse.csr_array(truth), predictions, labels=LABELS, label_groups=groups
    )
    assert len(table) == 100  # of 132 pairs
    assert table["documents"].is_monotonic_decreasing
    for row in table.to_dict("records"):
        i, j = LABELS.index(row["missed"]), LABELS.index(row["predicted"])
        counts = {
            loss: np.mean(
                [
                    ((truth[:, i] > guess[:, i]) & (truth[:, j] < guess[:, j])).sum()
                    for guess in guesses
                ]
            )
            for loss, guesses in predictions.items()
        }
        assert {loss: row[loss] for loss in predictions} == pytest.approx(counts)
        assert row["documents"] == pytest.approx(sum(counts.values()))
        assert row["losses"] == sum(count > 0 for count in counts.values())
        assert row["similar"] == (i // 3 == j // 3)


def test_nothing_is_pooled_of_no_losses_or_perfect_ones():
    truth, _ = draw()
    for predictions in ({}, {"bce": [truth]}):
        table = pool_confusions(
            sparse.csr_array(truth), predictions, labels=LABELS, label_groups=np.eye(12)
        )
        assert table.empty
        expected = ["missed", "predicted", "similar", "documents", "losses", *predictions]
        assert table.columns.tolist() == expected


def test_pairs_within_groups_are_those_of_labels_that_share_one():
    truth, guesses = draw()
    member = sparse.csr_array(np.eye(4)[np.arange(12) // 3])
    told = analyse(truth, guesses, label_groups=member)
    group = {label: place // 3 for place, label in enumerate(LABELS)}
    for pair in told["pairs_within_groups"]:
        assert group[pair["missed"]] == group[pair["predicted"]]
    assert 0 < told["confusions_within_groups"] < told["confusions"]
    everything = analyse(truth, guesses, label_groups=sparse.csr_array(np.ones((12, 1))))
    assert everything["pairs_within_groups"] == everything["pairs"]


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        ([1], ["1 label", "2 labels or more"]),
        ([2, 3], ["up to 2 labels", "3 labels", "4 labels or more"]),
        ([], ["1 label or more"]),
    ],
)
def test_documents_are_judged_by_bands_of_labels_per_document(limits, names):
    truth, guesses = draw()
    bands = analyse(truth, guesses, cardinality_limits=limits)["by_cardinality"]
    band_of = np.searchsorted(limits, truth.sum(axis=1))  # of a document with labels
    assert [band["labels"] for band in bands] == names
    for number, band in enumerate(bands):
        rows = (band_of == number) & truth.any(axis=1)
        for average in ("micro", "macro"):
            expected = [
                f1_score(truth[rows], guess[rows], average=average, zero_division=0)
                for guess in guesses
            ]
            assert band[f"{average}_f1"] == pytest.approx(np.mean(expected))
        assert band["documents"] == rows.sum() > 0


@pytest.mark.parametrize("documents", [5, 80, 2000])
def test_bands_of_label_numbers_hold_every_document_once(documents):
    truth, guesses = draw(documents=documents)
    bands = analyse(truth, guesses)["by_number_of_labels"]
    assert sum(band["documents"] for band in bands) == documents
    assert len(bands) <= 6


def test_deciles_hold_every_label_most_frequent_first():
    truth, guesses = draw()
    parts = analyse(truth, guesses)["by_frequency_decile"]
    assert sum(part["labels"] for part in parts) == 12
    ends = [part[key] for part in parts for key in ("most_frequent", "least_frequent")]
    assert ends == sorted(ends, reverse=True)
    first = [f1_score(truth[:, :2], guess[:, :2], average="micro") for guess in guesses]
    assert parts[0]["micro_f1"] == pytest.approx(np.mean(first))


def test_f1_is_kept_for_every_label():
    truth, guesses = draw()
    expected = np.mean([f1_score(truth, guess, average=None) for guess in guesses], axis=0)
    assert analyse(truth, guesses)["f1_by_label"] == pytest.approx(expected.tolist())
