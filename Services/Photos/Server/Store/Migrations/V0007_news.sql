-- What somebody is to be told by push: likes of one of his posts, its comments (number is the post's), or followers
-- (number 0), each group told together. Whoever claims a group tells one round of it, which nothing is added to any more, so
-- that a round which is told again after a crash says the same; what comes meanwhile is of the next one.
CREATE TABLE activity_groups (
    recipient_id bigint NOT NULL REFERENCES people,
    kind text NOT NULL CONSTRAINT activity_groups_kind CHECK (kind IN ('like', 'comment', 'follow')),
    number bigint NOT NULL,
    -- The round that new ones belong to, and the one that is being told.
    open_round bigint NOT NULL DEFAULT 1,
    delivering_round bigint,
    -- Since when something waits; NULL: nothing does.
    waiting_since timestamptz,
    due_at timestamptz NOT NULL,
    claimed_by text COLLATE "C",
    claimed_until timestamptz,
    PRIMARY KEY (recipient_id, kind, number)
) WITH (fillfactor = 70);

CREATE INDEX activity_groups_due ON activity_groups (due_at) WHERE waiting_since IS NOT NULL;

-- Who has done it; known for some days after it was told, and of followers for good, so that nobody is told of the same
-- twice.
CREATE TABLE activities (
    recipient_id bigint NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    actor_id bigint NOT NULL REFERENCES people,
    -- 0 where it is no comment.
    comment_id bigint NOT NULL,
    round bigint NOT NULL,
    written_at timestamptz NOT NULL,
    PRIMARY KEY (recipient_id, kind, number, actor_id, comment_id),
    FOREIGN KEY (recipient_id, kind, number) REFERENCES activity_groups ON DELETE CASCADE
);

CREATE INDEX activities_of_actor ON activities (actor_id);
CREATE INDEX activities_by_time ON activities (written_at) WHERE kind <> 'follow';
