"""Settings of what losses learn from besides labels; their values stand in ``conf/``."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KeywordOptions(_Options):
    """How texts become words, and the constants of KWLS."""

    lowercase: bool
    token_pattern: str
    segmenter: Literal["jieba"] | None = Field(description="for texts without spaces")
    k1: float = Field(gt=0, description="how soon more of a word counts no more, for a label")
    b: float = Field(ge=0, le=1, description="how much a label's amount of text counts")
    k2: float = Field(gt=0, description="as k1, for a document")


class SoftLabelOptions(_Options):
    """Settings of the other soft labels."""

    eps: float = Field(ge=0, le=1, description="classic: the share spread over all labels")
    tf: Literal["log", "raw"] = Field(description="TF-IDF: ln(1 + f), or f")


class LabelGroupOptions(_Options):
    """How labels are grouped for ``mask_label``."""

    by: Literal["communities", "prefix", "coarse", "polarity", "file", "none"]
    separator: str = Field(min_length=1, description="for prefix and coarse")
    file: str | None = Field(description="a YAML file: group name, list of labels")
    seed: int = Field(ge=0, description="of the communities")
    resolution: float = Field(gt=0, description="of the communities: more make them smaller")

    @model_validator(mode="after")
    def _file_is_named(self) -> "LabelGroupOptions":
        if self.by == "file" and self.file is None:
            raise ValueError("by: file needs file, the path of a YAML file")
        return self


class ElementOptions(_Options):
    """How words that labels depend on are looked for, for ``mask_element``."""

    select: Literal["right", "wrong"] = Field(description="documents the baseline gets so")
    t: float = Field(gt=0, lt=1, description="fall of a probability that makes a word a keyword")
    documents: int | None = Field(ge=1, description="at most so many; null: all selected")
    words: int | None = Field(ge=1, description="at most so many of a document; null: all")
    seed: int = Field(ge=0, description="of the choice among selected documents")
