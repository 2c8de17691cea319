#!/usr/bin/env bash
# A node of Litecoin's on a chain of its own: the chain state, two indexes and the list of blocks are databases.
. "$(dirname "$0")/common.sh"

port=$((20000 + RANDOM % 20000))
same=(-regtest -datadir="$PWD/data" -rpcport="$port" -rpcuser=test -rpcpassword=test)
ask() { litecoin-cli "${same[@]}" "$@"; }
start() {
  mkdir -p "$PWD/data"
  on litecoind "${same[@]}" -server -listen=0 -connect=0 -dnsseed=0 -txindex -blockfilterindex -fallbackfee=0.001 -daemon \
    -pid="$PWD/process" >started 2>&1 || { cat started; return 1; }
  local i
  # The indexes follow the chain.
  for ((i = 0; i < 300; i++)); do
    if ask getindexinfo >indexes 2>&1 && ! grep -q '"synced": false' indexes; then return; fi
    sleep 0.2
  done
  echo "the node does not answer"
  return 1
}
node() { cat process; }
gone() { while kill -0 "$1" 2>/dev/null; do sleep 0.1; done; }
stop() {
  local process
  process=$(node)
  ask stop >/dev/null
  gone "$process"
}
kill_it() {
  local process
  process=$(node)
  kill -KILL "$process"
  gone "$process"
  rm process
}
trap 'if [ -f process ]; then kill -KILL "$(node)" || true; fi' EXIT

# What is in the databases: unspent outputs, transactions, filters of blocks.
show() {
  echo "> $*"
  ask gettxoutsetinfo | grep -v disk_size
  local height hash
  for height in $(seq 5 5 "$(ask getblockcount)"); do
    hash=$(ask getblockhash "$height")
    ask getblockfilter "$hash"
    ask getrawtransaction "$(ask getblock "$hash" | grep -A1 '"tx"' | sed -n '2s/[ ",]//gp')"
  done | sha256sum
  ask verifychain 4 0
}

if [ "$1" = prepare ]; then
  cd "$shared"
  same=(-regtest -datadir="$PWD/data" -rpcport="$port" -rpcuser=test -rpcpassword=test)
  start
  ask -named createwallet wallet_name=purse >/dev/null
  address=$(ask getnewaddress)
  ask generatetoaddress 110 "$address" >/dev/null
  for block in $(seq 10); do
    for amount in 1 2 3; do ask sendtoaddress "$(ask getnewaddress)" "$amount.$block" >/dev/null; done
    ask generatetoaddress 2 "$address" >/dev/null
  done
  for height in $(seq "$(ask getblockcount)"); do ask getblock "$(ask getblockhash "$height")" 0; done >blocks
  stop
  exit
fi
start
while read -r block; do ask -stdin submitblock <<<"$block"; done <"$shared/blocks"
show "blocks that were submitted"
stop
start
show "started again"
ask invalidateblock "$(ask getblockhash 101)"
show "blocks taken back"
ask reconsiderblock "$(ask getblockhash 100)" || true
kill_it
start
show "killed and started again"
stop

rm -rf data
cp -r "$shared/data" data
for directory in blocks/index chainstate indexes/txindex indexes/blockfilter/basic/db; do
  REFUSAL=data/regtest/debug.log bring_over "data/regtest/$directory" litecoind "${same[@]}" -server -listen=0 -connect=0 \
    -txindex -blockfilterindex
done
start
show "a node of LevelDB's"
ask loadwallet purse
ask getbalance
stop
