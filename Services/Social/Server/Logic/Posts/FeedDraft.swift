import Foundation
import NIOCore
import SocialAPI
import Wire

/// What somebody wants to have posted, as `data` of the seed.
struct FeedDraft: Codable, Hashable, Sendable {
    /// A file that was brought to photos before.
    struct Attachment: Codable, Hashable, Sendable {
        var uploadId: String
        var alt: String?
    }

    /// An item that is liked.
    struct Target: Codable, Hashable, Sendable {
        var network: String
        var id: String
    }

    struct Location: Codable, Hashable, Sendable {
        var latitude: Double
        var longitude: Double
        var name: String?
    }

    var text: String?
    var photo: Attachment?
    var video: Attachment?
    var location: Location?
    var networks: [String]?
    var like: Target?
    var favorite: Target?
    /// When, of a post for later.
    var at: Date?
}

extension FeedDraft {
    /// Of text, in Unicode scalars; this and those below are more than any network takes.
    private static let maximumText = 65_536
    private static let maximumID = 128
    private static let maximumName = 1_000
    static let maximumAlt = 5_000
    private static let maximumNetworks = 16

    /// - Throws: `invalid`, naming the field below `data`.
    init(_ data: JSONValue) throws {
        do {
            self = try WireJSON.decode(FeedDraft.self, from: data)
        } catch var error as APIError {
            error.field = error.field.map { "data.\($0)" } ?? "data"
            throw error
        }
        try check()
    }

    private func check() throws {
        guard text?.unicodeScalars.count ?? 0 <= Self.maximumText else {
            throw APIError.invalid("data.text", "a text has at most \(Self.maximumText) characters")
        }
        guard networks?.count ?? 0 <= Self.maximumNetworks else {
            throw APIError.invalid("data.networks", "there are not so many networks")
        }
        if let networks {
            guard !networks.isEmpty else { throw APIError.missing("data.networks") }
            let known = try networks.map { try Self.network($0, "data.networks") }
            guard Set(known).count == known.count else {
                throw APIError.invalid("data.networks", "a network is named twice")
            }
        }
        if let location { try Self.check(location) }
        if let photo { try Self.check(photo, "data.photo") }
        if let video { try Self.check(video, "data.video") }
        let isPost = text?.isEmpty == false || photo != nil || video != nil || location != nil
        guard [like != nil, favorite != nil, isPost].count(where: \.self) <= 1 else {
            throw APIError.invalid("data", "a like or a favourite stands alone")
        }
    }

    private static func check(_ attachment: Attachment, _ field: String) throws {
        guard !attachment.uploadId.isEmpty else { throw APIError.missing("\(field).uploadId") }
        guard attachment.uploadId.unicodeScalars.count <= maximumID else {
            throw APIError.invalid("\(field).uploadId", "there is no such upload", code: "upload_not_found")
        }
        guard attachment.alt?.unicodeScalars.count ?? 0 <= maximumAlt else {
            throw APIError.invalid("\(field).alt", "an alternative text has at most \(maximumAlt) characters")
        }
    }

    private static func check(_ location: Location) throws {
        guard (-90...90).contains(location.latitude) else {
            throw APIError.invalid("data.location.latitude", "a latitude is from -90 to 90 degrees")
        }
        guard (-180...180).contains(location.longitude) else {
            throw APIError.invalid("data.location.longitude", "a longitude is from -180 to 180 degrees")
        }
        guard location.name?.unicodeScalars.count ?? 0 <= maximumName else {
            throw APIError.invalid("data.location.name", "a name has at most \(maximumName) characters")
        }
    }

    static func network(_ name: String, _ field: String) throws -> Network {
        guard let network = Network(named: name) else {
            throw APIError.invalid(field, "there is no network \"\(name)\"")
        }
        return network
    }

    /// What it is called that a network is chosen by: as it was sent.
    func name(of network: Network) -> String {
        networks?.first { Network(named: $0) == network } ?? network.rawValue
    }
}

/// A draft with its files.
struct PostContent: Sendable {
    var text: String
    var photo: OutgoingMedia?
    var video: OutgoingMedia?
    var location: ItemLocation?

    var elements: [PostElement] {
        var elements: [PostElement] = text.isEmpty ? [] : [.text]
        if photo != nil { elements.append(.photo) }
        if video != nil { elements.append(.video) }
        if location != nil { elements.append(.location) }
        return elements
    }

    /// What its files have.
    var bytes: Int { [photo, video].reduce(0) { $0 + ($1?.bytes.readableBytes ?? 0) } }

    /// What of it a network takes, by the seed's table: as far as the account's abilities go.
    ///
    /// Text that needs a picture goes along with one.
    func accepted(by accountCapabilities: AccountCapabilities) -> [PostElement] {
        let accepted = elements.filter { accountCapabilities.supported.contains($0.capability) }
        let hasMedia = accepted.contains(.photo) || accepted.contains(.video)
        guard accountCapabilities.limits.needsMedia == true, !hasMedia else { return accepted }
        return []
    }

    /// The part of it that consists of those elements.
    func post(of elements: [PostElement], key: UUID, createdAt: Date) -> NetworkPost {
        NetworkPost(
            key: key,
            createdAt: createdAt,
            text: elements.contains(.text) ? text : "",
            photos: elements.contains(.photo) ? [photo].compactMap { $0 } : [],
            video: elements.contains(.video) ? video : nil,
            location: elements.contains(.location) ? location : nil
        )
    }
}
