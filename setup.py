"""Puts ``conf/`` beside the code of a wheel: an installed laboratory makes projects of it."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

INSTALLED = ("base/*.yml", "datasets/*.yml", "logging.yml")


class BuildWithConf(build_py):
    """The package with its default configuration; an editable one has that of the checkout."""

    def run(self) -> None:
        """Copy modules, then the files of ``conf/``."""
        super().run()
        if self.editable_mode:
            return
        for file in (path for pattern in INSTALLED for path in Path("conf").glob(pattern)):
            target = Path(self.build_lib, "losslab", file)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


setup(cmdclass={"build_py": BuildWithConf})
