-- Creates :people people with one of 500 first names and one of 5,000 last names, distributed as unevenly as real
-- names.
-- Each person can be found by both names.
SET search_path = photos;

CREATE FUNCTION pg_temp.name(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT (ARRAY['an', 'ma', 'ri', 'lo', 'pe', 'ka', 'so', 'ti', 'ben', 'hol'])[1 + n % 10]
        || (ARRAY['na', 'ria', 'chard', 'renz', 'ter', 'rin', 'phie', 'mo', 'jamin', 'ger'])[1 + n / 10 % 10]
        || CASE WHEN n < 100 THEN '' ELSE chr(97 + n / 100 % 26) || chr(97 + n / 2600 % 26) END
$$;

INSERT INTO people (application_id, user_id, full_name, created_at)
SELECT 'roost', 'found-' || n, pg_temp.name((random() * random() * 500)::integer) || ' '
    || pg_temp.name((random() * random() * 5000)::integer), now()
FROM generate_series(1, :people) AS n;

INSERT INTO people_names (application_id, name, person_id)
SELECT DISTINCT application_id, found.name, person_id
FROM people CROSS JOIN LATERAL (
    VALUES (full_name), (split_part(full_name, ' ', 2) || ' ' || split_part(full_name, ' ', 1))
) AS found (name)
WHERE user_id LIKE 'found-%';
