-- Networks that fetch a post's files themselves read them in pieces. Uncompressed values are read without the bytes before a
-- piece.
ALTER TABLE post_media ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- For the deletion of an application, and for the posts at once of a user whose files a network fetches.
CREATE INDEX posts_of_application ON posts (application_id, user_id);
CREATE INDEX authorizations_of_application ON authorizations (application_id);
