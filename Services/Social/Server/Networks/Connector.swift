import Foundation
import SocialAPI

/// One network: how its accounts are read from and written to.
///
/// A connector is a value made of the application's key, a way to ask (`NetworkHTTP`) and a clock. It keeps no account
/// and no token: each call takes the account that it is for. It makes one attempt of each thing it is asked; deadlines,
/// circuits, repetitions and the renewal of tokens are its caller's.
///
/// Every call throws `NetworkError`, or what `NetworkHTTP` and decoders throw, which its caller puts into a class
/// (`NetworkError.init(_:isWrite:)`). A network that lacks something need not have the method: those below throw
/// `unsupported` by themselves.
protocol Connector: Sendable {
    var network: Network { get }

    /// What an account can do, what limits its posts have, and why it cannot do the rest; asks nobody.
    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities

    /// Asks the network whose tokens these are; the first call for an account that is being linked.
    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity
    /// Whether calls work for an account as a client describes it in a request; otherwise `identify` is called first.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool

    // MARK: Reading, each list the newest first

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage
    /// Threads of direct messages, as items of kind `thread`: `createdAt` is the time of the last message, `text` its text.
    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage
    /// The messages of one thread, by the id that its item has in `thread`.
    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage
    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage

    // MARK: Writing

    /// Whether the network fetches a post's files from their addresses instead of taking their bytes.
    var fetchesMedia: Bool { get }
    /// Whether a publication or reply may be sent again with the same key, and is then surely done once.
    var isIdempotent: Bool { get }

    /// Does all that a post needs and nobody sees: sends media, makes containers, waits for their processing.
    ///
    /// May be called again for the same post after a failure.
    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost?
    /// The one step after which people see the post.
    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    /// Looks for a post whose outcome is unknown; nil says that the network surely does not have it.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost?

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost
    /// Looks for a reply whose outcome is unknown; nil says that the network surely does not have it.
    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost?

    /// Likes an item, or has it as a favourite, by its native id; twice is as once, and no failure.
    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost

    // MARK: Tokens

    /// How long before their end tokens are renewed, in seconds; nil where this network has no renewal.
    var renewal: TimeInterval? { get }
    /// New tokens for old.
    ///
    /// What the answer lacks or has empty stays as it was: the caller sees to that. `auth` means that the account must be
    /// linked anew; what may pass is `transient`.
    func renew(_ account: NetworkAccount) async throws -> NetworkTokens
    /// Tells the network that the tokens are not needed any more; nothing where it has no way to.
    func revoke(_ account: NetworkAccount) async throws
}

/// What an account can do on its network.
struct AccountCapabilities: Hashable, Sendable {
    var supported: Set<Capability>
    var limits = PostLimits()
    /// Why it cannot do what is missing, for a person.
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

    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        throw NetworkError(.auth, "the account must be linked anew")
    }

    func revoke(_ account: NetworkAccount) async throws {}
}
