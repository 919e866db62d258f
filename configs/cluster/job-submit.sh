#!/usr/bin/env bash
# Hand a sweep to a Ray cluster that runs, and go home: the driver runs on the cluster too.
#
#     export RAY_API_SERVER_ADDRESS=http://HEAD:8265
#     export BAT_HARNESS_DB=postgresql://USER:PASSWORD@HOST/DATABASE
#     configs/cluster/job-submit.sh configs/paper/comparison.yaml [more options of bat-harness run]
#
# The cluster's machines must have this project installed; this one only needs ray[default]. The same command
# again, after the job has ended, goes on where it stopped.
set -euo pipefail

sweep=${1:?Name a sweep: job-submit.sh configs/paper/comparison.yaml}
shift
: "${RAY_API_SERVER_ADDRESS:?Name the cluster, such as http://HEAD:8265}"
: "${BAT_HARNESS_DB:?Name a PostgreSQL database that the cluster reaches}"
export BAT_HARNESS_DB
export RAY_AUTH_MODE=${RAY_AUTH_MODE:-token} # the token itself: ~/.ray/auth_token, or RAY_AUTH_TOKEN_PATH

# The sweep alone travels; a working folder may not be large.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$sweep" "$folder/"

# What these are set to here, workers and driver see there.
variables='["BAT_HARNESS_DB", "BAT_HARNESS_CACHE", "HF_HOME", "HF_HUB_OFFLINE", "HF_TOKEN"]'
environment=$(python3 -c "import json, os
print(json.dumps({'env_vars': {name: os.environ[name] for name in $variables if name in os.environ}}))")

ray job submit --no-wait --working-dir "$folder" --runtime-env-json "$environment" -- \
    bat-harness run "$(basename "$sweep")" --address auto "$@"
