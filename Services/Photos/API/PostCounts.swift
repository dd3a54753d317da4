/// What a post's stream of comments sends as `counts`: the numbers that `GET /photos/posts/{id}` shows as well.
package struct PostCounts: Codable, Hashable, Sendable {
    package var likeCount: Int
    /// Whether the reader likes the post.
    package var isLiked: Bool
    package var commentCount: Int

    package init(likeCount: Int, isLiked: Bool, commentCount: Int) {
        self.likeCount = likeCount
        self.isLiked = isLiked
        self.commentCount = commentCount
    }
}
