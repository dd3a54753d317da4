-- The operator's list of official communities, beside the communities that broadcasts were seen to come from. A removed
-- community stays as a hidden row, so that the next broadcast from there does not list it again.
ALTER TABLE broadcast_communities
    ADD COLUMN is_official boolean NOT NULL DEFAULT false,
    ADD COLUMN is_hidden boolean NOT NULL DEFAULT false;

-- Reddit's list of 2021 (its wiki, r/pan).
INSERT INTO broadcast_communities (normalized_name, name, is_official)
SELECT lower(name), name, true
FROM unnest(ARRAY[
    'AnimalsOnReddit', 'distantsocializing', 'GlamourSchool', 'HeadlineWorthy', 'lgbt', 'pan', 'readwithme',
    'RedditInTheKitchen', 'RedditMasterClasses', 'RedditSessions', 'RedditSets', 'RedditSweats', 'ShortCircuit',
    'TableTopLive', 'TalentShow', 'TheArtistStudio', 'TheGamerLounge', 'TheYouShow', 'WhereInTheWorld'
]) AS known (name)
ON CONFLICT ON CONSTRAINT broadcast_communities_pkey DO UPDATE SET is_official = true;
