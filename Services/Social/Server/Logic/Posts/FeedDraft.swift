import Foundation
import NIOCore
import SocialAPI
import Wire

/// A post as the client sends it in `data` (seed comblie).
struct FeedDraft: Codable, Hashable, Sendable {
    /// A reference to an upload in photos.
    struct Attachment: Codable, Hashable, Sendable {
        var uploadId: String
        var alt: String?
    }

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
    /// The time of a scheduled post.
    var at: Date?
}

extension FeedDraft {
    /// The maximum length of a text in Unicode scalars.
    ///
    /// All of these limits are above those of the networks.
    private static let maximumText = 65_536
    private static let maximumID = 128
    private static let maximumName = 1_000
    static let maximumAlt = 5_000
    private static let maximumNetworks = 16

    /// - Throws: `invalid_field` or `missing_field`, naming a field below `data`.
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
            throw APIError.invalid("data.text", "a text may have at most \(Self.maximumText) characters")
        }
        guard networks?.count ?? 0 <= Self.maximumNetworks else {
            throw APIError.invalid("data.networks", "at most \(Self.maximumNetworks) networks can be named")
        }
        if let networks {
            guard !networks.isEmpty else { throw APIError.missing("data.networks") }
            let known = try networks.map { try Self.network($0, "data.networks") }
            guard Set(known).count == known.count else {
                throw APIError.invalid("data.networks", "a network can be named only once")
            }
        }
        if let location { try Self.check(location) }
        if let photo { try Self.check(photo, "data.photo") }
        if let video { try Self.check(video, "data.video") }
        let isPost = text?.isEmpty == false || photo != nil || video != nil || location != nil
        guard [like != nil, favorite != nil, isPost].count(where: \.self) <= 1 else {
            throw APIError.invalid("data", "a like or a favourite cannot be combined with other content")
        }
    }

    private static func check(_ attachment: Attachment, _ field: String) throws {
        guard !attachment.uploadId.isEmpty else { throw APIError.missing("\(field).uploadId") }
        guard attachment.uploadId.unicodeScalars.count <= maximumID else {
            throw APIError.invalid("\(field).uploadId", "there is no such upload", code: "upload_not_found")
        }
        guard attachment.alt?.unicodeScalars.count ?? 0 <= maximumAlt else {
            throw APIError.invalid("\(field).alt", "an alternative text may have at most \(maximumAlt) characters")
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
            throw APIError.invalid("data.location.name", "a name may have at most \(maximumName) characters")
        }
    }

    static func network(_ name: String, _ field: String) throws -> Network {
        guard let network = Network(named: name) else {
            throw APIError.invalid(field, "there is no network \"\(name)\"")
        }
        return network
    }

    /// Returns the network's name as the client wrote it.
    func name(of network: Network) -> String {
        networks?.first { Network(named: $0) == network } ?? network.rawValue
    }
}

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

    var bytes: Int { [photo, video].reduce(0) { $0 + ($1?.bytes.readableBytes ?? 0) } }

    /// Returns the elements that a network accepts, by the seed's table and the account's capabilities.
    ///
    /// If the network requires a photo or video, other elements are only accepted together with it.
    func accepted(by accountCapabilities: AccountCapabilities) -> [PostElement] {
        let accepted = elements.filter { accountCapabilities.supported.contains($0.capability) }
        let hasMedia = accepted.contains(.photo) || accepted.contains(.video)
        guard accountCapabilities.limits.needsMedia == true, !hasMedia else { return accepted }
        return []
    }

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
