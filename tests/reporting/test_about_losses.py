"""What the page tells of a loss behind its question mark."""

from losslab.baselines import METHODS
from losslab.reporting.about_losses import about_losses


def test_every_loss_and_baseline_tells_when_to_choose_it_and_where_it_comes_from():
    about = about_losses({name: method.defaults() for name, method in METHODS.items()})
    for name, method in METHODS.items():
        facts = about[name]
        assert facts["choose_when"] == method.choose_when
        assert facts["paper"] == method.paper
        assert facts["paragraphs"]
        assert [option for option, *_ in facts["options"]] == list(method.defaults())
        text = " ".join(piece for paragraph in facts["paragraphs"] for piece, _ in paragraph)
        assert ">>>" not in text
        assert "Shapes:" not in text
        assert ":class:" not in text


def test_formulas_are_code_and_options_that_differ_from_the_default_are_told():
    facts = about_losses({"focal": {"gamma": 1.5}})["focal"]
    code = [text for paragraph in facts["paragraphs"] for text, is_code in paragraph if is_code]
    assert "(1 - p_t)^gamma" in code[0]
    assert facts["options"] == [("gamma", "1.5", False)]
    assert about_losses({"focal": METHODS["focal"].defaults()})["focal"]["options"][0][2]


def test_a_loss_that_is_unknown_by_now_has_its_options_alone():
    assert about_losses({"gone": {"x": 1}})["gone"]["options"] == [("x", "1", False)]
