#!/bin/sh
# Makes Temporal's databases, or brings them to the version of this image. It can be run
# again at any time.
set -eu

for database in temporal temporal_visibility; do
	schema=/etc/temporal/schema/postgresql/v12/${database#temporal_}/versioned
	for action in create-database "setup-schema --version 0.0" "update-schema --schema-dir $schema"; do
		# shellcheck disable=SC2086
		temporal-sql-tool --plugin postgres12 --endpoint postgres --port 5432 --user temporal --database "$database" $action
	done
done
