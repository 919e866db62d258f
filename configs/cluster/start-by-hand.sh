#!/usr/bin/env bash
# Start a Ray cluster by hand, on machines that can reach each other and have this project installed.
#
#     configs/cluster/start-by-hand.sh head            on the first machine
#     configs/cluster/start-by-hand.sh join HOST       on every other machine; HOST is the first
#     bat-harness run SWEEP --address auto             on any of them
#     ray stop                                         on each, at the end
#
# Anyone with the token can run programs on the cluster. `head` writes it to ~/.ray/auth_token; copy that file
# to the same path on the other machines first, unless they share home folders.
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
    ray start --address="${2:?Give the first machine: start-by-hand.sh join HOST}:$port"
    ;;
*)
    echo "usage: start-by-hand.sh head, or: start-by-hand.sh join HOST" >&2
    exit 2
    ;;
esac
