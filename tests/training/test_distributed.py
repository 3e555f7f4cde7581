import pytest
import torch

from losslab.training.distributed import cpu_threads, resolve_precision


@pytest.mark.parametrize(
    ("cuda", "bfloat16", "expected"),
    [
        (False, False, torch.float32),
        (True, False, torch.float16),
        (True, True, torch.bfloat16),
    ],
)
def test_auto_precision_follows_the_device(cuda, bfloat16, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: bfloat16)
    assert resolve_precision("auto") == expected
    assert resolve_precision("bfloat16") == torch.bfloat16
    assert resolve_precision("float32") == torch.float32


def test_threads_are_limited_for_a_while():
    before = torch.get_num_threads()
    with cpu_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
