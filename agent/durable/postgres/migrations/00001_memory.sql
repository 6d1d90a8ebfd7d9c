-- The memory: the tables and columns are those of mylm's file, see memory.Backend, each
-- with the tenant that a row belongs to. One that was released never changes.

-- +goose Up
CREATE EXTENSION IF NOT EXISTS vector;

-- SQLite's, as far as the memory's statements use it.
CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS 'SELECT json_array_elements_text(list::json)';

CREATE TABLE documents (
	tenant        text   NOT NULL DEFAULT current_setting('mylm.tenant'),
	num           bigint NOT NULL, -- the order of recording, and the name in the index
	id            text   NOT NULL,
	hash          bytea  NOT NULL,
	kind          text   NOT NULL,
	role          text   NOT NULL,
	speaker       text   NOT NULL,
	session       text   NOT NULL,
	project       text   NOT NULL,
	source        text   NOT NULL,
	tags          text   NOT NULL, -- JSON
	time          bigint NOT NULL, -- microseconds since 1970
	last          bigint NOT NULL,
	count         bigint NOT NULL,
	superseded_by bigint,
	text          text   NOT NULL,
	PRIMARY KEY (tenant, num),
	UNIQUE (tenant, id),
	FOREIGN KEY (tenant, superseded_by) REFERENCES documents (tenant, num) ON DELETE SET NULL (superseded_by)
);
CREATE INDEX documents_hash ON documents (tenant, hash);
CREATE INDEX documents_session ON documents (tenant, session, num);
CREATE INDEX documents_superseded ON documents (tenant, superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE state (
	tenant   text    PRIMARY KEY DEFAULT current_setting('mylm.tenant'),
	changes  bigint  NOT NULL DEFAULT 0, -- goes up with every change but a document more
	analyser integer NOT NULL DEFAULT 0  -- the version of the analysis that the segments hold
);
CREATE TABLE scopes (
	tenant  text    NOT NULL DEFAULT current_setting('mylm.tenant'),
	num     integer NOT NULL,
	session text    NOT NULL, -- '' for the project itself
	project text    NOT NULL,
	PRIMARY KEY (tenant, num),
	UNIQUE (tenant, session, project)
);
CREATE TABLE speakers (
	tenant text    NOT NULL DEFAULT current_setting('mylm.tenant'),
	num    integer NOT NULL,
	name   text    NOT NULL,
	PRIMARY KEY (tenant, num),
	UNIQUE (tenant, name)
);
CREATE TABLE segments (
	tenant text   NOT NULL DEFAULT current_setting('mylm.tenant'),
	num    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	first  bigint NOT NULL, -- document
	last   bigint NOT NULL,
	weight bigint NOT NULL,
	facts  bytea  NOT NULL,
	UNIQUE (tenant, first)
);
CREATE TABLE chunks (
	segment bigint NOT NULL REFERENCES segments ON DELETE CASCADE,
	term    text   NOT NULL COLLATE "C", -- the first in it
	data    bytea  NOT NULL,
	tenant  text   NOT NULL DEFAULT current_setting('mylm.tenant'),
	PRIMARY KEY (segment, term)
);

CREATE TABLE embedders (
	tenant    text    NOT NULL DEFAULT current_setting('mylm.tenant'),
	num       bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name      text    NOT NULL,
	dimension integer NOT NULL,
	through   bigint  NOT NULL, -- every document up to here has its vector
	UNIQUE (tenant, name)
);
-- The first vector of each length makes an HNSW index of those, see Backend.PutVector.
CREATE TABLE vectors (
	tenant   text    NOT NULL DEFAULT current_setting('mylm.tenant'),
	num      bigint  NOT NULL,
	embedder bigint  NOT NULL REFERENCES embedders ON DELETE CASCADE,
	data     halfvec NOT NULL,
	PRIMARY KEY (embedder, num),
	FOREIGN KEY (tenant, num) REFERENCES documents (tenant, num) ON DELETE CASCADE
);
CREATE INDEX vectors_num ON vectors (tenant, num);

-- A statement sees and changes the rows of the tenant that its transaction names, and
-- none where it names none: the setting is missing, or empty on a connection that has had
-- a tenant. FORCE: so do those of the owner of the tables.
-- +goose StatementBegin
DO $$
DECLARE name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['documents', 'state', 'scopes', 'speakers', 'segments', 'chunks', 'embedders', 'vectors'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (tenant = nullif(current_setting(''mylm.tenant''), ''''))', name);
	END LOOP;
END $$;
-- +goose StatementEnd
