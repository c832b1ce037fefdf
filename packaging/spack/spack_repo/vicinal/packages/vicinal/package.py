# SPDX-License-Identifier: Apache-2.0
"""Spack's recipe. From the root of the sources:

    spack repo add packaging/spack/spack_repo/vicinal
    spack dev-build --source-path "$PWD" vicinal@main
"""

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Vicinal(CMakePackage):
    """Runs tasks on cores and accelerators, with data larger than their memory: a C++20 library, an executable,
    and a simulator of machines, with lower bounds on time and bytes beside each result."""

    license("Apache-2.0")

    version("main")

    variant("shared", default=False, description="Build a shared library")
    variant("tools", default=True, description="Build the executable vicinal")
    variant("blas", default=True, description="Dense applications of the executable", when="+tools")
    variant("hwloc", default=True, description="Place and bind workers by the topology of the machine")
    variant("otf2", default=False, description="vicinal export --format otf2")
    variant("sqlite", default=False, description="vicinal export --format sqlite")
    variant("opencl", default=False, description="OpenCL devices")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("cli11", type="build", when="+tools")

    depends_on("fmt")
    depends_on("tomlplusplus")
    depends_on("zlib-api")
    depends_on("liburing")
    depends_on("hwloc", when="+hwloc")
    depends_on("otf2", when="+otf2")
    depends_on("sqlite", when="+sqlite")
    depends_on("opencl", when="+opencl")
    # Tasks are what runs in parallel: an OpenBLAS with threads of its own is refused.
    depends_on("openblas threads=none", when="+blas")

    conflicts("platform=darwin", msg="Vicinal runs on Linux")
    conflicts("platform=windows", msg="Vicinal runs on Linux")
    conflicts("%gcc@:11", msg="Vicinal is written in C++20 as GCC 12 has it")
    conflicts("%clang@:13", msg="Vicinal is written in C++20 as Clang 14 has it")

    generator("ninja")

    def cmake_args(self):
        spec = self.spec
        arguments = [
            self.define("VICINAL_BUILD_TESTS", False),
            self.define("VICINAL_BUILD_BENCH", False),
            self.define("VICINAL_BUILD_MPI", False),
            self.define_from_variant("VICINAL_BUILD_CLI", "tools"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
        ]
        for variant, package in (("hwloc", "Hwloc"), ("otf2", "Otf2"), ("sqlite", "Sqlite"), ("opencl", "OpenCL")):
            arguments.append(self.define(f"CMAKE_DISABLE_FIND_PACKAGE_{package}", not spec.satisfies(f"+{variant}")))
        if spec.satisfies("+blas"):
            arguments += [
                self.define("VICINAL_OPENBLAS_SERIAL", spec["openblas"].libs[0]),
                self.define("VICINAL_OPENBLAS_SERIAL_INCLUDE_DIR", spec["openblas"].prefix.include),
            ]
        else:
            arguments.append(self.define("CMAKE_DISABLE_FIND_PACKAGE_OpenBLASSerial", True))
        return arguments
