#!/usr/bin/env python3
"""Write texts, one after another, as a C array: embed.py INPUT... OUTPUT NAME."""
import pathlib
import sys

*sources, target, name = sys.argv[1:]
data = b"\n".join(pathlib.Path(source).read_bytes() for source in sources)
lines = [", ".join(str(b) for b in data[i:i + 32]) for i in range(0, len(data), 32)]
pathlib.Path(target).write_text(f"extern const char {name}[];\nextern const unsigned long {name}_size;\nconst char {name}[] = {{\n"
                                + ",\n".join(lines) + f", 0}};\nconst unsigned long {name}_size = {len(data)};\n")
