import Foundation

struct Post: Sendable {
    /// Increases with time.
    let id: Int64
    /// The author's number.
    let author: Int
    var title: String?
    var text: String
    let createdAt: Date
    var editedAt: Date?
    var media: [Attachment] = []
    var location: Location?
    /// The post that this post replies to.
    var parent: Int64?
    /// The original of a boost, retweet or reblog, which has no text of its own.
    var original: Int64?
    /// The part of the network that contains the post, such as a subreddit.
    var room: String?
    /// The numbers of the people who liked the post.
    var likes: Set<Int> = []
    var dislikes: Set<Int> = []
    var boosts: Set<Int> = []
    var replies = 0
}

struct Attachment: Sendable {
    enum Kind: String, Sendable {
        case photo, video
    }

    let id: Int64
    let kind: Kind
    let type: String
    var width = 640
    var height = 480
    var size = 0
    var description: String?
}

struct Location: Sendable {
    var id: String?
    var name: String?
    var latitude: Double?
    var longitude: Double?
}

struct MessageThread: Sendable {
    let id: Int64
    /// The members' numbers, the creator first.
    let members: [Int]
    var subject: String?
    var messages: [Message] = []
    /// The id of the last message that each member has read.
    var read: [Int: Int64] = [:]

    func unread(by person: Int) -> Int {
        messages.count { $0.sender != person && $0.id > (read[person] ?? 0) }
    }
}

struct Message: Sendable {
    let id: Int64
    let sender: Int
    let text: String
    let createdAt: Date
    var media: [Attachment] = []
}

/// A notification that a network shows a person.
struct Notice: Sendable {
    enum Kind: String, Codable, Sendable {
        case like, boost, follow, mention, reply
    }

    let id: Int64
    let kind: Kind
    let recipient: Int
    let actor: Int
    var post: Int64?
    let createdAt: Date
    var isRead = false
}
