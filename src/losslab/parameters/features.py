"""parameters_features.yml: TF-IDF."""

from typing import Literal

from pydantic import Field

from losslab.parameters.base import Count, Settings


class TfidfSettings(Settings):
    """How texts become weighted words; vocabulary and idf are those of the training documents."""

    lowercase: bool
    token_pattern: str
    segmenter: Literal["jieba"] | None = Field(description="for texts without spaces")
    stop_words: Literal["english"] | None
    sublinear_tf: bool = Field(description="1 + ln tf in place of tf")
    min_df: Count = Field(description="training documents that a word must be in")
    max_features: Count | None = Field(description="the most frequent words; null: all")
