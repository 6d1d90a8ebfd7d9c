#!/bin/bash
# The image of PostgreSQL runs this once, when its volume is empty: a role and a database
# for mylm, and a role for Temporal, which makes its databases itself.
set -euo pipefail

psql -v ON_ERROR_STOP=1 -U postgres -v mylm="$MYLM_PASSWORD" -v temporal="$TEMPORAL_PASSWORD" <<'SQL'
CREATE ROLE mylm LOGIN PASSWORD :'mylm';
CREATE DATABASE mylm OWNER mylm;
CREATE ROLE temporal LOGIN CREATEDB PASSWORD :'temporal';
\connect mylm
CREATE EXTENSION vector;
SQL
