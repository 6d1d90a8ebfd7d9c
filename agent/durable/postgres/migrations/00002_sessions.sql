-- The sessions: what a journal's file holds, see journal.Store.

-- +goose Up
CREATE TABLE sessions (
	tenant  text        NOT NULL DEFAULT current_setting('mylm.tenant'),
	id      text        NOT NULL,
	created timestamptz NOT NULL,
	changed timestamptz NOT NULL,
	title   text        NOT NULL,
	labels  jsonb       NOT NULL,
	state   text        NOT NULL,
	size    bigint      NOT NULL, -- of the entries
	last    integer     NOT NULL, -- entry
	version integer     NOT NULL, -- of the entries
	PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_changed ON sessions (tenant, changed DESC, id);

-- An entry is as it was written: jsonb would change it.
CREATE TABLE entries (
	tenant  text    NOT NULL DEFAULT current_setting('mylm.tenant'),
	session text    NOT NULL,
	seq     integer NOT NULL,
	data    json    NOT NULL,
	PRIMARY KEY (tenant, session, seq),
	FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
CREATE TABLE pictures (
	tenant  text  NOT NULL DEFAULT current_setting('mylm.tenant'),
	session text  NOT NULL,
	hash    text  NOT NULL,
	data    bytea NOT NULL,
	PRIMARY KEY (tenant, session, hash),
	FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);

-- +goose StatementBegin
DO $$
DECLARE name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['sessions', 'entries', 'pictures'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (tenant = nullif(current_setting(''mylm.tenant''), ''''))', name);
	END LOOP;
END $$;
-- +goose StatementEnd
