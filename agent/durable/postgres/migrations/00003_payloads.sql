-- What a workflow engine keeps outside its histories, see Payloads.

-- +goose Up
CREATE TABLE payloads (
	tenant text        NOT NULL DEFAULT current_setting('mylm.tenant'),
	key    text        NOT NULL COLLATE "C",
	stored timestamptz NOT NULL DEFAULT now(), -- the last time
	data   bytea       NOT NULL,
	PRIMARY KEY (tenant, key)
);
CREATE INDEX payloads_stored ON payloads (tenant, stored);
ALTER TABLE payloads ENABLE ROW LEVEL SECURITY;
ALTER TABLE payloads FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON payloads USING (tenant = nullif(current_setting('mylm.tenant'), ''));
