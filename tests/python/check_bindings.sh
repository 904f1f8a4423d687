#!/bin/sh
# The sources of the Python and R packages compile against the headers of the library as they are: check_bindings.sh ROOT. Skipped (77)
# where the headers of neither are there. The packages themselves are built and tested by check_package.py and R CMD check.
set -eu
root=$1
found=77
python=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
if [ -f "$python/Python.h" ]; then
  found=0
  ${CC:-cc} -std=gnu17 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only -I "$root/include" -I "$root/python/src" \
    -isystem "$python" "$root"/python/src/*.c
fi
if command -v R >/dev/null && headers=$(R CMD config --cppflags 2>/dev/null); then
  found=0
  # shellcheck disable=SC2086
  ${CC:-cc} -std=gnu17 -Wall -Wextra -Wshadow -Werror -fsyntax-only -I "$root/include" $headers "$root"/r/src/*.c
fi
exit $found
