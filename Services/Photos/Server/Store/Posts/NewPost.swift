import Foundation

/// A post on its way into the tables.
struct NewPost: Sendable {
    let key: PostKey
    let application: String
    let text: String
    /// Folded.
    let hashtags: [String]
    let images: [NewImage]
    let createdAt: Date
}

/// An image of it, with what was claimed for it.
struct NewImage: Sendable {
    let image: ClaimedImage
    let alt: String?
}

/// A post as whoever changes it finds it, under its lock.
struct LockedPost: Sendable {
    let key: PostKey
    let application: String
    let text: String
    let createdAt: Date
    let isHidden: Bool
    let likeCount: Int
}
