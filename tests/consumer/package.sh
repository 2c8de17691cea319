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
[ "${#packages[@]}" -eq 3 ] || fail "three packages were to be made, and not ${#packages[@]}: ${packages[*]}"
for name in libsepal0 libsepal-dev sepal-tools; do
  deb=$(find "$work/packages" -maxdepth 1 -name "${name}_*.deb")
  [ -n "$deb" ] || fail "there is no package $name"
  for field in Package Version Architecture Section Description Depends Maintainer Installed-Size; do
    [ -n "$(dpkg-deb -f "$deb" "$field")" ] || fail "$name says nothing of $field"
  done
  dpkg-deb -c "$deb" >"$work/$name.long"
  awk '{ print $6 }' "$work/$name.long" >"$work/$name.list"
  if grep -E '^d' "$work/$name.long" | grep -v '^drwxr-xr-x root/root '; then fail "$name: directories that are closed"; fi
  if grep -vE '^.rw|^.r..r..r|^l' "$work/$name.long"; then fail "$name: files that cannot be read"; fi
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

# Made within a mount namespace of its own, the view goes with the process.
view() {
  mkdir "$work/layer" "$work/view" || return
  mount -t tmpfs -o size=1g,mode=755 none "$work/layer" && mkdir "$work/layer/upper" "$work/layer/work" &&
    chmod 755 "$work/layer/upper" &&
    mount -t overlay overlay -o "lowerdir=/,upperdir=$work/layer/upper,workdir=$work/layer/work" "$work/view" &&
    mount --rbind /dev "$work/view/dev" && mount --rbind /proc "$work/view/proc" || return
  # Mounts of this machine are not seen in it; without these programs it is of no use.
  local program
  for program in dpkg "$compiler" "$cmake"; do
    [ -x "$work/view$(readlink -f "$(command -v "$program")")" ] || return
  done
}
in_the_view() {
  local inside=$work/view/sepal-package-test
  mkdir "$inside"
  cp -r "${packages[@]}" "$source" "$inside"
  declare -f consume >"$inside/consume.sh"
  cat >"$inside/run.sh" <<'INSIDE'
set -euo pipefail
cd /sepal-package-test
. ./consume.sh
dpkg --force-unsafe-io -i ./*.deb
names="sepal-tools libsepal-dev libsepal0"
dpkg -L $names | while read -r path; do if [ ! -d "$path" ]; then echo "$path"; fi; done >files
consume "" "$PWD" "$PWD/consumer" "$1" "$2"
dpkg --force-unsafe-io -P $names
while read -r path; do if [ -e "$path" ]; then echo "left behind: $path"; exit 1; fi; done <files
INSIDE
  quietly chroot "$work/view" bash /sepal-package-test/run.sh "$compiler" "$cmake"
}

if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  status=0
  export -f view in_the_view quietly fail
  export work source compiler cmake
  list=$(declare -p packages)
  unshare --mount --propagation private bash -c "set -euo pipefail; $list; $(declare -f consume)
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
for deb in "${packages[@]}"; do dpkg-deb -x "$deb" "$work/root"; done
dpkg-deb -e "$work/packages"/libsepal0_*.deb "$work/root/DEBIAN"
quietly consume "$work/root" "$work/here" "$source" "$compiler" "$cmake"
echo "unpacked and used"
