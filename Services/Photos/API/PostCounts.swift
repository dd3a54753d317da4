/// The `counts` event of a post's comment stream: the same numbers as in `GET /photos/posts/{id}`.
package struct PostCounts: Codable, Hashable, Sendable {
    package var likeCount: Int
    package var isLiked: Bool
    package var commentCount: Int

    package init(likeCount: Int, isLiked: Bool, commentCount: Int) {
        self.likeCount = likeCount
        self.isLiked = isLiked
        self.commentCount = commentCount
    }
}
