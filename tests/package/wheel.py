"""What is in a wheel: stubs, licence, and one symbol that leaves the module."""

import subprocess
import sys
import zipfile

import grebe_core

wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
for wanted in ("grebe/__init__.py", "grebe/__init__.pyi", "grebe/py.typed"):
    if wanted not in names:
        raise SystemExit(f"the wheel lacks {wanted}")
if not any(name.endswith("LICENSE") for name in names):
    raise SystemExit("the wheel lacks the licence")
metadata = wheel.read(next(n for n in names if n.endswith("/METADATA"))).decode()
if "\nVersion: " not in metadata:
    raise SystemExit("the wheel has no version")

listed = subprocess.run(
    ["nm", "-D", "--defined-only", grebe_core.__file__],
    check=True,
    capture_output=True,
    text=True,
).stdout
symbols = {line.split()[-1] for line in listed.splitlines()}
if symbols != {"PyInit_grebe_core"}:
    raise SystemExit(f"the module shows {sorted(symbols)}")
