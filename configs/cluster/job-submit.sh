#!/usr/bin/env bash
# Submit a sweep to a running Ray cluster. The driver runs on the cluster too, so you can log out.
#
#     export RAY_API_SERVER_ADDRESS=http://HEAD:8265
#     export BAT_HARNESS_DB=postgresql://USER:PASSWORD@HOST/DATABASE
#     configs/cluster/job-submit.sh configs/paper/comparison.yaml [more options of bat-harness run]
#
# The cluster's machines must have this project installed; this machine only needs ray[default]. When the job
# has ended, run the same command again to resume the sweep.
set -euo pipefail

sweep=${1:?Give a sweep: job-submit.sh configs/paper/comparison.yaml}
shift
: "${RAY_API_SERVER_ADDRESS:?Set it to the address of the cluster, such as http://HEAD:8265}"
: "${BAT_HARNESS_DB:?Set it to a PostgreSQL database that the cluster can reach}"
export BAT_HARNESS_DB
export RAY_AUTH_MODE=${RAY_AUTH_MODE:-token} # the token itself: ~/.ray/auth_token, or RAY_AUTH_TOKEN_PATH

# Only the sweep is uploaded, because Ray limits the size of the working folder.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$sweep" "$folder/"

# These variables are passed on to the driver and the workers.
variables='["BAT_HARNESS_DB", "BAT_HARNESS_CACHE", "HF_HOME", "HF_HUB_OFFLINE", "HF_TOKEN"]'
environment=$(python3 -c "import json, os
print(json.dumps({'env_vars': {name: os.environ[name] for name in $variables if name in os.environ}}))")

ray job submit --no-wait --working-dir "$folder" --runtime-env-json "$environment" -- \
    bat-harness run "$(basename "$sweep")" --address auto "$@"
