-- Linked accounts of users on social networks.
CREATE TABLE accounts (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    network text COLLATE "C" NOT NULL,
    -- The account's id on its network; NULL if the network has not reported one.
    native_id text COLLATE "C",
    username text,
    -- The server of the account, on networks with several servers.
    instance text,
    -- Further values that the network's connector needs, such as scopes, as a JSON object of strings.
    details jsonb NOT NULL DEFAULT '{}',
    -- AES-256-GCM; the associated data is the owner and the network, so that a row copied to another owner cannot be
    -- decrypted.
    tokens bytea NOT NULL,
    -- The key that encrypted the tokens.
    key_id text COLLATE "C" NOT NULL,
    -- Counts the changes of the tokens. A renewal replaces only the tokens that it renewed, so that older tokens never
    -- overwrite those of a concurrent renewal or a new link.
    version bigint NOT NULL DEFAULT 1,
    -- When the access token expires.
    expires_at timestamptz,
    -- linked; expired (a renewal may help); reauthenticate (the user must link the account again).
    state text COLLATE "C" NOT NULL DEFAULT 'linked',
    linked_at timestamptz NOT NULL,
    -- The end of the claim of the instance that renews the tokens.
    renewing_until timestamptz,
    -- The picture of the account on its network.
    avatar_url text,
    CONSTRAINT accounts_pkey PRIMARY KEY (application_id, user_id, network),
    CONSTRAINT accounts_state CHECK (state IN ('linked', 'expired', 'reauthenticate'))
);

-- Finds the accounts that a webhook is about.
CREATE INDEX accounts_network_native_id ON accounts (network, native_id);
-- Key rotation searches for rows that a previous key encrypted.
CREATE INDEX accounts_key_id ON accounts (key_id);

-- OAuth authorizations in progress: users on a network's page, and users whose client has not used the one-time code.
CREATE TABLE authorizations (
    -- SHA-256 of the state parameter.
    state_hash bytea NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    network text COLLATE "C" NOT NULL,
    redirect_url text NOT NULL,
    -- The state of the authorization, encrypted like accounts.tokens.
    payload bytea NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    -- SHA-256 of the one-time code; NULL until the network's callback.
    code_hash bytea,
    ends_at timestamptz NOT NULL,
    CONSTRAINT authorizations_pkey PRIMARY KEY (state_hash),
    CONSTRAINT authorizations_code_key UNIQUE (code_hash)
);

CREATE INDEX authorizations_ending ON authorizations (ends_at);
-- For the deletion of an application.
CREATE INDEX authorizations_of_application ON authorizations (application_id);

-- Posts to several networks, published at once or later. A row is kept for two days after due_at, so that its outcome
-- can be read.
CREATE TABLE posts (
    post_id uuid NOT NULL,
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- Text, location and networks, as the client sent them.
    draft jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    is_scheduled boolean NOT NULL,
    is_done boolean NOT NULL DEFAULT false,
    -- The end of the claim of the instance that publishes the post.
    claimed_until timestamptz,
    -- The network's id of the thread that a reply belongs to; NULL in other posts.
    thread text,
    CONSTRAINT posts_pkey PRIMARY KEY (post_id)
);

CREATE INDEX posts_due ON posts (due_at) WHERE is_scheduled AND NOT is_done;
CREATE INDEX posts_of_user ON posts (application_id, user_id, due_at) WHERE is_scheduled;
CREATE INDEX posts_old ON posts (due_at);
-- For the deletion of an application, and for a user's immediate posts whose files a network fetches.
CREATE INDEX posts_of_application ON posts (application_id, user_id);

-- Files of scheduled posts, and of posts whose files a network fetches.
CREATE TABLE post_media (
    post_id uuid NOT NULL,
    element text COLLATE "C" NOT NULL,
    media_type text NOT NULL,
    alt text,
    bytes bytea NOT NULL,
    CONSTRAINT post_media_pkey PRIMARY KEY (post_id, element),
    CONSTRAINT post_media_post_id_fkey FOREIGN KEY (post_id) REFERENCES posts ON DELETE CASCADE,
    CONSTRAINT post_media_element CHECK (element IN ('photo', 'video'))
);

