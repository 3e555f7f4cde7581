"""An encoder small enough for tests."""

import json
from pathlib import Path

import torch
from transformers import BertConfig, BertModel


def write_encoder(folder: Path) -> str:
    """A tiny BERT with weights of its own, in a folder as the hub has it."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "lock", "is", "open", "memory", "a"]
    (folder / "vocab.txt").write_text("\n".join(words))
    facts = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 32}
    (folder / "tokenizer_config.json").write_text(json.dumps(facts))
    torch.manual_seed(0)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(words), intermediate_size=8, **size)
    BertModel(config).save_pretrained(folder)
    return str(folder)
