#!/bin/sh
# Every public header compiles alone, as C17 and as C++.
set -eu
root=$1
for header in "$root"/include/tacit/*.h; do
  ${CC:-cc} -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c -I "$root/include" "$header"
  if command -v c++ >/dev/null; then
    c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ -I "$root/include" "$header"
  fi
done
