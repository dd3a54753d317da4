-- The language of each user, as auth publishes it; a user without a row has not chosen any.
CREATE TABLE user_languages (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- A BCP 47 tag in canonical case.
    language text COLLATE "C" NOT NULL,
    CONSTRAINT user_languages_pkey PRIMARY KEY (application_id, user_id),
    CONSTRAINT user_languages_language_length CHECK (char_length(language) BETWEEN 2 AND 35)
);

-- Of a device: a language instead of its user's, and whether the app translates texts itself (APNs loc-key).
ALTER TABLE devices
    ADD COLUMN language text COLLATE "C",
    ADD COLUMN loc_keys boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT devices_language_length CHECK (char_length(language) BETWEEN 2 AND 35);

-- The keys and arguments of texts from the message catalogues, as JSON; title and body hold the same in English, for the
-- previous release, which writes none of these columns.
ALTER TABLE notifications ADD COLUMN title_message text, ADD COLUMN body_message text;
