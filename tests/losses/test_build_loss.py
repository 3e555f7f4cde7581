import math

import pytest
import torch

from losslab.losses import LOSSES, LabelStatistics, build_loss

STATISTICS = LabelStatistics([9, 3], 10, mu=0.4)


def test_unknown_loss_is_named_beside_the_closest():
    with pytest.raises(ValueError, match="unknown loss 'foccal'; did you mean 'focal'"):
        build_loss("foccal")


def test_unknown_loss_like_no_other_gets_the_list():
    with pytest.raises(ValueError, match=f"unknown loss '12345'; known: {', '.join(LOSSES)}"):
        build_loss("12345")


def test_unknown_option_is_named_beside_the_closest():
    with pytest.raises(ValueError, match="focal has no option 'gama'; did you mean 'gamma'"):
        build_loss("focal", gama=1.0)


def test_option_of_a_loss_without_options_is_refused():
    with pytest.raises(ValueError, match="bce has no option 'gamma'; known: none"):
        build_loss("bce", gamma=1.0)


@pytest.mark.parametrize(
    ("option", "value", "facts"),
    [
        ("gamma", -0.5, "db: gamma must be >= 0, got -0.5"),
        ("alpha", -1, "db: alpha must be >= 0, got -1"),
        ("beta", -1, "db: beta must be >= 0, got -1"),
        ("kappa", -1, "db: kappa must be >= 0, got -1"),
        ("negative_scale", 0, "db: negative_scale must be >= 1e-06, got 0"),
        ("gamma", math.nan, "db: gamma must be a number, got nan"),
        ("gamma", math.inf, "db: gamma must be a number, got inf"),
        ("gamma", True, "db: gamma must be a number, got True"),
        ("gamma", None, "db: gamma must be a number, got None"),
        ("gamma", "auto", "db: gamma must be a number, got 'auto'"),
        ("mu", "median", "db: mu must be a number or 'auto', got 'median'"),
    ],
)
def test_option_out_of_range_is_refused(option, value, facts):
    with pytest.raises(ValueError, match=f"^{facts}$"):
        build_loss("db", STATISTICS, **{option: value})


def test_missing_statistics_are_asked_for():
    with pytest.raises(ValueError, match="db needs the label statistics"):
        build_loss("db")


def test_auto_mu_without_a_number_says_where_to_get_one():
    with pytest.raises(ValueError, match=r"db: mu='auto' needs .*rebalancing_mu"):
        build_loss("db", LabelStatistics([9, 3], 10))


def test_options_reach_the_loss():
    logits, targets = torch.zeros(1, 2), torch.ones(1, 2)
    # At a logit of 0 an entry is ln 2 / 2^gamma.
    assert build_loss("focal", gamma=3)(logits, targets).item() == pytest.approx(math.log(2) / 8)
    assert build_loss("focal")(logits, targets).item() == pytest.approx(math.log(2) / 4)


def test_numbers_of_the_statistics_keep_their_precision_and_stay_out_of_checkpoints():
    logits, targets = torch.randn(4, 2, dtype=torch.float64), torch.eye(4, 2)
    loss = build_loss("db", STATISTICS)
    before = loss(logits, targets)
    assert loss.half()(logits, targets) == before
    assert not loss.state_dict()


def test_statistics_may_be_given_to_losses_that_need_none():
    logits, targets = torch.zeros(1, 3), torch.ones(1, 3)
    assert build_loss("bce", STATISTICS)(logits, targets) == build_loss("bce")(logits, targets)


@pytest.mark.parametrize(
    ("name", "option", "value", "facts"),
    [
        ("sigmoid_f1", "beta", [1.0, -1.0], "beta must be >= 1e-06, got -1"),
        ("sigmoid_f1", "eta", ["a"], "eta must be a number, got 'a'"),
        ("sigmoid_f1", "input", "logits", "input must be 'logit' or 'probability', got 'logits'"),
        ("soft_f1", "average", 1, "average must be 'macro' or 'present' or 'micro', got 1"),
        ("ce_count", "per_label", 0, "per_label must be true or false, got 0"),
        ("mask_element", "alpha", 1.5, "alpha must be <= 1, got 1.5"),
        ("kwls", "task", "both", "task must be 'multi' or 'single', got 'both'"),
        ("asl", "clip", 1, "clip must be <= 0.999, got 1"),
        ("cb", "beta", 1, "beta must be <= 0.999999, got 1"),
        ("dice1", "smooth", 0, "smooth must be >= 1e-06, got 0"),
        ("focal", "gamma", [1.0], r"gamma must be a number, got \[1.0\]"),
    ],
)
def test_option_of_the_wrong_kind_is_refused(name, option, value, facts):
    with pytest.raises(ValueError, match=f"^{name}: {facts}$"):
        build_loss(name, STATISTICS, **{option: value})
