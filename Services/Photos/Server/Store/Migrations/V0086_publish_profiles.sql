-- Conversations keeps a copy of names and pictures from `profile.changed` events. Users who chose them before this release
-- do not change them again, so each is published once.
INSERT INTO event_outbox (event_id, subscriber, type, key, content, written_at, due_at)
SELECT gen_random_uuid(), 'conversations', 'profile.changed', 'user:' || application_id || ':' || user_id,
       json_strip_nulls(json_build_object(
           'applicationId', application_id, 'userId', user_id, 'fullName', full_name, 'avatarPath', picture_url
       ))::text,
       clock_timestamp(), clock_timestamp()
FROM people
WHERE has_visited AND char_length(user_id) <= 255 AND (full_name <> '' OR picture_url IS NOT NULL)
ORDER BY person_id;
