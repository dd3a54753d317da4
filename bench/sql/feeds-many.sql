-- Creates a person with :posts posts and returns their userId. Makes all of `bench-…` follow the person :followed.
SET search_path = photos;

INSERT INTO people (application_id, user_id, full_name, created_at, post_count, last_post_number, last_posted_at)
VALUES ('roost', gen_random_uuid()::text, 'Prolific', now(), :posts, :posts, now());

INSERT INTO posts (author_id, number, application_id, text, created_at)
SELECT person_id, n, 'roost', 'One of very many, ' || n, last_posted_at - (:posts - n) * interval '13 seconds'
FROM people, generate_series(1, :posts) AS n WHERE full_name = 'Prolific';

INSERT INTO follows (follower_id, followee_id, synced_number, created_at)
SELECT person_id, :followed, 0, now() FROM people WHERE user_id LIKE 'bench-%';

UPDATE people SET follower_count = (SELECT count(*) FROM follows WHERE followee_id = :followed)
WHERE person_id = :followed;

SELECT user_id FROM people WHERE full_name = 'Prolific';
