#!/usr/bin/env bash
# A game server whose world, players and passwords are in databases.
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)

serve() {
  local status=0
  echo "> $*"
  # Beside its time, each line says what happened; the banner and the address say nothing.
  on /usr/lib/minetest/minetestserver --config "$shared/conf" --logfile log --world world "$@" >said 2>&1 || status=$?
  sed -nE 's/^.*(LOOK |ERROR\[|Successfully )/\1/p' said
  echo "exit $status"
}
contents() {
  sqlite3 world/map.sqlite 'select pos, hex(data) from blocks order by pos' | sha256sum
  sqlite3 world/map.sqlite 'select count(*) from blocks'
  sqlite3 world/auth.sqlite 'select name, password, privilege from auth left join user_privileges using (id) order by 1, 3'
  sort world/players/*
}
to_leveldb() {
  serve --migrate leveldb
  serve --migrate-players leveldb
  serve --migrate-auth leveldb
}
and_back() {
  rm -rf world/map.sqlite world/auth.sqlite world/players
  serve --migrate sqlite3
  serve --migrate-players files
  serve --migrate-auth sqlite3
}

if [ "$1" = prepare ]; then
  cd "$shared"
  # Nothing flows, so that the world stays as it is.
  printf '%s\n' 'mg_name = v7' 'fixed_map_seed = 42' 'server_announce = false' "port = $((20000 + RANDOM % 20000))" \
    'bind_address = 127.0.0.1' 'liquid_update = 100000' >conf
  mkdir -p world/worldmods/look world/players
  printf 'name = look\n' >world/worldmods/look/mod.conf
  cp "$here/minetest_look.lua" world/worldmods/look/init.lua
  printf '%s\n' 'gameid = devtest' 'backend = sqlite3' 'player_backend = files' 'auth_backend = sqlite3' \
    'mod_storage_backend = sqlite3' >world/world.mt
  printf '%s\n' 'breath = 9' 'hp = 17' 'name = ada' 'pitch = 12' 'position = (10,20,30)' 'version = 1' 'yaw = 34' \
    PlayerArgsEnd 'List main 2' 'Width 0' 'Item basenodes:stone 12' Empty EndInventoryList EndInventory >world/players/ada
  serve
  cp -r world in_sqlite
  to_leveldb
  mv world in_leveldb
  exit
fi
cp -r "$shared/in_sqlite" world
contents
to_leveldb
and_back
contents
to_leveldb
serve
serve
rm -rf world
cp -r "$shared/in_leveldb" world
for database in map players auth; do
  bring_over "world/$database.db" /usr/lib/minetest/minetestserver --config "$shared/conf" --logfile log --world world
done
serve
serve
and_back
