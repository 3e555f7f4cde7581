"""parameters_distillation.yml: what a trained baseline teaches."""

from typing import Literal

from pydantic import Field

from losslab.parameters.base import Count, Seed, Settings


class ElementKeywordSettings(Settings):
    """Keyword search by deletion, for ``mask_element``."""

    select: Literal["right", "wrong"] = Field(description="documents the baseline gets so")
    min_probability_drop: float = Field(
        gt=0,
        le=1,
        description="drop of a label's probability that makes a word its keyword; 1: none is",
    )
    max_documents: Count | None = Field(description="null: all selected")
    max_words: Count | None = Field(description="per document; null: all")
    seed: Seed = Field(description="of the sample of selected documents")
