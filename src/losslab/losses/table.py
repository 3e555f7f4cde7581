"""``LOSSES``: the one place where a loss is added."""

from collections.abc import Mapping
from typing import Any

from losslab.losses.spec import LossSpec, Option

BALANCED = "Huang et al. 2021, Balancing Methods for Multi-label Text Classification"
ZLPR = "Su et al. 2022, ZLPR: A Novel Loss for Multi-label Classification"
SIGMOID_F1 = "Benedict et al. 2021, sigmoidF1"
MASK = "MaskLoss"
KWLS = "Liu et al. 2022, KWLS: keyword-based label smoothing"

A1 = "A.1: both data sets"
FOCUS = {"gamma": Option(2.0, A1, minimum=0)}
CLASS_BALANCE = {"beta": Option(0.9, A1, minimum=0, maximum=0.999999)}
REBALANCING = {
    "alpha": Option(0.1, A1, minimum=0),
    "beta": Option(10.0, A1, minimum=0),
    "mu": Option(
        "auto", "(mean + median) / 2 of r; gives the paper's 0.9 and 0.05", words=("auto",)
    ),
}
TOLERANCE = {
    "kappa": Option(0.05, A1, minimum=0),
    "negative_scale": Option(2.0, "A.1: lambda", minimum=1e-6),
}
CODE_SCALE = {
    "ntr_negative_scale": Option(
        "paper", "eq. 7; the code has no 1/lambda", words=("paper", "code"), number=False
    )
}
MARGIN = {"margin": Option(1.0, "eq. 22, 23: alpha", minimum=0)}
SMOOTH = {"smooth": Option(1.0, "eq. 20, 21: gamma", minimum=1e-6)}
F_SCORE = {
    "f_beta": Option(1.0, "eq. 9: F1", minimum=1e-3),
    "average": Option(
        "macro", "eq. 9, over all labels", words=("macro", "present", "micro"), number=False
    ),
}
STEEPNESS = {
    "beta": Option(1.0, "on logits: soft F1", minimum=1e-6, per_label=True),
    "eta": Option(0.0, "on logits: soft F1", per_label=True),
}
SOFT_TARGETS = {
    "alpha": Option(1.0, "section 5.2", minimum=0),
    "task": Option("multi", "the corpus decides", words=("multi", "single"), number=False),
    "auxiliary": Option("softmax", "eq. 9", words=("softmax", "sigmoid"), number=False),
}


def _row(
    name: str,
    title: str,
    choose_when: str,
    implementation: str,
    paper: str,
    options: Mapping[str, Option] | None = None,
    **facts: Any,
) -> LossSpec:
    return LossSpec(
        name=name,
        title=title,
        choose_when=choose_when,
        family=implementation.partition(":")[0],
        paper=paper,
        implementation=implementation,
        options=options or {},
        **facts,
    )


KNOWS: dict[str, Any] = {"needs": ("statistics",)}
SCORES: dict[str, Any] = {"decision": "score"}
SOFT: dict[str, Any] = {"accepts_soft_targets": True}
WHOLE: dict[str, Any] = {"whole_batch": True}
DB, CB = "balanced:DistributionBalancedLoss", "balanced:ClassBalancedLoss"
NTR_ALONE = {**FOCUS, **TOLERANCE, **CODE_SCALE}

