#!/usr/bin/env python3
"""Makes a wheel of a build, for the Python that runs this: make_wheel.py BUILD_FOLDER OUTPUT_FOLDER CMAKE VERSION

It has the package, liblockstep and the programs that compile source. LLVM, clang and the other libraries are Debian's."""
import base64
import hashlib
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

build, output, cmake, version = sys.argv[1:]
output = pathlib.Path(output)
tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
tag = f"{tag}-{tag}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
information = f"lockstep-{version}.dist-info"


def files_of(tree):
    """Each file of the wheel with its contents and mode, from an installed tree."""
    for path in sorted((tree / "lib/python3/dist-packages/lockstep").glob("*")):
        if path.is_file():
            yield f"lockstep/{path.name}", path.read_bytes(), 0o755 if path.suffix == ".so" else 0o644
    # By the name that is linked against; it looks for its programs below the folder that it is in.
    libraries = [path for path in tree.glob("lib/**/liblockstep.so.*") if path.name.count(".") == 2]
    yield "lockstep/" + libraries[0].name, libraries[0].read_bytes(), 0o755
    for path in sorted((tree / "libexec/lockstep").glob("*")):
        yield f"lockstep/libexec/lockstep/{path.name}", path.read_bytes(), 0o755
    yield (f"{information}/METADATA",
           f"Metadata-Version: 2.1\nName: lockstep\nVersion: {version}\nSummary: An AMD RDNA 3 (gfx11) GPU in software\n"
           "License: Apache-2.0\nRequires-Dist: numpy\n".encode(), 0o644)
    yield (f"{information}/WHEEL",
           f"Wheel-Version: 1.0\nGenerator: lockstep\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([cmake, "--install", build, "--prefix", folder, "--strip"], check=True, stdout=subprocess.DEVNULL)
    output.mkdir(parents=True, exist_ok=True)
    wheel = output / f"lockstep-{version}-{tag}.whl"
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        def add(name, contents, mode):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, contents)

        for name, contents, mode in files_of(pathlib.Path(folder)):
            digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(contents)}\n"
            add(name, contents, mode)
        add(f"{information}/RECORD", (record + f"{information}/RECORD,,\n").encode(), 0o644)
print(wheel)
