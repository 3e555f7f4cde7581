import pytest
from image_files import bomb, write_posters

from losslab.data.download.fetch import ByHandError, fetch
from losslab.data.readers.movie_posters import read_movie_posters
from losslab.datasets.validators import check_documents
from losslab.errors import CorpusError


@pytest.fixture
def folder(tmp_path):
    return write_posters(tmp_path / "movie_posters", 5)


def test_poster_is_the_document_and_the_title_its_text(folder):
    documents = check_documents(read_movie_posters(folder).documents)
    assert documents["image"].tolist() == [f"SampleMoviePosters/{n}.jpg" for n in range(5)]
    assert documents["text"][0] == "Film, 0"
    assert documents["labels"].tolist()[2] == ["Red", "Green"]
    assert documents["image_sha256"].is_unique


def test_titles_are_read_without_posters(folder):
    titles = read_movie_posters(folder, image=False).documents
    assert list(titles.columns) == ["id", "text", "labels", "split"]
    assert titles["text"].tolist() == [f"Film, {n}" for n in range(5)]


def test_bad_posters_are_rejected_missing_ones_excluded_and_both_counted(folder):
    for name, content in (("0", b""), ("1", b"<html>"), ("2", bomb())):
        (folder / f"SampleMoviePosters/{name}.jpg").write_bytes(content)
    (folder / "SampleMoviePosters/3.jpg").unlink()
    corpus = read_movie_posters(folder)
    assert corpus.documents["id"].tolist() == ["4"]
    assert corpus.rejected["line"].tolist() == [2, 3, 4]
    assert [reason.split(":")[0] for reason in corpus.rejected["reason"]] == [
        "image file is empty",
        "no image that can be read",
        "image is too large",
    ]
    assert corpus.summary()["excluded"] == {"no file in SampleMoviePosters": 1}


def test_id_cannot_lead_out_of_the_folder(folder):
    sheet = folder / "MovieGenre.csv"
    sheet.write_text(sheet.read_text(encoding="utf-8-sig") + "../../x,u,T,,Red,\n")
    assert "outside the folder" in read_movie_posters(folder).rejected["reason"][0]


def test_without_posters_reader_and_fetch_say_how_to_get_them(folder):
    for poster in (folder / "SampleMoviePosters").iterdir():
        poster.unlink()
    with pytest.raises(CorpusError, match="'kedro fetch movie_posters' says how to get them"):
        read_movie_posters(folder)
    with pytest.raises(ByHandError, match=r"(?s)has no files.*column Poster.*imdbId"):
        fetch("movie_posters", folder.parent)
    (folder / "SampleMoviePosters/1.jpg").write_bytes(b"x")
    assert fetch("movie_posters", folder.parent) == folder