_ROWS = (
    _row(
        "bce",
        "Binary cross-entropy",
        "the reference, and a good one where labels are balanced or training is long",
        "pointwise:BinaryCrossEntropy",
        f"{BALANCED}, eq. 1",
        **SOFT,
    ),
    _row(
        "focal",
        "Focal loss",
        "most entries are easy negatives",
        "pointwise:FocalLoss",
        f"{BALANCED}, eq. 2",
        FOCUS,
    ),
    _row(
        "cb",
        "Class-balanced focal",
        "labels are rare, but do not come along with common ones",
        CB,
        f"{BALANCED}, eq. 3, 4",
        {**FOCUS, **CLASS_BALANCE},
        **KNOWS,
    ),
    _row(
        "rfl",
        "Rebalanced focal",
        "rare labels come along with common ones",
        DB,
        f"{BALANCED}, eq. 5",
        {**FOCUS, **REBALANCING},
        **KNOWS,
    ),
    _row(
        "ntr_focal",
        "Negative-tolerant focal",
        "rare labels drown in their negatives",
        "balanced:WeightedFocalLoss",
        f"{BALANCED}, eq. 6, 7",
        NTR_ALONE,
        **KNOWS,
    ),
    _row(
        "db_0fl",
        "Distribution-balanced, no focus",
        "as for db, where focusing hurts, such as with noisy labels",
        DB,
        f"{BALANCED}, eq. 8",
        {**REBALANCING, **TOLERANCE},
        **KNOWS,
    ),
    _row(
        "cb_ntr",
        "Class-balanced, negative-tolerant",
        "a long tail and quick results matter: steady from the first epochs on",
        CB,
        f"{BALANCED}, eq. 3, 6",
        {**FOCUS, **CLASS_BALANCE, **TOLERANCE},
        **KNOWS,
    ),
    _row(
        "db",
        "Distribution-balanced focal",
        "the tail is long and its labels come along with common ones",
        DB,
        f"{BALANCED}, eq. 8",
        {**FOCUS, **REBALANCING, **TOLERANCE},
        **KNOWS,
    ),
    _row(
        "asl",
        "Asymmetric loss",
        "documents have many negatives and some of their labels are missing",
        "asymmetric:AsymmetricLoss",
        "Ridnik et al. 2021, Asymmetric Loss, eq. 4 to 7",
        {
            "gamma_pos": Option(0.0, "section 3.1", minimum=0),
            "gamma_neg": Option(4.0, "section 3.1", minimum=0),
            "clip": Option(0.05, "section 3.1", minimum=0, maximum=0.999),
        },
    ),
    _row(
        "dice1",
        "Dice per entry",
        "precision and recall matter more than calibrated probabilities",
        "dice:DiceLoss",
        f"{ZLPR}, eq. 20",
        SMOOTH,
    ),
    _row(
        "dice2",
        "Dice per label and batch",
        "as for dice1, with batches large enough to hold every label",
        "dice:BatchDiceLoss",
        f"{ZLPR}, eq. 21",
        SMOOTH,
        **WHOLE,
    ),
    _row(
        "ranking",
        "Ranking hinge",
        "the order of labels matters and a threshold does not",
        "pairs:RankingLoss",
        f"{ZLPR}, eq. 22",
        MARGIN,
        **SCORES,
    ),
    _row(
        "warp",
        "WARP",
        "the top of the list matters most",
        "pairs:WarpLoss",
        f"{ZLPR}, eq. 23",
        MARGIN,
        **SCORES,
    ),
    _row(
        "bpmll",
        "BP-MLL, logarithm",
        "as for ranking, with a smooth gradient",
        "pairs:BpmllLoss",
        f"{ZLPR}, eq. 24",
        **SCORES,
    ),
    _row(
        "lsep",
        "Log-sum-exp pairwise",
        "as for bpmll, without pushing what is already in order",
        "pairs:LsepLoss",
        f"{ZLPR}, eq. 12, 13",
        {"pairs": Option(0, "eq. 12: all pairs", minimum=0)},
        **SCORES,
    ),
    _row(
        "tlpr",
        "Threshold-bounded ranking",
        "as for zlpr, where the threshold should be learned",
        "zlpr:TlprLoss",
        f"{ZLPR}, eq. 6",
        {"s0": Option(0.0, "where ZLPR has it")},
    ),
    _row(
        "zlpr",
        "Zero-bounded ranking",
        "many labels, few of them positive: no imbalance between the two sums",
        "zlpr:ZlprLoss",
        f"{ZLPR}, eq. 1",
    ),
    _row(
        "soft_zlpr",
        "ZLPR for soft targets",
        "as for zlpr, with targets between 0 and 1",
        "zlpr:ZlprLoss",
        f"{ZLPR}, eq. 31",
        **SOFT,
    ),
    _row(
        "zlpr_rdrop",
        "ZLPR with R-Drop",
        "as for zlpr, with little data and a model with dropout",
        "zlpr:ZlprRdropLoss",
        f"{ZLPR}, eq. 36, 37",
        {"weight": Option(1.0, "appendix B", minimum=0)},
        needs=("second_logits",),
    ),
    _row(
        "soft_f1",
        "Soft F1",
        "F1 is the goal and batches are large",
        "f1:SigmoidF1Loss",
        f"{SIGMOID_F1}, eq. 9",
        F_SCORE,
        **SOFT,
        **WHOLE,
    ),
    _row(
        "sigmoid_f1",
        "sigmoidF1",
        "as for soft_f1, with a say over how sharp decisions are",
        "f1:SigmoidF1Loss",
        f"{SIGMOID_F1}, eq. 11",
        {
            **STEEPNESS,
            "input": Option(
                "logit", "probabilities hardly train", words=("logit", "probability"), number=False
            ),
            **F_SCORE,
        },
        **SOFT,
        **WHOLE,
    ),
    _row(
        "sad_f1",
        "sigmoidF1, annealed",
        "as for sigmoid_f1, going from soft decisions to sharp ones",
        "f1:AnnealedF1Loss",
        f"{SIGMOID_F1}, section 3",
        {
            **STEEPNESS,
            "beta_max": Option(10.0, "as steep as the paper's largest", minimum=1e-6),
            "growth": Option(1.2, "reaches 10 after 13 epochs", minimum=1),
            **F_SCORE,
        },
        needs=("epoch",),
        **SOFT,
        **WHOLE,
    ),
    _row(
        "sbayes_f1",
        "sigmoidF1, beta and eta sampled",
        "as for sigmoid_f1, without choosing beta and eta",
        "f1:BayesianF1Loss",
        f"{SIGMOID_F1}, eq. 12",
        {"step_size": Option(0.01, "of the Langevin chain", minimum=1e-9), **F_SCORE},
        **KNOWS,
        **SOFT,
        **WHOLE,
    ),
    _row(
        "ce_count",
        "Cross-entropy and label count",
        "the number of labels per document should come out right",
        "counting:CountLoss",
        f"{SIGMOID_F1}, eq. 2",
        {
            "weight": Option(0.1, "section 4", minimum=0),
            "per_label": Option(True, "keeps the term's size whatever C"),
        },
        **SOFT,
    ),
    _row(
        "ce_tencent",
        "Cross-entropy, fading weights",
        "batches rarely hold a label, and its negatives should not add up",
        "counting:TencentLoss",
        f"{SIGMOID_F1}, CE+T; Wu et al. 2019, Tencent ML-Images",
        **KNOWS,
    ),
    _row(
        "mask_label",
        "MaskLoss by label groups",
        "labels fall into families whose members are alike",
        "mask:MaskLabelLoss",
        f"{MASK}, eq. 3",
        {"alpha": Option(0.5, "section 4", minimum=0, maximum=1)},
        needs=("statistics", "groups"),
    ),
    _row(
        "mask_element",
        "MaskLoss by elements",
        "documents hold words that speak for labels they do not carry",
        "mask:MaskElementLoss",
        f"{MASK}, eq. 3, A.3",
        {
            "alpha": Option(0.1, "section 4", minimum=0, maximum=1),
            "protect_gold": Option(True, "A.3: gold labels stay"),
        },
        needs=("mask",),
    ),
    _row(
        "ce",
        "Softmax cross-entropy",
        "documents have exactly one label",
        "smoothing:SoftmaxCrossEntropy",
        "-",
        tasks=("single",),
        **SOFT,
    ),
    *(
        _row(
            name,
            title,
            when,
            "smoothing:SoftTargetLoss",
            f"{KWLS}, {place}",
            SOFT_TARGETS,
            needs=("soft_targets",),
        )
        for name, title, when, place in (
            (
                "kwls",
                "Keyword label smoothing",
                "words tell labels apart and labels are few per document",
                "eq. 9",
            ),
            ("ls_tfidf", "TF-IDF label smoothing", "a plainer kwls to compare with", "section 5"),
            ("ls_classic", "Classic label smoothing", "labels are noisy", "section 5"),
            (
                "ls_distill",
                "Distilled labels",
                "a trained baseline knows which labels are alike",
                "section 5",
            ),
        )
    ),
)

LOSSES: dict[str, LossSpec] = {row.name: row for row in _ROWS}
