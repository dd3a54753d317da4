-- The language of texts for the user, a BCP 47 tag in canonical case; null where none is known.
ALTER TABLE accounts
    ADD COLUMN language text COLLATE "C",
    ADD CONSTRAINT accounts_language_length CHECK (char_length(language) BETWEEN 2 AND 35);
