-- Bytes of the blobs that a person's uploads, posts and profile picture keep. A blob counts while it is not due.
CREATE TABLE stored_bytes (
    owner_id bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (owner_id)
) WITH (fillfactor = 50);

CREATE FUNCTION count_blob() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    change bigint := (CASE WHEN TG_OP <> 'DELETE' AND NEW.due_at IS NULL THEN NEW.size ELSE 0 END)
        - (CASE WHEN TG_OP <> 'INSERT' AND OLD.due_at IS NULL THEN OLD.size ELSE 0 END);
    owner bigint := CASE WHEN TG_OP = 'DELETE' THEN OLD.owner_id ELSE NEW.owner_id END;
BEGIN
    IF change <> 0 THEN
        INSERT INTO stored_bytes AS known (owner_id, bytes) VALUES (owner, change)
        ON CONFLICT (owner_id) DO UPDATE SET bytes = known.bytes + excluded.bytes;
        DELETE FROM stored_bytes WHERE owner_id = owner AND bytes = 0;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER blobs_count AFTER INSERT OR DELETE OR UPDATE OF due_at, size ON blobs
FOR EACH ROW EXECUTE FUNCTION count_blob();

INSERT INTO stored_bytes (owner_id, bytes)
SELECT owner_id, sum(size) FROM blobs WHERE due_at IS NULL GROUP BY owner_id HAVING sum(size) > 0;
