-- Not validated: a row of before that is the wrong way round is set aside by its reader, and does not stop a release.
ALTER TABLE outbox ADD CONSTRAINT outbox_seqs_ordered CHECK (to_seq >= from_seq) NOT VALID;
