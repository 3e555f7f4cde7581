"""Leftovers of dead processes are swept, and nothing else; writes reach the disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from losslab import temporary
from losslab.temporary import part_of, scratch_folder, sweep_parts, sweep_scratch_folders


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("half")
    return path


def test_parts_of_dead_processes_go_wherever_they_lie(tmp_path, dead):
    left = write(tmp_path / f"deep/model/.model.safetensors.{dead}.part")
    link = tmp_path / f".latest.html.{dead}.part"
    link.symlink_to("nowhere")
    assert sorted(sweep_parts(tmp_path)) == sorted([left, link])
    assert not left.exists()
    assert not link.is_symlink()


def test_parts_of_living_processes_stay(tmp_path):
    for pid in (os.getpid(), os.getppid()):
        write(tmp_path / f".scores.npz.{pid}.part")
    assert sweep_parts(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 2


def test_part_goes_where_its_id_belongs_to_a_later_process(tmp_path):
    old = write(tmp_path / f".scores.npz.{os.getpid()}.part")
    os.utime(old, (0, 0))  # long before this process
    assert sweep_parts(tmp_path) == [old]


def test_files_of_other_names_stay(tmp_path, dead):
    names = [
        f"{dead}.part",
        f"a.{dead}.part",
        f".a.{dead}.party",
        ".trec.part",
        "model.safetensors",
    ]
    for name in names:
        write(tmp_path / name)
    assert sweep_parts(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_files_of_other_users_stay(tmp_path, dead):
    left = write(tmp_path / f".scores.npz.{dead}.part")
    os.chown(left, 65534, 65534)
    assert sweep_parts(tmp_path) == []


def test_scratch_folders_of_dead_processes_go_with_what_is_in_them(tmp_path, dead):
    left = tmp_path / f"losslab-{dead}-x7"
    write(left / "data")
    others = [tmp_path / f"losslab-{os.getpid()}-x8", tmp_path / "losslab-notes", tmp_path / "x"]
    for other in others:
        other.mkdir()
    assert sweep_scratch_folders(tmp_path) == [left]
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_a_process_names_its_temporaries_so_that_they_are_found(tmp_path):
    assert temporary.PART.fullmatch(part_of(tmp_path / "a.csv").name)["pid"] == str(os.getpid())
    with scratch_folder() as folder:
        assert temporary.SCRATCH.fullmatch(Path(folder).name)["pid"] == str(os.getpid())


@pytest.mark.parametrize("words", [["run", "--pipelines=none"], ["fetch", "cwe"]])
def test_commands_sweep_what_killed_ones_left(project, invoke, tmp_path, monkeypatch, dead, words):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    half = write(project / f"data/03_primary/cwe/.splits.parquet.{dead}.part")
    scratch = write(tmp_path / f"losslab-{dead}-x7/data").parent
    invoke(*words)
    assert not half.exists()
    assert not scratch.exists()


def test_folder_that_is_not_there_has_nothing_to_sweep(tmp_path, dead):
    left = write(tmp_path / f".a.{dead}.part")
    assert sweep_parts(tmp_path / "nowhere") == []
    assert sweep_parts(tmp_path) == [left]


def test_text_is_on_disk_before_it_takes_the_place_of_the_old_one(tmp_path, monkeypatch):
    file = write(tmp_path / "origin.json")
    synced = []

    def sync(number: int) -> None:
        synced.append((str(Path(f"/proc/self/fd/{number}").readlink()), file.read_text()))

    monkeypatch.setattr(os, "fsync", sync)
    temporary.write_text(file, "new")
    assert synced == [(str(part_of(file)), "half"), (str(tmp_path), "new")]
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("count", [3, temporary.MANY + 1])
def test_tree_is_synced_file_by_file_or_where_there_are_many_at_once(tmp_path, monkeypatch, count):
    for number in range(count):
        write(tmp_path / "deep" / str(number))
    calls = []
    monkeypatch.setattr(os, "fsync", lambda number: calls.append("file"))
    monkeypatch.setattr(os, "sync", lambda: calls.append("all"))
    temporary.sync_tree(tmp_path)
    assert calls == (["file"] * (count + 2) if count < temporary.MANY else ["all"])
