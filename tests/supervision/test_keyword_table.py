import numpy as np
from scipy import sparse

from losslab.supervision import tabulate_keywords, word_contributions

WORDS = ["apple", "cat", "dog", "the"]
RELEVANCE = sparse.csr_array([[3.0, 0, 0], [0, 2, 0], [0, 4, 0], [0.5, 2, 0]])


def test_table_lists_the_strongest_words_of_frequent_labels_first():
    table = tabulate_keywords(RELEVANCE, WORDS, ["fruit", "pet", "none"], [3, 8, 0], top=2)
    assert table.to_dict("records") == [
        {"label": "pet", "documents": 8, "keywords": "dog, cat", "strongest": 4.0, "words": 3},
        {"label": "fruit", "documents": 3, "keywords": "apple, the", "strongest": 3.0, "words": 2},
        {"label": "none", "documents": 0, "keywords": "", "strongest": 0.0, "words": 0},
    ]


def test_contributions_add_up_to_the_relevance():
    random = np.random.default_rng(0)
    documents = sparse.csr_array(random.random((5, 4)) * (random.random((5, 4)) < 0.7))
    product = (documents @ RELEVANCE).toarray()
    for row in range(5):
        for label in range(3):
            shares = word_contributions(documents[[row]], RELEVANCE, label)
            assert np.isclose(sum(shares.values()), product[row, label])
