"""An encoder small enough for tests."""

import json
from pathlib import Path

import torch
from transformers import AutoModel, BertConfig, PretrainedConfig


def write_encoder(folder: Path, kind: type[PretrainedConfig] = BertConfig, **options: float) -> str:
    """A tiny encoder with weights of its own, in a folder as the hub has it."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "lock", "is", "open", "memory", "a"]
    (folder / "vocab.txt").write_text("\n".join(words))
    facts = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 32}
    (folder / "tokenizer_config.json").write_text(json.dumps(facts))
    torch.manual_seed(0)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = kind(vocab_size=len(words), intermediate_size=8, pad_token_id=0, **size, **options)
    AutoModel.from_config(config).save_pretrained(folder)
    return str(folder)
