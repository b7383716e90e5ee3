"""Builds the extension by driving CMake, which alone knows sources and flags."""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent


def version():
    """The version that the C header states."""
    header = HERE / "core" / "include" / "grebe" / "status.h"
    return re.search(r'GREBE_VERSION_TEXT "(.+?)"', header.read_text()).group(1)


class BuildByCMake(build_ext):
    """Runs CMake in the temporary folder and takes the module from there."""

    def build_extension(self, ext):
        build = Path(self.build_temp).resolve() / "cmake"
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        build.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        configure = [
            "cmake",
            "-S",
            str(HERE),
            "-B",
            str(build),
            "-DCMAKE_BUILD_TYPE=Release",
            "-DGREBE_PYTHON=ON",
            "-DGREBE_TESTS=OFF",
            f"-DPython3_EXECUTABLE={sys.executable}",
            *os.environ.get("CMAKE_ARGS", "").split(),
        ]
        if not os.environ.get("CMAKE_GENERATOR"):
            configure += ["-G", "Ninja"]
        subprocess.run(configure, check=True)
        subprocess.run(
            ["cmake", "--build", str(build), "--target", "grebe_core"], check=True
        )
        made = build / "python" / target.name
        self.copy_file(str(made), str(target))


setup(
    version=version(),
    ext_modules=[Extension("grebe_core", sources=[])],
    cmdclass={"build_ext": BuildByCMake},
)
