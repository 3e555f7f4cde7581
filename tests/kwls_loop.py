"""KWLS and LS-TFIDF word by word, straight from the equations: slow, and easy to check by eye."""

from math import exp, log


def wlr(texts, rows, *, k1, b):
    """Word -> relevance per label (eq. 1 to 3)."""
    inside = words_of_labels(texts, rows)
    average = sum(map(len, inside)) / len(inside)
    table = {}
    for word in vocabulary(texts):
        frequency = [words.count(word) for words in inside]
        seen = sum(f >= 1 for f in frequency)
        weight = log(len(inside) / seen) + 1 if seen else 0
        damping = [k1 * (1 - b + b * len(words) / average) for words in inside]
        table[word] = [weight * f * k1 / (f + K) for f, K in zip(frequency, damping, strict=True)]
    return table


def wir(texts, *, k2):
    """For each document word -> relevance (eq. 4 to 6)."""
    weight = {
        word: log(len(texts) / sum(word in text for text in texts)) + 1
        for word in vocabulary(texts)
    }
    return [
        {word: weight[word] * text.count(word) * k2 / (text.count(word) + k2) for word in text}
        for text in texts
    ]


def tfidf_wlr(texts, rows, *, tf):
    inside = words_of_labels(texts, rows)
    table = {}
    for word in vocabulary(texts):
        frequency = [words.count(word) for words in inside]
        seen = sum(f >= 1 for f in frequency)
        table[word] = [tf(f) * log(len(inside) / seen) if seen else 0 for f in frequency]
    return table


def tfidf_wir(texts, *, tf):
    weight = {
        word: log(len(texts) / sum(word in text for text in texts)) for word in vocabulary(texts)
    }
    return [{word: weight[word] * tf(text.count(word)) for word in text} for text in texts]


def ilr(texts, by_label, by_document):
    """Documents x labels (eq. 7): the sum runs over distinct words."""
    average = sum(map(len, texts)) / len(texts)
    labels = range(len(next(iter(by_label.values()))))
    return [
        [sum(by_label[word][m] * relevance[word] for word in relevance) / average for m in labels]
        for relevance in by_document
    ]


def soft(relevance):
    """Softmax of each row (eq. 8)."""
    return [[exp(value) / sum(map(exp, row)) for value in row] for row in relevance]


def words_of_labels(texts, rows):
    """All words of each label's texts."""
    return [
        [word for text, row in zip(texts, rows, strict=True) if row[label] for word in text]
        for label in range(len(rows[0]))
    ]


def vocabulary(texts):
    return sorted({word for text in texts for word in text})