-- Networks fetch files in ranges. A range of an uncompressed value is read without the bytes before the range.
ALTER TABLE post_media ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- The part of a post on one network. The state is `sent` before the request that publishes the post. So after a crash,
-- the post is looked up on the network before it is sent again.
CREATE TABLE publications (
    post_id uuid NOT NULL,
    network text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL DEFAULT 'waiting',
    -- The connector's state of media that it has uploaded to the network.
    prepared jsonb,
    result jsonb,
    -- The number of lookups that did not find the post; the pause between lookups doubles.
    lookups integer NOT NULL DEFAULT 0,
    changed_at timestamptz NOT NULL,
    -- When the request that publishes the post was last sent. It is not repeated while it may be in progress, even if
    -- the post is not visible.
    sent_at timestamptz,
    -- For each element of the post, whether the network accepts it, so that later readers get the same `parts` as the
    -- client that posted. NULL for replies.
    parts jsonb,
    CONSTRAINT publications_pkey PRIMARY KEY (post_id, network),
    CONSTRAINT publications_post_id_fkey FOREIGN KEY (post_id) REFERENCES posts ON DELETE CASCADE,
    CONSTRAINT publications_state CHECK (state IN ('waiting', 'sent', 'unknown', 'done'))
);

CREATE INDEX publications_unknown ON publications (changed_at) WHERE state IN ('sent', 'unknown');

-- The last change number of each user. A change takes its number under the lock of this row, so the numbers of a user
-- have no gaps, and no lower number is committed later.
CREATE TABLE change_logs (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    last_number bigint NOT NULL DEFAULT 0,
    CONSTRAINT change_logs_pkey PRIMARY KEY (application_id, user_id)
);

-- Changes on the users' networks, in the order in which they were found. Rows are kept for as long as a stream can be
-- resumed.
CREATE TABLE changes (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    -- created, updated, deleted; reauthenticate: the account's tokens are no longer valid (list is empty, item_id names
    -- the account).
    kind text COLLATE "C" NOT NULL,
    list text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    -- NULL for deleted items.
    item jsonb,
    happened_at timestamptz NOT NULL,
    -- Whether the change has yet to be delivered to push, and the end of the claim of the instance that delivers it.
    needs_push boolean NOT NULL,
    claimed_until timestamptz,
    -- Whether push shows an alert; updates and deletions are delivered without one.
    is_alert boolean NOT NULL DEFAULT true,
    CONSTRAINT changes_pkey PRIMARY KEY (application_id, user_id, number),
    CONSTRAINT changes_kind CHECK (kind IN ('created', 'updated', 'deleted', 'reauthenticate'))
);

CREATE INDEX changes_needing_push ON changes (happened_at) WHERE needs_push;
CREATE INDEX changes_old ON changes (happened_at);

-- Lists of accounts that are polled, with their content at the last poll.
CREATE TABLE polled_lists (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    network text COLLATE "C" NOT NULL,
    list text COLLATE "C" NOT NULL,
    -- The newest items: id to time and hash of the visible content.
    seen jsonb NOT NULL DEFAULT '{}',
    -- Whether the list was polled before. The first poll publishes no changes.
    has_baseline boolean NOT NULL DEFAULT false,
    due_at timestamptz NOT NULL,
    -- The earliest time of the next poll that the network's rate limit allows, even for urgent polls.
    not_before timestamptz,
    -- When the last poll began.
    polled_at timestamptz,
    -- Seconds until the next poll; shorter while items change.
    pause double precision NOT NULL,
    CONSTRAINT polled_lists_pkey PRIMARY KEY (application_id, user_id, network, list),
    CONSTRAINT polled_lists_account FOREIGN KEY (application_id, user_id, network) REFERENCES accounts ON DELETE CASCADE
);

