"""Configuration in layers, checked before anything runs.

base < dataset < environment < the recipe's ``overrides`` < ``--params``
"""

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from kedro.config import OmegaConfigLoader
from omegaconf import OmegaConf
from yaml import YAMLError

from losslab.data.download.sources import SOURCES
from losslab.data.readers import FILE_READERS, READERS, reader_options
from losslab.errors import ParameterError
from losslab.parameters import did_you_mean, validate_parameters
from losslab.parameters.validation import complete_recipes, recipe_overrides
from losslab.parameters.variants import (
    CORPUS_PARAMETERS,
    DATA_PARAMETERS,
    cross_validation_name,
    embeddings_name,
    flatten,
    variant_name,
)

DATASETS = "datasets"
"""The folder of ``conf/`` with a file per dataset."""


class LosslabConfigLoader(OmegaConfigLoader):
    """Kedro's loader with a layer per dataset; ``["parameters"]`` are complete and checked.

    Kedro itself ignores a misspelt key, and checks types only in the pipelines that run. Unlike a
    hook, a loader serves every command, Kedro-Viz among them, which runs without hooks.
    """

    def __init__(self, conf_source: str, env: str | None = None, **options: Any) -> None:
        folder = Path(conf_source)
        if folder.is_dir() and env is not None:
            environments = {path.name for path in folder.iterdir() if path.is_dir()} - {DATASETS}
            if env not in environments:
                raise click.ClickException(_explain_environment(env, folder, environments))
        self._resolvers = {
            "losslab.raw_folder": lambda: self.raw_folder,
            "losslab.corpus_folder": lambda: self.corpus_folder,
            "losslab.dataset_folder": lambda: self.dataset_folder,
            "losslab.cross_validation_folder": lambda: self.cross_validation_folder,
            "losslab.recipe_folder": lambda: self.recipe_folder,
            "losslab.embeddings_folder": lambda: self.embeddings_folder,
            "losslab.predict_file": lambda: self.checked_parameters["predict"]["file"],
            "losslab.sweep": lambda: str(self._merged.get("sweep")),
            **options.pop("custom_resolvers", {}),
        }
        super().__init__(conf_source, env=env, custom_resolvers=self._resolvers, **options)

    def __getitem__(self, key: str) -> dict[str, Any]:
        """The configuration of a kind; a mistake in it is one line."""
        self._register_resolvers()
        try:
            if key == "parameters" and key not in self.data:
                return self.checked_parameters
            values: dict[str, Any] = super().__getitem__(key)
            return values
        except YAMLError as error:
            raise click.ClickException(" ".join(str(error).split())) from error
        except ParameterError as error:
            raise click.ClickException(str(error)) from None

    @property
    def dataset(self) -> str:
        """The chosen dataset: ``--dataset``, else the one of ``globals.yml``."""
        return str(self._choice("dataset"))

    @property
    def recipe(self) -> str:
        """The chosen recipe: ``--recipe``, else that of the dataset's file, else of ``globals.yml``."""
        own = self._dataset_layer.get("recipe") if self.dataset in self.datasets else None
        return str((self.runtime_params or {}).get("recipe") or own or self._choice("recipe"))

    @property
    def datasets(self) -> list[str]:
        """The datasets that have a file."""
        return sorted(path.stem for path in Path(self.conf_source, DATASETS).glob("*.yml"))

    @property
    def recipes(self) -> list[str]:
        """The recipes of all layers."""
        return list(self._files.get("recipes") or {})

    @property
    def sweeps(self) -> dict[str, str]:
        """The titles of the sweeps of all layers, by name."""
        sweeps = self._merged.get("sweeps") or {}
        return {name: dict(sweep).get("title", "") for name, sweep in sweeps.items()}

    @cached_property
    def checked_parameters(self) -> dict[str, Any]:
        """Every parameter, as nodes receive it."""
        return validate_parameters(self._merged)

    @cached_property
    def raw_folder(self) -> str:
        """The folder of raw files: the reader's, shared by all datasets it reads."""
        reader = self._merged.get("reader")
        return self.dataset if reader in (None, *FILE_READERS) else str(reader)

    @cached_property
    def corpus_folder(self) -> str:
        """The folder of documents and their embeddings, however they are split."""
        return self._variant(CORPUS_PARAMETERS)

    @cached_property
    def dataset_folder(self) -> str:
        """The folder of a dataset's results; of a fold, below that of its cross-validation."""
        folder, split = self.cross_validation_folder, self._split
        return f"{folder}/fold={split.get('fold')}" if split.get("folds") else folder

    @cached_property
    def cross_validation_folder(self) -> str:
        """The folder of all folds together; other data than base and dataset ask for is a variant."""
        return cross_validation_name(self._variant(DATA_PARAMETERS), self._split.get("folds"))

    def _variant(self, parameters: Collection[str]) -> str:
        defaults = self._reader_defaults()
        return variant_name(self.dataset, self._merged, self._declared, parameters, defaults)

    @cached_property
    def recipe_folder(self) -> str:
        """The folder of a recipe's results; another model than base and dataset ask for is a variant.

        Models are compared with what they extend. Of a recipe that the environment adds, its entry
        there is what is asked for.
        """
        recipes = {**(self._files.get("recipes") or {}), **(self._declared.get("recipes") or {})}
        entries = (self._merged, {**self._declared, "recipes": recipes})
        model, declared_model = (complete_recipes(each).get(self.recipe, {}) for each in entries)
        return variant_name(self.recipe, model, declared_model, ("model",))

    @cached_property
    def embeddings_folder(self) -> str:
        """The folder of frozen embeddings: recipes with the same encoder share it."""
        model = complete_recipes(self._merged).get(self.recipe, {}).get("model")
        return embeddings_name(model if isinstance(model, Mapping) else {})

    @property
    def _split(self) -> Mapping[str, Any]:
        split = self._merged.get("split")
        return split if isinstance(split, Mapping) else {}  # the parameters' check refuses others

    @cached_property
    def _merged(self) -> dict[str, Any]:
        layers = [self._files, self.runtime_params or {}]
        overrides = recipe_overrides(_merge(*layers).get("recipes") or {}, self.recipe)
        return _merge(layers[0], overrides, layers[1])

    @cached_property
    def _files(self) -> dict[str, Any]:
        """The parameters of base, dataset and environment, in this order."""
        environment = self.env or self.default_run_env
        layer = {} if environment == self.base_env else self._folder(environment)
        self._refuse_choices(layer)
        files = _merge(self._declared, layer)
        self._refuse_other_data(files.get("reader"))
        return files

    @cached_property
    def _declared(self) -> dict[str, Any]:
        """The parameters of base and dataset: what folders without a variant's name are for."""
        if self.dataset not in self.datasets:
            hint = f"; a dataset is a file conf/{DATASETS}/<name>.yml"
            raise ParameterError(did_you_mean("dataset", self.dataset, self.datasets) + hint)
        self._check_dataset_name()
        layers: list[Any] = [self._folder(self.base_env), self._dataset_layer]
        self._refuse_choices(layers[0])
        self._refuse_choices(layers[1], "dataset")
        return _merge(*layers, {"dataset": self.dataset, "recipe": self.recipe})

    def _register_resolvers(self) -> None:
        """Take the place of an earlier loader, whose resolvers Kedro keeps: folders are this run's."""
        for name, resolver in self._resolvers.items():
            OmegaConf.register_resolver(name, resolver, replace=True)

    def _folder(self, environment: str) -> dict[str, Any]:
        """The parameters of an environment, without ``--params``, which Kedro adds to that key."""
        folder, patterns = Path(self.conf_source, environment), self.config_patterns["parameters"]
        values: dict[str, Any] = self.load_and_merge_dir_config(
            str(folder), [*patterns], "parameter files", set()
        )
        return values

    @cached_property
    def _dataset_layer(self) -> Any:
        """The dataset's file; it may name a recipe, where that of ``globals.yml`` does not fit."""
        return OmegaConf.load(Path(self.conf_source, DATASETS, f"{self.dataset}.yml"))

    def _refuse_choices(self, layer: Mapping[str, Any], *names: str) -> None:
        """``dataset`` and ``recipe`` decide on folders, too, and stand in ``globals.yml``."""
        for name in names or ("dataset", "recipe"):
            if name in layer:
                raise ParameterError(
                    f"'{name}' stands in a parameters file; set it in globals.yml or by --{name}"
                )

    def _check_dataset_name(self) -> None:
        """A dataset must not be named like another one's variants, whose folders it would share."""
        for other in self.datasets:
            if self.dataset.startswith(f"{other}-"):
                raise ParameterError(
                    f"dataset '{self.dataset}' has the folders of a variant of '{other}': "
                    f"rename conf/{DATASETS}/{self.dataset}.yml"
                )

    def _refuse_other_data(self, reader: Any) -> None:
        """Results on one's own data do not lie in the folders of a built-in corpus."""
        if self.dataset in SOURCES and reader not in (None, self.dataset):
            raise ParameterError(
                f"'{self.dataset}' is a built-in corpus and reader {reader} would put other data into "
                f"its folders: set reader in a file of another name, conf/{DATASETS}/<name>.yml"
            )

    def _choice(self, name: str) -> Any:
        return (self.runtime_params or {}).get(name) or self["globals"][name]

    def _reader_defaults(self) -> dict[str, Any]:
        reader = str(self._merged.get("reader") or self.dataset)
        fields = reader_options(reader).model_fields if reader in READERS else {}
        return flatten({"corpus": {name: field.default for name, field in fields.items()}})


def _explain_environment(env: str, folder: Path, environments: Collection[str]) -> str:
    if (folder / DATASETS / f"{env}.yml").is_file():
        return f"'{env}' is a dataset, not an environment: --dataset={env}"
    return did_you_mean("environment", env, environments)


def _merge(*layers: Any) -> dict[str, Any]:
    merged: Any = OmegaConf.to_container(OmegaConf.unsafe_merge(*layers), resolve=True)
    return dict(merged)
