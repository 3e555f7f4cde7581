"""parameters_training.yml: recipes. A recipe is a model and the budget it is trained with."""

from typing import Annotated, Any, ClassVar, Literal, overload

from pydantic import AfterValidator, Field, model_validator

from losslab.data.corpus import Modality
from losslab.parameters.base import MAX_COUNT, Count, NonNegative, Positive, Settings
from losslab.parameters.features import TfidfSettings
from losslab.parameters.variants import DATA_PARAMETERS

ImageSize = tuple[Annotated[int, Field(ge=8, le=4096)], Annotated[int, Field(ge=8, le=4096)]]
NOT_OVERRIDDEN = (*DATA_PARAMETERS, "dataset", "recipe", "recipes", "sweep", "sweeps")
"""What no recipe overrides: it decides on data or folders, which recipes share, or on recipes."""


class ModelSettings(Settings):
    """What all models have in common; ``kind`` picks the model."""

    modality: ClassVar[Modality] = "text"
    """What it reads."""
    dropout: float = Field(ge=0, lt=1)


class TextSettings(ModelSettings):
    """A model that reads tokens."""

    max_length: int = Field(ge=8, le=65_536, description="tokens per document")
    truncation: Literal["head", "head_tail"] = Field(
        description="what is kept of a longer document: its head, or head and tail"
    )


class EncoderSettings(TextSettings):
    """A pretrained encoder: ``minilm`` (a Python package), a folder, or a name of the hub."""

    backbone: str
    pooling: Literal["cls", "mean"]


class ProbeSettings(EncoderSettings):
    """Frozen embeddings and a small head: minutes on a CPU."""

    kind: Literal["probe"]
    hidden_dim: int = Field(ge=0, le=65_536, description="0: no hidden layer")


class HybridSettings(EncoderSettings):
    """Frozen embeddings and TF-IDF, both into one hidden layer."""

    kind: Literal["hybrid"]
    hidden_dim: int = Field(ge=1, le=65_536)
    tfidf: TfidfSettings = Field(description="what is not set is that of the parameter tfidf")


class FrozenEncoder(Settings):
    """All that frozen embeddings depend on: what else a recipe changes does not make them stale."""

    backbone: str
    pooling: Literal["cls", "mean"]
    max_length: int = Field(ge=8, le=65_536)
    truncation: Literal["head", "head_tail"]


class ImageSettings(ModelSettings):
    """A model that reads images."""

    modality = "image"
    image_size: ImageSize = Field(description="height and width that images are resized to")


class ImageProbeSettings(ImageSettings):
    """Frozen embeddings of images and a small head."""

    kind: Literal["image_probe"]
    backbone: str = Field(
        description="efficientnet_lite0 (a Python package), a folder, or a name of the hub"
    )
    hidden_dim: int = Field(ge=0, le=65_536, description="0: no hidden layer")


class Augmentation(Settings):
    """What changes images of a training split anew each time they are seen."""

    flip: float = Field(ge=0, le=1, description="probability that left and right are exchanged")
    crop: float = Field(
        ge=0, lt=0.5, description="share of height and width by which an image is shifted at most"
    )


class CNNSettings(ImageSettings):
    """A small convolutional network, trained from scratch."""

    kind: Literal["cnn"]
    channels: tuple[Annotated[int, Field(ge=8, le=4096, multiple_of=8)], ...] = Field(
        min_length=1, max_length=8, description="of each layer, which halves height and width"
    )
    augmentation: Augmentation


def augmentation_of(model: ModelSettings) -> Augmentation | None:
    """How images are changed while a model is trained; None where they are not."""
    return model.augmentation if isinstance(model, CNNSettings) else None


class FrozenImageEncoder(Settings):
    """All that frozen embeddings of images depend on."""

    backbone: str
    image_size: ImageSize


FROZEN: dict[type[ModelSettings], type[FrozenEncoder | FrozenImageEncoder]] = {
    ProbeSettings: FrozenEncoder,
    HybridSettings: FrozenEncoder,
    ImageProbeSettings: FrozenImageEncoder,
}


@overload
def frozen_encoder(model: TextSettings) -> FrozenEncoder | None: ...
@overload
def frozen_encoder(model: ModelSettings) -> FrozenEncoder | FrozenImageEncoder | None: ...
def frozen_encoder(model: ModelSettings) -> FrozenEncoder | FrozenImageEncoder | None:
    """The encoder whose frozen embeddings a model reads; None of other models."""
    encoder = FROZEN.get(type(model))
    if encoder is None:
        return None
    return encoder(**{name: getattr(model, name) for name in encoder.model_fields})


class TransformerSettings(EncoderSettings):
    """The pretrained encoder, fine-tuned."""

    kind: Literal["transformer"]
    attention_dropout: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="null: as the encoder was made; above 0 there is no fused attention",
    )


