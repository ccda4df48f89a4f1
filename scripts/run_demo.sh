#!/usr/bin/env bash
# A real directory tree goes into an image and comes back, byte for byte; then the image is checked.
# `./do run` builds the command and calls this.
#
#   run_demo.sh [COMMAND]
#     COMMAND             build/release/native/cordwood unless given
#     CORDWOOD_DEMO_TREE  the tree to import; unless set: headers, documentation, Python and Perl
#     CORDWOOD_DEMO_MKFS  options for mkfs, for example "-n 64K -b 512"
#     CORDWOOD_DEMO_KEEP  if set: keep the image and the copy, and say where they are
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cordwood=${1:-$here/build/release/native/cordwood}
wanted_entries=20000

say() { printf '\n== %s\n' "$*"; }

if [[ ! -x $cordwood ]]; then
  echo "$cordwood is missing: build it first with ./do run" >&2
  exit 1
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/cordwood-demo.XXXXXX")
clean_up() {
  if [[ -n ${CORDWOOD_DEMO_KEEP:-} ]]; then
    printf '\nKept: %s\n' "$work"
  else
    rm -rf "$work"
  fi
}
trap clean_up EXIT
image=$work/disk.img

# Real trees that every Debian has, until there are enough entries.
choose_sources() {
  local candidate entries=0
  sources=()
  for candidate in /usr/include /usr/share/doc /usr/lib/python3 /usr/lib/python3.11 /usr/share/perl \
    /usr/share/perl5 /usr/lib/gcc /usr/share/man /usr/share/zoneinfo /usr/share/locale /usr/share /usr/lib; do
    [[ -d $candidate ]] || continue
    # A whole of which parts were taken would be imported twice.
    case " ${sources[*]-} " in *" $candidate/"*) continue ;; esac
    sources+=("$candidate")
    entries=$((entries + $(find "$candidate" 2>/dev/null | wc -l)))
    if ((entries >= wanted_entries)) && ((${#sources[@]} >= 3)); then break; fi
  done
}
if [[ -n ${CORDWOOD_DEMO_TREE:-} ]]; then
  sources=("$CORDWOOD_DEMO_TREE")
else
  choose_sources
fi

say "A new image"
# Room for the content twice over, and for rounding each file up to blocks.
kilobytes=$(du -skc --apparent-size "${sources[@]}" 2>/dev/null | tail -n 1 | cut -f 1)
blocks=$(find "${sources[@]}" 2>/dev/null | wc -l)
megabytes=$((256 + 2 * (kilobytes + 4 * blocks) / 1024))
# shellcheck disable=SC2086  # several options
"$cordwood" mkfs ${CORDWOOD_DEMO_MKFS:-} --size "${megabytes}M" --label demo "$image"

say "Import: ${sources[*]}"
"$cordwood" import --json "$image" "${sources[@]}" >"$work/import.json"
python3 "$here/scripts/show_report.py" "$work/import.json"

say "What is in it now"
"$cordwood" tree -L 2 "$image" | sed -n '1,20p;21s/.*/.../p' || true
"$cordwood" info "$image"
"$cordwood" df "$image"

say "Export"
"$cordwood" export --json "$image" / "$work/copy" >"$work/export.json"
python3 "$here/scripts/show_report.py" "$work/export.json"

say "Compare with what was imported: bytes, modes, owners, times, links, symlinks, xattrs"
for source in "${sources[@]}"; do
  printf '%-24s ' "$source"
  python3 "$here/scripts/compare_trees.py" "$source" "$work/copy/$(basename "$source")"
done

say "Check the image, with the content of all files"
"$cordwood" check --data --json "$image" >"$work/check.json" || {
  "$cordwood" check --data "$image" || true
  exit 1
}
python3 "$here/scripts/show_report.py" "$work/check.json"
