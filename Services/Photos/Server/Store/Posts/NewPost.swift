import Foundation

struct NewPost: Sendable {
    let key: PostKey
    let application: String
    let text: String
    /// Case-folded.
    let hashtags: [String]
    let images: [NewImage]
    let createdAt: Date
}

struct NewImage: Sendable {
    let image: ClaimedImage
    let alt: String?
}

/// A post as read under its lock.
struct LockedPost: Sendable {
    let key: PostKey
    let application: String
    let text: String
    let createdAt: Date
    let isHidden: Bool
    let likeCount: Int
}
