#!/usr/bin/env bash
# Makes the Debian packages of a build, looks at them, installs them, and builds and runs programs against them.
#   package.sh BUILD_DIRECTORY CPACK CMAKE COMPILER
# They are installed by dpkg in a copy-on-write view of this machine, where what they depend on is there, and of which
# nothing stays. Where such a view cannot be had (no root, no overlay file system), they are unpacked into a directory,
# and all else is the same.
set -euo pipefail
umask 022
source=$(cd "$(dirname "$0")" && pwd)
build=$1 cpack=$2 cmake=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$source/../../tools/overlay_view.sh"
fail() {
  printf '%s\n' "$*" >&2
  exit 1
}
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }

for program in dpkg-deb dpkg-shlibdeps file; do
  command -v "$program" >/dev/null || fail "$program is missing; it is in the packages dpkg, dpkg-dev, file"
done
quietly "$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages"
mapfile -t packages < <(find "$work/packages" -maxdepth 1 -name '*.deb' | sort)
names=(sepal-tools libsepal-dev libsepal0)
with_leveldb= with_python=
if [ -e "$build/lib/sepal/leveldb/libleveldb.so.1d" ]; then with_leveldb=yes names+=(libsepal-leveldb); fi
if compgen -G "$build/python/sepal/_sepal.*.so" >"$work/modules"; then with_python=yes names+=(python3-sepal); fi
[ "${#packages[@]}" -eq "${#names[@]}" ] || fail "${names[*]} were to be made, and not ${packages[*]}"
for name in "${names[@]}"; do
  deb=$(find "$work/packages" -maxdepth 1 -name "${name}_*.deb")
  [ -n "$deb" ] || fail "there is no package $name"
  for field in Package Source Version Architecture Section Priority Description Depends Maintainer Installed-Size; do
    [ -n "$(dpkg-deb -f "$deb" "$field")" ] || fail "$name says nothing of $field"
  done
  [ "$(dpkg-deb -f "$deb" Description | wc -l)" -gt 1 ] || fail "$name is described in one line"
  dpkg-deb -c "$deb" >"$work/$name.long"
  awk '{ print $6 }' "$work/$name.long" >"$work/$name.list"
  if grep -E '^d' "$work/$name.long" | grep -v '^drwxr-xr-x root/root '; then fail "$name: directories that are closed"; fi
  if grep -vE '^.rw|^.r..r..r|^l' "$work/$name.long"; then fail "$name: files that cannot be read"; fi
  for file in copyright changelog.gz; do
    grep -qx "./usr/share/doc/$name/$file" "$work/$name.list" || fail "$name has no $file"
  done
done
depends() { dpkg-deb -f "$work/packages/$1"_*.deb Depends | grep -q "$2" || fail "$1 does not depend on $2"; }
depends libsepal0 'libsnappy1v5'
depends libsepal0 'liburing2'
depends libsepal-dev 'libsepal0 (= '
depends libsepal-dev 'pkg-config'
depends sepal-tools 'libzstd1'
holds() { grep -qE "$2" "$work/$1.list" || fail "$1 lacks $2"; }
holds libsepal0 '/usr/lib/(.*/)?libsepal\.so\.0$'
holds libsepal-dev '/usr/include/sepal/c\.h$'
holds libsepal-dev '/usr/lib/(.*/)?libsepal\.so$'
holds libsepal-dev '/usr/lib/(.*/)?libsepal\.a$'
holds libsepal-dev '/usr/lib/(.*/)?cmake/sepal/sepalConfig\.cmake$'
holds libsepal-dev '/usr/lib/(.*/)?pkgconfig/sepal\.pc$'
for file in bin/sepal bin/sepal_db_bench bin/sepal_sst_dump share/man/man1/sepal.1 share/man/man1/sepal_db_bench.1 \
  share/bash-completion/completions/sepal share/zsh/vendor-completions/_sepal \
  share/fish/vendor_completions.d/sepal.fish; do
  holds sepal-tools "/usr/$file(\.gz)?$"
done
if [ -n "$with_leveldb" ]; then
  holds libsepal-leveldb '/usr/lib/(.*/)?sepal/leveldb/libleveldb\.so\.1d$'
  dpkg-deb -f "$work/packages"/sepal-tools_*.deb Recommends | grep -q libsepal-leveldb || fail "sepal-tools recommends no libsepal-leveldb"
fi
if [ -n "$with_python" ]; then
  depends python3-sepal 'python3 (>= 3\.[0-9]*~), python3 (<< 3\.[0-9]*)'
  for file in __init__.py mapping.py py.typed _sepal.pyi _sepal.*.so; do
    holds python3-sepal "/usr/lib/python3/dist-packages/sepal/$file$"
  done
fi
if command -v lintian >"$work/log"; then
  lintian "${packages[@]}" >"$work/lintian" 2>&1 || true
  if grep '^E:' "$work/lintian"; then fail "lintian finds errors"; fi
