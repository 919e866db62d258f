#!/usr/bin/env bash
# A Ray cluster by hand, of machines that reach each other and have this project installed.
#
#     configs/cluster/start-by-hand.sh head            on the first machine
#     configs/cluster/start-by-hand.sh join HOST       on each other one; HOST is the first
#     bat-harness run SWEEP --address auto             on any of them
#     ray stop                                         on each, at the end
#
# Whoever has the token may run programs on the cluster. `head` makes one in ~/.ray/auth_token; copy that file
# to the same place on the other machines first. Where homes are shared it is there already.
set -euo pipefail

export RAY_AUTH_MODE=token
port=${RAY_PORT:-6379}

# Workers see the environment of `ray start`, not that of `bat-harness run`: set HF_HOME, HF_TOKEN and
# BAT_HARNESS_CACHE here, or in the profile of the shell.
case "${1:-}" in
head)
    (umask 077 && ray get-auth-token --generate >/dev/null)
    ray start --head --port="$port" --dashboard-host=127.0.0.1
    ;;
join)
    ray start --address="${2:?Name the machine of the head: start-by-hand.sh join HOST}:$port"
    ;;
*)
    echo "usage: start-by-hand.sh head, or: start-by-hand.sh join HOST" >&2
    exit 2
    ;;
esac
