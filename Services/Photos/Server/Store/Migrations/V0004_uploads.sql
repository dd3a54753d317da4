CREATE TABLE uploads (
    upload_id text PRIMARY KEY,
    owner_id bigint NOT NULL REFERENCES people,
    author_id bigint,
    number bigint
);
