#!/bin/sh
# Makes the namespace of the runs, unless it is there. What has ended is kept for three days.
set -eu

temporal operator namespace describe --namespace "$MYLM_TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
	temporal operator namespace create --retention 72h --namespace "$MYLM_TEMPORAL_NAMESPACE"
