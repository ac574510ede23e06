"""tools/rocm_runtime.sh adds packages to a tree that programs use.

    rocm_tree_test.py SOURCES

apt-get and dpkg-deb are stand-ins here: what they would fetch and unpack is made on the spot.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

SCRIPT = pathlib.Path(sys.argv.pop(1)) / "tools" / "rocm_runtime.sh"
SIZE = 32 << 20

APT_GET = """#!/bin/bash
case " $* " in *" install "*) touch "$(dirname "$APT_CONFIG")/cache/archives/one.deb" ;; esac
"""
# dpkg-deb -x PACKAGE FOLDER
DPKG_DEB = f"""#!/bin/bash
mkdir -p "$3/usr/lib/new folder"
head -c {SIZE} /dev/zero | tr '\\0' n > "$3/usr/lib/libx.so.1"
echo 1 > "$3/usr/lib/new folder/one"
ln -s libx.so.1 "$3/usr/lib/libx.so"
"""


class Tree(unittest.TestCase):
    def test_files_are_whole_while_packages_are_added(self):
        with tempfile.TemporaryDirectory() as name:
            top = pathlib.Path(name)
            tools, tree = top / "bin", top / "tree"
            tools.mkdir()
            for tool, text in (("apt-get", APT_GET), ("dpkg-deb", DPKG_DEB)):
                (tools / tool).write_text(text)
                (tools / tool).chmod(0o755)
            (tree / "usr" / "lib").mkdir(parents=True)
            (tree / "lib").symlink_to("usr/lib")
            (tree / ".complete").write_text("before\n")
            library = tree / "usr" / "lib" / "libx.so.1"
            library.write_bytes(b"o" * SIZE)
            (tree / "usr" / "lib" / "libx.so").symlink_to("libx.so.0")

            seen, ended = set(), threading.Event()

            def look():
                while not ended.is_set():
                    try:
                        with open(library, "rb") as file:
                            seen.add((os.fstat(file.fileno()).st_size, file.read(1)))
                    except FileNotFoundError:
                        seen.add("missing")

            watcher = threading.Thread(target=look)
            watcher.start()
            try:
                with open(library, "rb") as held:
                    environment = dict(os.environ, ROCM=str(tree), PATH=f"{tools}:{os.environ['PATH']}")
                    done = subprocess.run([SCRIPT, "added"], env=environment, capture_output=True, text=True)
                    if done.returncode == 77:
                        self.skipTest(done.stderr)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(held.read(), b"o" * SIZE)
            finally:
                ended.set()
                watcher.join()
            self.assertLessEqual(seen, {(SIZE, b"o"), (SIZE, b"n")})
            self.assertEqual(library.read_bytes(), b"n" * SIZE)
            self.assertEqual(os.readlink(tree / "lib" / "libx.so"), "libx.so.1")
            self.assertEqual((tree / "lib" / "new folder" / "one").read_text(), "1\n")
            self.assertEqual((tree / ".complete").read_text(), "before\nadded\n")
            self.assertEqual(sorted(path.name for path in top.iterdir()), ["bin", "tree"])


if __name__ == "__main__":
    unittest.main()
