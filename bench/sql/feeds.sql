-- Creates :people people with :posts posts in turn, a tenth of a second apart, up to now. The person :reader follows
-- :followees of them and has an up-to-date home feed.
SET search_path = photos;

INSERT INTO people (application_id, user_id, full_name, created_at)
SELECT 'roost', 'bench-' || n, 'Person' || n || ' Name' || n % 5000, now() FROM generate_series(1, :people) AS n;

INSERT INTO people_names (application_id, name, person_id)
SELECT application_id, lower(found.name), person_id
FROM people CROSS JOIN LATERAL (
    VALUES (full_name), (split_part(full_name, ' ', 2) || ' ' || split_part(full_name, ' ', 1))
) AS found (name)
WHERE user_id LIKE 'bench-%';

INSERT INTO posts (author_id, number, application_id, text, created_at)
SELECT first.person_id + n % :people, 1 + n / :people, 'roost', 'What there is to be seen on this image, ' || n,
       now() - (:posts - n) * interval '100 milliseconds'
FROM (SELECT min(person_id) AS person_id FROM people WHERE user_id LIKE 'bench-%') AS first,
     generate_series(0, :posts - 1) AS n;

INSERT INTO post_images (author_id, number, ordinal, url, thumbnail_url, width, height, blurhash)
SELECT author_id, number, 1, '/media/' || author_id || '-' || number, '/media/' || author_id || '-' || number || '-small',
       1280, 960, 'LEHV6nWB2yk8pyo0adR*.7kCMdnj'
FROM posts WHERE text LIKE 'What there is%';

UPDATE people SET last_post_number = made.number, post_count = made.number, last_posted_at = made.at
FROM (SELECT author_id, max(number) AS number, max(created_at) AS at FROM posts GROUP BY author_id) AS made
WHERE person_id = author_id;

INSERT INTO follows (follower_id, followee_id, synced_number, created_at)
SELECT :reader, person_id, last_post_number, now() FROM people
WHERE user_id LIKE 'bench-%' ORDER BY md5(user_id) LIMIT :followees;

INSERT INTO feed (owner_id, created_at, author_id, number)
SELECT follower_id, posts.created_at, author_id, number FROM follows JOIN posts ON author_id = followee_id
WHERE follower_id = :reader ORDER BY 1, 2, 3, 4;

UPDATE people SET following_count = :followees WHERE person_id = :reader;
UPDATE people SET follower_count = 1 WHERE person_id IN (SELECT followee_id FROM follows WHERE follower_id = :reader);
