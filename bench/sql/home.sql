-- The statements of photos for the first page of a home feed: the ids of the posts
-- (Server/Store/Feeds/HomeFeedStore.swift),
-- then their content as the reader sees it (Server/Store/Posts/PostStore+Summaries.swift).
SELECT array_agg(author_id) AS authors, array_agg(number) AS numbers FROM (
    WITH edges AS MATERIALIZED (
        SELECT followee_id, synced_number FROM follows JOIN people ON person_id = followee_id
        WHERE follower_id = :reader AND (synced_number IS NULL OR synced_number < last_post_number)
    ), copied AS MATERIALIZED (
        SELECT created_at, author_id, number FROM feed
        WHERE owner_id = :reader AND (created_at, author_id, number)
            < ('9999-01-01'::timestamptz, 9223372036854775807, 9223372036854775807)
        ORDER BY created_at DESC, author_id DESC, number DESC LIMIT 21
    ), merged AS MATERIALIZED (
        SELECT found.created_at, found.author_id, found.number
        FROM (
            SELECT :reader::bigint AS author_id UNION ALL SELECT followee_id FROM edges WHERE synced_number IS NULL
        ) AS authors
        CROSS JOIN LATERAL (
            SELECT created_at, author_id, number FROM posts
            WHERE posts.author_id = authors.author_id AND created_at <= '9999-01-01'::timestamptz
                AND (created_at, author_id, number)
                    < ('9999-01-01'::timestamptz, 9223372036854775807, 9223372036854775807)
            ORDER BY created_at DESC, number DESC LIMIT 21
        ) AS found
    ), entries AS MATERIALIZED (
        SELECT created_at, author_id, number FROM copied
        UNION
        SELECT created_at, author_id, number FROM merged
        ORDER BY created_at DESC, author_id DESC, number DESC LIMIT 21
    )
    SELECT feed.is_behind, entries.created_at, entries.author_id, entries.number,
           CASE WHEN posts.number IS NULL THEN 'deleted' WHEN posts.hidden_at IS NULL
               AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = :reader AND blocked_id = posts.author_id)
               AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = posts.author_id AND blocked_id = :reader)
               THEN 'visible' ELSE 'invisible' END AS state
    FROM (SELECT EXISTS (SELECT FROM edges WHERE synced_number IS NOT NULL) AS is_behind) AS feed
    LEFT JOIN entries ON true
    LEFT JOIN posts ON posts.author_id = entries.author_id AND posts.number = entries.number
    ORDER BY entries.created_at DESC, entries.author_id DESC, entries.number DESC
) AS page \gset

SELECT posts.author_id, posts.number, posts.text, posts.created_at, posts.edited_at, posts.hidden_at,
       posts.like_count, posts.comment_count, people.user_id, people.full_name, people.picture_url,
       EXISTS (
           SELECT FROM likes
           WHERE likes.author_id = posts.author_id AND likes.number = posts.number AND likes.liker_id = :reader
       ) AS is_liked,
       ARRAY(
           SELECT tag FROM post_hashtags
           WHERE post_hashtags.author_id = posts.author_id AND post_hashtags.number = posts.number
           ORDER BY ordinal
       ) AS hashtags,
       images.urls, images.thumbnail_urls, images.widths, images.heights, images.blurhashes, images.alts,
       recent.ids, recent.writers, recent.names, recent.pictures, recent.texts, recent.times, recent.edits
FROM unnest(:authors::bigint[], :numbers::bigint[]) WITH ORDINALITY AS requested (author_id, number, ordinal)
JOIN posts ON posts.author_id = requested.author_id AND posts.number = requested.number
JOIN people ON people.person_id = posts.author_id
CROSS JOIN LATERAL (
    SELECT array_agg(url ORDER BY ordinal) AS urls, array_agg(thumbnail_url ORDER BY ordinal) AS thumbnail_urls,
           array_agg(width ORDER BY ordinal) AS widths, array_agg(height ORDER BY ordinal) AS heights,
           array_agg(blurhash ORDER BY ordinal) AS blurhashes, array_agg(alt ORDER BY ordinal) AS alts
    FROM post_images
    WHERE post_images.author_id = posts.author_id AND post_images.number = posts.number
) AS images
CROSS JOIN LATERAL (
    SELECT array_agg(comment_id ORDER BY comment_id DESC) AS ids,
           array_agg(user_id ORDER BY comment_id DESC) AS writers,
           array_agg(full_name ORDER BY comment_id DESC) AS names,
           array_agg(picture_url ORDER BY comment_id DESC) AS pictures,
           array_agg(text ORDER BY comment_id DESC) AS texts,
           array_agg(created_at ORDER BY comment_id DESC) AS times,
           array_agg(edited_at ORDER BY comment_id DESC) AS edits
    FROM (
        SELECT comments.comment_id, comments.text, comments.created_at, comments.edited_at,
               writers.user_id, writers.full_name, writers.picture_url
        FROM comments JOIN people AS writers ON writers.person_id = comments.writer_id
        WHERE comments.author_id = posts.author_id AND comments.number = posts.number
            AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = :reader AND blocked_id = comments.writer_id)
            AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = comments.writer_id AND blocked_id = :reader)
        ORDER BY comments.comment_id DESC LIMIT 3
    ) AS latest
) AS recent
WHERE (posts.author_id = :reader OR posts.hidden_at IS NULL
    AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = :reader AND blocked_id = posts.author_id)
    AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = posts.author_id AND blocked_id = :reader)
    AND posts.application_id = (SELECT application_id FROM people WHERE person_id = :reader))
ORDER BY requested.ordinal;