class WordSettings(TextSettings):
    """A vocabulary of the training texts, with embeddings of its own."""

    vocab_size: int = Field(ge=1, le=10_000_000)
    min_count: Count = Field(description="rarer words are unknown")
    lowercase: bool
    embedding_dim: int = Field(ge=1, le=16_384, description="where no vectors are given")
    vectors: str | None = Field(description="file with a word and its numbers on each line")


class TextCNNSettings(WordSettings):
    """Convolutions with max-pooling over time (Kim 2014)."""

    kind: Literal["textcnn"]
    kernel_sizes: tuple[Annotated[int, Field(ge=1, le=512)], ...] = Field(min_length=1)
    filters: int = Field(ge=1, le=65_536, description="per kernel size")


class LSTMSettings(WordSettings):
    """LSTM with max-pooling over time."""

    kind: Literal["lstm"]
    bidirectional: bool = Field(description="false: reads from the first word to the last alone")
    hidden_dim: int = Field(ge=1, le=16_384, description="per direction")
    layers: int = Field(ge=1, le=64)


class RegularizerSettings(Settings):
    """Terms added to any loss in training; a weight of 0 leaves one out."""

    rdrop: NonNegative = Field(description="weight of R-Drop")
    adversarial: NonNegative = Field(description="weight of virtual adversarial training")
    adversarial_epsilon: Positive = Field(description="norm of the perturbation")
    mulsupcon: NonNegative = Field(
        description="weight of multi-label contrast; not for frozen embeddings"
    )
    mulsupcon_temperature: Positive = Field(description="temperature of its similarities")


class TrainingSettings(Settings):
    """The budget of a training: the same for every loss of a recipe."""

    epochs: int = Field(ge=1, le=1_000_000, description="maximum")
    min_steps: int = Field(
        ge=0,
        le=MAX_COUNT,
        description="maximum of losses whose larger batches make fewer steps of all epochs, "
        "if the others have as many",
    )
    patience: int = Field(
        ge=1, le=1_000_000, description="epochs without improvement before early stopping"
    )
    patience_steps: int = Field(
        ge=0,
        le=MAX_COUNT,
        description="optimizer steps without improvement that early stopping needs besides",
    )
    evaluations_per_epoch: int = Field(ge=1, le=20)
    batch_size: int = Field(ge=1, le=1_000_000)
    min_batch_size_batchwise: int = Field(
        ge=1,
        le=1_000_000,
        description="minimum for batchwise losses, such as dice2 and the F1 family",
    )
    learning_rate: Positive
    weight_decay: NonNegative
    max_grad_norm: Positive
    warmup: float = Field(ge=0, lt=1, description="share of all steps")
    schedule: Literal["constant_with_warmup", "linear", "cosine"]
    soft_targets_from_step: int = Field(
        ge=0, le=MAX_COUNT, description="hard targets alone before it"
    )
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        description="of the model, never of the loss; auto: half on CUDA, else float32"
    )
    compile: bool
    gradient_checkpointing: bool
    processes: int = Field(ge=1, le=256, description="DDP processes; one GPU each if available")
    threads: int | None = Field(ge=1, le=1024, description="CPU threads; null: one per core")
    regularizers: RegularizerSettings


Model = Annotated[
    ProbeSettings
    | HybridSettings
    | TransformerSettings
    | TextCNNSettings
    | LSTMSettings
    | CNNSettings
    | ImageProbeSettings,
    Field(discriminator="kind"),
]


class Recipe(Settings):
    """A model and its budget; nodes receive the one that ``recipe`` names."""

    name: str
    model: Model
    training: TrainingSettings

    @model_validator(mode="after")
    def _contrast_has_something_to_train(self) -> "Recipe":
        frozen = isinstance(self.model, ProbeSettings | ImageProbeSettings)
        if self.training.regularizers.mulsupcon and frozen:
            raise ValueError(
                "training.regularizers.mulsupcon moves documents, whose embeddings a probe leaves as "
                "they are: set it to 0, or take a recipe that trains them"
            )
        return self


def _check_overrides(overrides: dict[str, Any]) -> dict[str, Any]:
    for name in overrides:
        if name in NOT_OVERRIDDEN:
            raise ValueError(
                f"{name} is not a recipe's to set; set it in conf/datasets/<dataset>.yml or by "
                "--params"
            )
    return overrides


class RecipeEntry(Recipe):
    """A recipe as it stands in ``conf/``: it may override parameters outside it."""

    overrides: Annotated[dict[str, Any], AfterValidator(_check_overrides)] = Field(
        {}, description="other parameters under this recipe; --params comes after them"
    )


class FeatureSettings(Settings):
    """The recipe's part that features depend on: another budget does not make them stale."""

    model: Model


SelectBy = Literal["macro_f1", "micro_f1", "subset_accuracy"]
"""The validation metric of the best epoch; on single-label data subset accuracy is accuracy."""
