import Foundation
import SocialAPI

/// A network: reads from its accounts and writes to them.
///
/// A connector is a value with the application's key, an HTTP client (`NetworkHTTP`) and a clock. It stores no accounts
/// and no tokens: each call receives the account. It makes one attempt per call. The caller is responsible for time
/// limits, circuit breakers, retries and the renewal of tokens.
///
/// Every call throws `NetworkError`, or an error of `NetworkHTTP` or a decoder, which the caller classifies with
/// `NetworkError.init(_:isWrite:)`. A network that lacks a feature need not have its method: the default implementation
/// throws `unsupported`.
protocol Connector: Sendable {
    var network: Network { get }

    /// Returns the account's capabilities, the limits of its posts and the reasons for what is missing; sends no
    /// request.
    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities

    /// Identifies the account of the tokens; the first call for an account that is being linked.
    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity
    /// Returns whether calls work with the `id` that a client sent; otherwise `identify` is called first.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool

    // MARK: Reading, each list newest first

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage
    /// Returns threads of direct messages as items of kind `thread`, with the time and the text of the last message.
    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage
    /// Returns the messages of a thread, by the id in `thread` of its item.
    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage
    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage

    // MARK: Writing

    /// Whether the network fetches a post's files from their URLs instead of accepting their bytes.
    var fetchesMedia: Bool { get }
    /// Whether a post or a reply can be sent again with the same key without being published twice.
    var isIdempotent: Bool { get }

    /// Performs all steps that are not visible: uploads media, creates containers and waits for their processing.
    ///
    /// May be called again for the same post after a failure.
    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost?
    /// Publishes the post: the only step that makes it visible.
    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    /// Looks for a post with an unknown outcome; nil means that the network certainly does not have it.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost?

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost
    /// Looks for a reply with an unknown outcome; nil means that the network certainly does not have it.
    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost?

    /// Likes an item or makes it a favourite, by its native id; a repeated like succeeds without effect.
    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost

    // MARK: Tokens

    /// The time before their expiry at which tokens are renewed, in seconds; nil if the network has no renewal.
    var renewal: TimeInterval? { get }
    /// Returns whether the account's tokens can be renewed; other tokens are used until the network refuses them.
    func canRenew(_ account: NetworkAccount) -> Bool
    /// Returns renewed tokens.
    ///
    /// The caller keeps the old values of those that the response lacks or has empty. `auth` means that the account
    /// must be linked again; `transient` means that a retry can succeed.
    func renew(_ account: NetworkAccount) async throws -> NetworkTokens
    /// Revokes the tokens; does nothing if the network has no revocation.
    func revoke(_ account: NetworkAccount) async throws
}

/// The capabilities of an account on its network.
struct AccountCapabilities: Hashable, Sendable {
    var supported: Set<Capability>
    var limits = PostLimits()
    /// The reasons for missing capabilities, in English.
    var reasons: [Capability: String] = [:]
}

extension Connector {
    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        throw NetworkError.unsupported("\(network.rawValue) has no messages")
    }

    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        throw NetworkError.unsupported("\(network.rawValue) has no messages")
    }

    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        throw NetworkError.unsupported("\(network.rawValue) has no notifications")
    }

    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { account.id != nil }

    var fetchesMedia: Bool { false }

    var isIdempotent: Bool { false }

    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? { nil }

    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        throw NetworkError.unsupported("nothing can be posted to \(network.rawValue)")
    }

    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        throw NetworkError.unsupported("posts of \(network.rawValue) cannot be looked up")
    }

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        throw NetworkError.unsupported("messages of \(network.rawValue) cannot be answered")
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        throw NetworkError.unsupported("messages of \(network.rawValue) cannot be looked up")
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        throw NetworkError.unsupported("nothing can be liked on \(network.rawValue)")
    }

    var renewal: TimeInterval? { nil }

    func canRenew(_ account: NetworkAccount) -> Bool { account.tokens.refresh != nil }

    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        throw NetworkError(.auth, "the account must be linked again")
    }

    func revoke(_ account: NetworkAccount) async throws {}
}
