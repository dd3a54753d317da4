-- Who follows whom, and how far the follower's home feed has his posts.
--
-- `synced_number` is the last of the followee's posts that was copied to the follower's feed; NULL says that his posts
-- are not copied, but merged in when the feed is read: so it is with those whom very many follow. Posts are numbered
-- under a lock of their author's, so whoever sees a number sees all before it, and the mark hides none that comes later.
CREATE TABLE follows (
    follower_id bigint NOT NULL REFERENCES people,
    followee_id bigint NOT NULL REFERENCES people,
    synced_number bigint,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (follower_id, followee_id),
    CONSTRAINT follows_another CHECK (follower_id <> followee_id)
) WITH (fillfactor = 80);

-- Somebody's followers, the newest first. Those whom one follows are few enough to be put in order when asked for.
CREATE INDEX follows_of_followee ON follows (followee_id, created_at DESC, follower_id DESC);

-- What was copied to somebody's home feed. A post that is gone may still be here, until a reader comes by it; so may one
-- that is hidden, which comes back. It has no foreign keys: it is written by the thousand, and right when it is read.
CREATE TABLE feed (
    owner_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    author_id bigint NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (owner_id, created_at, author_id, number)
);

-- Somebody's posts in a feed's order, from any place in it on: one's own, and those of whom very many follow.
CREATE INDEX posts_of_author ON posts (author_id, created_at DESC, number DESC);

-- By what people are found: folded names, each of its words first in one of them. Who does not want to be found has none.
CREATE TABLE people_names (
    application_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    person_id bigint NOT NULL REFERENCES people,
    PRIMARY KEY (application_id, name, person_id)
);

CREATE INDEX people_names_of_person ON people_names (person_id);

-- False for somebody of whom only others have spoken, so that he can be blocked before he comes; nobody sees him.
ALTER TABLE people ADD COLUMN has_visited boolean NOT NULL DEFAULT true;
