import Foundation

/// Something said to everybody on a network, or to those of a talk.
struct Post: Sendable {
    /// Ascends with time.
    let id: Int64
    /// The author's number.
    let author: Int
    var title: String?
    var text: String
    let createdAt: Date
    var editedAt: Date?
    var media: [Attachment] = []
    var location: Location?
    /// What it answers.
    var parent: Int64?
    /// What it passes on: a boost, retweet or reblog, which has no text of its own.
    var original: Int64?
    /// A part of the network it was said in, as Reddit's subreddits.
    var room: String?
    /// Who liked it, by number.
    var likes: Set<Int> = []
    var dislikes: Set<Int> = []
    var boosts: Set<Int> = []
    var replies = 0
}

/// A photo or a video.
struct Attachment: Sendable {
    enum Kind: String, Sendable {
        case photo, video
    }

    let id: Int64
    let kind: Kind
    /// As `image/png`.
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

/// People who talk among themselves.
struct MessageThread: Sendable {
    let id: Int64
    /// By number; the one who began it first.
    let members: [Int]
    var subject: String?
    var messages: [Message] = []
    /// The id of the last message that each has read.
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

/// What a network tells somebody.
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