fi
if sort "$work"/*.list | grep -v '/$' | uniq -d | grep .; then fail "a file is in two packages"; fi
if grep -vhE '^\./usr/(bin|include|lib|share)/|^\./(usr/)?$' "$work"/*.list; then
  fail "the packages hold files where none belong"
fi

# consume ROOT DIRECTORY SOURCE COMPILER CMAKE: programs against what is installed below ROOT.
consume() {
  local root=$1 here=$2 source=$3 compiler=$4 cmake=$5
  local libraries find_it=()
  libraries=$(dirname "$(find "$root/usr/lib" -name libsepal.so)")
  if [ -n "$root" ]; then
    export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
    find_it=("-DCMAKE_PREFIX_PATH=$root/usr")
  else
    ldconfig -p | grep 'libsepal\.so\.0 '
  fi
  read -r -a flags <<<"$(pkg-config --cflags --libs sepal)"
  "$compiler" -std=c++20 "$source/consumer.cc" -o "$here/consumer_pc" "${flags[@]}"
  "$here/consumer_pc" "$here/db_pc"
  "$cmake" -S "$source" -B "$here/build" -DCMAKE_CXX_COMPILER="$compiler" "${find_it[@]}"
  "$cmake" --build "$here/build"
  for kind in sepal sepal-static sepal-shared; do
    "$here/build/consumer_$kind" "$here/db_$kind"
    "$root/usr/bin/sepal" db get "$here/db_$kind" key
  done
  # Packages of others that use the library learn what to depend on.
  mkdir -p "$here/other/debian"
  printf 'Source: other\n\nPackage: other\nArchitecture: any\n' >"$here/other/debian/control"
  local admin=()
  [ -z "$root" ] || admin=("-l$libraries" "-L$root/DEBIAN/shlibs")
  (cd "$here/other" && dpkg-shlibdeps "${admin[@]}" -O "$here/consumer_pc") | grep 'libsepal0 (>= '
}

# run_programs ROOT DIRECTORY: what the other packages bring, below ROOT.
run_programs() {
  local root=$1 here=$2
  if [ -x "$here/leveldb_small_client" ]; then
    "$root/usr/bin/sepal" run "$here/leveldb_small_client" put "$here/db_leveldb" key value
    [ "$("$root/usr/bin/sepal" db get "$here/db_leveldb" key)" = value ]
  fi
  if [ -d "$root/usr/lib/python3/dist-packages/sepal" ]; then
    PYTHONPATH=$root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 - "$here/db_python" <<'PYTHON'
import importlib.metadata, sys
import sepal

with sepal.DB(sys.argv[1], create_if_missing=True) as db:
    db.put(b"key", b"value")
    assert db.get(b"key") == b"value"
assert importlib.metadata.version("sepal") == sepal.__version__
PYTHON
  fi
}

view() {
  overlay_view "$work" 1g || return
  # Mounts of this machine are not seen in it; without these programs it is of no use.
  local program
  for program in dpkg "$compiler" "$cmake"; do
    [ -x "$work/view$(readlink -f "$(command -v "$program")")" ] || return
  done
}
in_the_view() {
  local inside=$work/view/sepal-package-test
  mkdir "$inside"
  cp -r "${packages[@]}" "$work/programs/." "$source" "$inside"
  declare -f consume run_programs >"$inside/use.sh"
  cat >"$inside/run.sh" <<'INSIDE'
set -euo pipefail
cd /sepal-package-test
. ./use.sh
dpkg --force-unsafe-io -i ./*.deb
names=$(for deb in ./*.deb; do dpkg-deb -f "$deb" Package; done)
dpkg -L $names | while read -r path; do if [ ! -d "$path" ]; then echo "$path"; fi; done >files
consume "" "$PWD" "$PWD/consumer" "$1" "$2"
run_programs "" "$PWD"
dpkg --force-unsafe-io -P $names
while read -r path; do if [ -e "$path" ]; then echo "left behind: $path"; exit 1; fi; done <files
if [ -e /usr/lib/python3/dist-packages/sepal ]; then ls -R /usr/lib/python3/dist-packages/sepal; exit 1; fi
INSIDE
  quietly chroot "$work/view" bash /sepal-package-test/run.sh "$compiler" "$cmake"
}

# A package for another Python than this machine's is looked at, and no more.
if [ -n "$with_python" ]; then
  suffix=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))' || true)
  if ! grep -qF "/_sepal$suffix" "$work/python3-sepal.list"; then
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep -v '/python3-sepal_')
  fi
fi
mkdir "$work/programs"
if [ -n "$with_leveldb" ] && [ -x "$build/tests/leveldb/leveldb_small_client" ]; then
  cp "$build/tests/leveldb/leveldb_small_client" "$work/programs"
fi

if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  status=0
  export -f overlay_view view in_the_view quietly fail
  export work source compiler cmake
  list=$(declare -p packages)
  unshare --mount --propagation private bash -c "set -euo pipefail; $list; $(declare -f consume run_programs)
    view 2>\"\$work/why\" || exit 77; in_the_view" || status=$?
  case $status in
    0)
      echo "installed by dpkg in a view of this machine, used, and removed without a trace"
      exit 0
      ;;
    77) echo "no view of this machine can be had: $(head -n 1 "$work/why")" ;;
    *) fail "the installed packages could not be used" ;;
  esac
fi
mkdir "$work/root" "$work/here"
cp -r "$work/programs/." "$work/here"
for deb in "${packages[@]}"; do dpkg-deb -x "$deb" "$work/root"; done
dpkg-deb -e "$work/packages"/libsepal0_*.deb "$work/root/DEBIAN"
quietly consume "$work/root" "$work/here" "$source" "$compiler" "$cmake"
quietly run_programs "$work/root" "$work/here"
echo "unpacked and used"
