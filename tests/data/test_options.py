import inspect

import pytest
from pydantic import ValidationError

from losslab.data.readers import READERS, reader_options


@pytest.mark.parametrize("name", READERS)
def test_every_reader_takes_a_folder_and_options_by_name(name):
    folder, *options = inspect.signature(READERS[name]).parameters.values()
    assert folder.name == "folder"
    assert all(option.kind is option.KEYWORD_ONLY for option in options)
    assert set(reader_options(name).model_fields) == {option.name for option in options}


def test_defaults_are_those_of_the_signature():
    assert reader_options("trec")().model_dump() == {"labels": "fine"}


@pytest.mark.parametrize("options", [{"labels": "finest"}, {"label": "fine"}])
def test_unknown_options_are_refused(options):
    with pytest.raises(ValidationError, match="read_trec"):
        reader_options("trec")(**options)


def test_bounds_of_an_option_are_kept():
    with pytest.raises(ValidationError, match="separator"):
        reader_options("csv")(file="own.csv", separator="")
