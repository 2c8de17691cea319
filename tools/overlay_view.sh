# shellcheck shell=bash
# A temporary copy-on-write view of this machine, in which packages can be installed. Sourced.
#   overlay_view DIRECTORY SIZE
# Makes it in DIRECTORY/view, with at most SIZE (as tmpfs takes it) of changes. To be called as root in a mount namespace
# of its own, with which the view goes. Fails where there are no overlay file systems.
overlay_view() {
  local layer=$1/layer view=$1/view
  mkdir "$layer" "$view" || return
  mount -t tmpfs -o "size=$2,mode=755" none "$layer" && mkdir "$layer/upper" "$layer/work" && chmod 755 "$layer/upper" &&
    mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$view" &&
    mount --rbind /dev "$view/dev" && mount --rbind /proc "$view/proc"
}
