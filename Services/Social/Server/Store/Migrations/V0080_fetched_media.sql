-- Networks that fetch a post's files themselves read them in pieces. Uncompressed values are read without the bytes before a
-- piece.
ALTER TABLE post_media ALTER COLUMN bytes SET STORAGE EXTERNAL;
