import Configuration
import Foundation
import ServiceHost

/// The settings that only the conversations service has.
struct ConversationsConfiguration: Sendable {
    /// `WRITE_SHARDS` (2): connections that write messages, each with one batch in flight.
    var writeShards = 2
    /// Maximum number of writes in the queue of a write shard, before 503.
    ///
    /// 64 full batches, which a shard writes in about a second. A longer queue would hold writes whose clients no
    /// longer wait.
    var writeShardQueue = 4_096
    /// Maximum bytes of text in the queue of a write shard.
    ///
    /// The queue holds 4,096 ordinary messages in a few megabytes. The limit keeps the largest ones from filling the
    /// memory of the process.
    var writeShardQueueBytes = 33_554_432
    /// How long a batch may wait for a lock or run before it is split into halves.
    ///
    /// A batch takes milliseconds. One second means that a conversation is locked, and the halves let the other
    /// conversations of the batch go on.
    var writeShardTimeout = Duration.milliseconds(1_000)
    /// How long a write is retried while the database is unavailable, before 503.
    ///
    /// PostgreSQL is back 2–3 s after a crash under load, so that clients do not notice it. 5 s is below the timeout of
    /// every client.
    var sendDeadline = Duration.milliseconds(5_000)
    /// `MEMBERS_MAX` (10,000): maximum number of members in a conversation.
    var maximumMembers = 10_000
    /// How long rows of the outbox are kept.
    ///
    /// Instances read a row within a second. Ten minutes covers an instance that hangs or is restarted.
    var outboxRetention = 600.0
    /// How long messages wait for delivery to push.
    ///
    /// A notification of a message that is a day old is of no use to its user.
    var pushRetention = 86_400.0
    /// `SEARCH_REINDEX_INTERVAL` (300): seconds between two scans of all conversations for messages missing from the
    /// index.
    var searchReindexInterval = 300.0

    /// `FILE_BYTES_MAX` (20,971,520): maximum size of a file in a conversation, in bytes.
    var fileLimit = 20_971_520
    /// Maximum number of concurrent uploads, before 503.
    var maximumUploads = UploadConcurrencyLimit.uploads
    /// Maximum number of concurrent uploads of one user, before 429.
    var maximumUploadsOfUser = UploadConcurrencyLimit.uploadsOfUser

    /// `NATS_URL`: sends change notifications over NATS instead of PostgreSQL's NOTIFY.
    var natsURL: String?
    /// `CORS_ORIGINS` (`*`): origins whose pages may connect by Socket.IO; the gateway has the same setting.
    var corsOrigins = ["*"]
    /// `GATEWAY_ADDRESSES` (`127.0.0.0/8,::1`): peers whose `X-Forwarded-For` header is trusted to name the client.
    var gatewayAddresses = AddressRanges.loopback
    /// `AUTHENTICATE_TIMEOUT` (15): seconds that a socket may stay open before its user signs in.
    var authenticateTimeout = Duration.seconds(15)
    /// Time between heartbeats, and maximum delay of the client's response.
    ///
    /// These are the defaults of Engine.IO. Their sum must be below the gateway's `pollTimeout`, because a poll is held
    /// until the next heartbeat.
    var pingInterval = Duration.seconds(25)
    var pingTimeout = Duration.seconds(20)
    /// `SOCKETS_MAX` (15,000): maximum number of sockets of an instance, before 503.
    var maximumSockets = 15_000
    /// `SOCKETS_PER_USER_MAX` (50): maximum number of sockets of one user at one instance, before 429.
    var maximumSocketsOfUser = 50
    /// `RATE_SOCKET` (100): requests per second of one socket, with a burst of ten seconds' worth; 0 disables the
    /// limit.
    var socketRate = 100
    /// Maximum bytes of a packet from a signed-in user.
    ///
    /// A file over Socket.IO has at most 5 MB, which is 7 MB in base64.
    var socketPayload = 8_388_608
    /// Maximum total bytes of incoming packets above 64 kB, before 503.
    ///
    /// 32 packets of the maximum size: half of the 512 MB that compose gives to the service.
    var socketPayloads = 268_435_456
    /// `SOCKET_BUFFER_BYTES` (4,194,304): maximum bytes buffered for a slow client before its socket is closed.
    var socketBuffer = 4_194_304

    init() {}

    init(_ configuration: ConfigReader) throws {
        writeShards = try configuration.number("WRITE_SHARDS", default: writeShards, in: 1...64)
        fileLimit = try configuration.number("FILE_BYTES_MAX", default: fileLimit, in: 1...(1 << 40))
        try readSockets(configuration)
        maximumMembers = try configuration.number("MEMBERS_MAX", default: maximumMembers, in: 1...1_000_000)
        natsURL = configuration.text("NATS_URL")
        searchReindexInterval = Double(
            try configuration.number("SEARCH_REINDEX_INTERVAL", default: 300, in: 1...86_400)
        )
    }
}

extension ConversationsConfiguration {
    private mutating func readSockets(_ configuration: ConfigReader) throws {
        corsOrigins = configuration.text("CORS_ORIGINS", default: "*")
            .split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        if let text = configuration.text("GATEWAY_ADDRESSES") {
            guard let ranges = AddressRanges(text) else {
                throw SettingError("GATEWAY_ADDRESSES", "must be addresses or ranges like 10.0.0.0/8, comma-separated")
            }
            gatewayAddresses = ranges
        }
        authenticateTimeout = .seconds(try configuration.number("AUTHENTICATE_TIMEOUT", default: 15, in: 1...3_600))
        maximumSockets = try configuration.number("SOCKETS_MAX", default: maximumSockets, in: 1...10_000_000)
        maximumSocketsOfUser = try configuration.number(
            "SOCKETS_PER_USER_MAX",
            default: maximumSocketsOfUser,
            in: 1...1_000_000
        )
        socketRate = try configuration.number("RATE_SOCKET", default: socketRate, in: 0...1_000_000)
        socketBuffer = try configuration.number("SOCKET_BUFFER_BYTES", default: socketBuffer, in: 65_536...(1 << 30))
    }
}
