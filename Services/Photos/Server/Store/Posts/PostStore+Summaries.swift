import Foundation
import PhotosAPI
import Postgres
import Wire

extension PostStore {
    static var recentComments: Int { 3 }

    /// Returns those posts that the viewer sees, in the order of the keys, with images, hashtags and comments, by one
    /// statement.
    func summaries(of keys: [PostKey], for viewer: Person.ID) async throws -> [Post] {
        try await summaries(of: keys, for: .person(viewer))
    }

    func summaries(of keys: [PostKey], for viewer: Viewer) async throws -> [Post] {
        guard !keys.isEmpty else { return [] }
        return try await db.all(
            """
            SELECT posts.author_id, posts.number, posts.text, posts.created_at, posts.edited_at, posts.hidden_at,
                   posts.like_count, posts.comment_count, people.user_id, people.full_name, people.picture_url,
                   EXISTS (
                       SELECT FROM likes
                       WHERE likes.author_id = posts.author_id AND likes.number = posts.number
                           AND likes.liker_id = \(viewer.id)
                   ) AS is_liked,
                   ARRAY(
                       SELECT tag FROM post_hashtags
                       WHERE post_hashtags.author_id = posts.author_id AND post_hashtags.number = posts.number
                       ORDER BY ordinal
                   ) AS hashtags,
                   images.urls, images.thumbnail_urls, images.widths, images.heights, images.blurhashes, images.alts,
                   recent.ids, recent.writers, recent.names, recent.pictures, recent.texts, recent.times, recent.edits
            FROM unnest(\(keys.map(\.author.rawValue)), \(keys.map(\.number)))
                WITH ORDINALITY AS requested (author_id, number, ordinal)
            JOIN posts ON posts.author_id = requested.author_id AND posts.number = requested.number
            JOIN people ON people.person_id = posts.author_id
            CROSS JOIN LATERAL (
                SELECT array_agg(url ORDER BY ordinal) AS urls,
                       array_agg(thumbnail_url ORDER BY ordinal) AS thumbnail_urls,
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
                        AND \(unblocked: "comments.writer_id", by: viewer)
                    ORDER BY comments.comment_id DESC LIMIT \(Self.recentComments)
                ) AS latest
            ) AS recent
            WHERE \(visible: "posts", to: viewer)
            ORDER BY requested.ordinal
            """,
            as: { try Post(row: $0, links) }
        )
    }

    /// Returns a post; nil if the viewer does not see it.
    func summary(of key: PostKey, for viewer: Viewer) async throws -> Post? {
        try await summaries(of: [key], for: viewer).first
    }
}

extension Post {
    fileprivate init(row: PostgresRow, _ links: MediaLinks) throws {
        self.init(
            postId: try PostKey(row: row).postID,
            author: try Author(row: row, links),
            text: try row.string("text"),
            images: try PostImage.all(row: row, links),
            timestamp: try row.date("created_at"),
            editedAt: try row.optionalDate("edited_at"),
            hiddenAt: try row.optionalDate("hidden_at"),
            likeCount: try row.int("like_count"),
            isLiked: try row.bool("is_liked"),
            commentCount: try row.int("comment_count"),
            recentComments: try Comment.all(row: row, links),
            hashtags: try row.strings("hashtags")
        )
    }
}

extension PostImage {
    fileprivate static func all(row: PostgresRow, _ links: MediaLinks) throws -> [PostImage] {
        let urls: [String] = try row.decodeIfPresent("urls") ?? []
        guard !urls.isEmpty else { return [] }
        let thumbnails = try row.strings("thumbnail_urls")
        let (widths, heights): ([Int32], [Int32]) = (try row.decode("widths"), try row.decode("heights"))
        let (blurhashes, alts): ([String], [String?]) = (try row.decode("blurhashes"), try row.decode("alts"))
        return urls.indices.map { index in
            PostImage(
                url: links.url(urls[index]),
                thumbnailUrl: links.url(thumbnails[index]),
                width: Int(widths[index]),
                height: Int(heights[index]),
                blurhash: blurhashes[index],
                alt: alts[index]
            )
        }
    }
}

extension Comment {
    fileprivate static func all(row: PostgresRow, _ links: MediaLinks) throws -> [Comment] {
        let ids: [Int64] = try row.decodeIfPresent("ids") ?? []
        guard !ids.isEmpty else { return [] }
        let (writers, names) = (try row.strings("writers"), try row.strings("names"))
        let (pictures, texts): ([String?], [String]) = (try row.decode("pictures"), try row.decode("texts"))
        let (times, edits): ([Date], [Date?]) = (try row.decode("times"), try row.decode("edits"))
        return ids.indices.map { index in
            Comment(
                commentId: "\(ids[index])",
                author: Author(
                    userId: writers[index],
                    fullName: names[index],
                    profilePicture: pictures[index].map(links.url)
                ),
                text: texts[index],
                timestamp: times[index],
                editedAt: edits[index]
            )
        }
    }
}