CREATE INDEX polled_lists_due ON polled_lists (network, due_at);

-- The polls that remain for each network's application key, shared by all instances; refilled at a rate per hour.
CREATE TABLE poll_budgets (
    network text COLLATE "C" NOT NULL,
    polls double precision NOT NULL,
    filled_at timestamptz NOT NULL,
    CONSTRAINT poll_budgets_pkey PRIMARY KEY (network)
);

-- Users who receive changes at once: by an open stream, which an instance confirms periodically, or on a push device.
-- The lists of these users are polled without backoff.
CREATE TABLE user_presence (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    has_device boolean NOT NULL DEFAULT false,
    stream_until timestamptz,
    CONSTRAINT user_presence_pkey PRIMARY KEY (application_id, user_id)
);

CREATE INDEX user_presence_stream_until_idx ON user_presence (stream_until) WHERE NOT has_device;

-- Hashes of received webhook deliveries, so that a repeated delivery has no effect.
CREATE TABLE webhook_deliveries (
    network text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    taken_at timestamptz NOT NULL,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (network, hash)
);

CREATE INDEX webhook_deliveries_old ON webhook_deliveries (taken_at);

-- Live videos as of the last poll, and those that were live within the last 30 days. The row records that a stream was
-- announced, also for instances that have just started.
CREATE TABLE broadcasts (
    broadcast_id text COLLATE "C" NOT NULL,
    is_live boolean NOT NULL,
    watchers integer NOT NULL,
    -- The broadcast in the form that clients receive.
    content jsonb NOT NULL,
    first_seen_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    -- When the followers were notified, or the broadcast was found to be too old for that.
    notified_at timestamptz,
    CONSTRAINT broadcasts_pkey PRIMARY KEY (broadcast_id)
);

CREATE INDEX broadcasts_live ON broadcasts (watchers DESC, broadcast_id) WHERE is_live;
CREATE INDEX broadcasts_seen ON broadcasts (seen_at);

-- The schedule of the polls for broadcasts. One row; the instance that updates it first runs the poll.
CREATE TABLE broadcast_poll (
    is_only boolean NOT NULL DEFAULT true,
    -- Counts the polls; the response to an earlier poll is discarded.
    round bigint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT '-infinity',
    -- The last poll with a response.
    answered_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    CONSTRAINT broadcast_poll_pkey PRIMARY KEY (is_only),
    CONSTRAINT broadcast_poll_only CHECK (is_only)
);

INSERT INTO broadcast_poll DEFAULT VALUES;

-- Communities of broadcasts: the operator's list of official communities, and communities in which a broadcast was
-- found.
CREATE TABLE broadcast_communities (
    normalized_name text COLLATE "C" NOT NULL,
    name text NOT NULL,
    icon text,
    is_official boolean NOT NULL DEFAULT false,
    -- A removed community stays as a hidden row, so that the next broadcast does not list it again.
    is_hidden boolean NOT NULL DEFAULT false,
    CONSTRAINT broadcast_communities_pkey PRIMARY KEY (normalized_name)
);

-- Reddit's list of 2021 (its wiki, r/pan).
INSERT INTO broadcast_communities (normalized_name, name, is_official)
SELECT lower(name), name, true
FROM unnest(ARRAY[
    'AnimalsOnReddit', 'distantsocializing', 'GlamourSchool', 'HeadlineWorthy', 'lgbt', 'pan', 'readwithme',
    'RedditInTheKitchen', 'RedditMasterClasses', 'RedditSessions', 'RedditSets', 'RedditSweats', 'ShortCircuit',
    'TableTopLive', 'TalentShow', 'TheArtistStudio', 'TheGamerLounge', 'TheYouShow', 'WhereInTheWorld'
]) AS known (name);

-- When the list of broadcasters that a user follows on Reddit is imported again.
CREATE TABLE follow_imports (
    application_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    due_at timestamptz NOT NULL,
    CONSTRAINT follow_imports_pkey PRIMARY KEY (application_id, user_id)
);
