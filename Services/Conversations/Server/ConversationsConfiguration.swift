import Configuration
import Foundation
import ServiceHost

/// The settings that only the conversations service has.
struct ConversationsConfiguration: Sendable {
    /// `WRITE_SHARDS` (2): connections that write messages, each with one batch in flight.
    var writeShards = 2
    /// `WRITE_SHARD_QUEUE` (4,096): maximum number of writes in the queue of a write shard, before 503.
    var writeShardQueue = 4_096
    /// `WRITE_SHARD_QUEUE_BYTES` (33,554,432): maximum bytes of text in the queue of a write shard.
    var writeShardQueueBytes = 33_554_432
    /// `WRITE_SHARD_TIMEOUT_MS` (1,000): how long a batch may wait for a lock or run before it is split into halves.
    var writeShardTimeout = Duration.milliseconds(1_000)
    /// `SEND_DEADLINE_MS` (5,000): how long a write is retried while the database is unavailable, before 503.
    var sendDeadline = Duration.milliseconds(5_000)
    /// `MEMBERS_MAX` (10,000): maximum number of members in a conversation.
    var maximumMembers = 10_000
    /// `OUTBOX_RETENTION_SECONDS` (600): how long rows of the outbox are kept.
    var outboxRetention = 600.0
    /// `PUSH_RETENTION_SECONDS` (86,400): how long messages wait for delivery to push.
    var pushRetention = 86_400.0
    /// `SEARCH_REINDEX_INTERVAL` (300): seconds between two scans of all conversations for messages missing from the
    /// index.
    var searchReindexInterval = 300.0

    /// `FILE_LIMIT` (20,971,520): maximum size of a file in a conversation, in bytes.
    var fileLimit = 20_971_520
    /// `UPLOADS_MAX` (256): maximum number of concurrent uploads, before 503.
    var maximumUploads = 256
    /// `UPLOADS_MAX_USER` (8): maximum number of concurrent uploads of one user, before 429.
    var maximumUploadsOfUser = 8

    /// `NATS_URL`: sends change notifications over NATS instead of PostgreSQL's NOTIFY.
    var natsURL: String?
    /// `CORS_ORIGINS` (`*`): origins whose pages may connect by Socket.IO; the gateway has the same setting.
    var corsOrigins = ["*"]
    /// `GATEWAY_ADDRESSES` (`127.0.0.0/8,::1`): peers whose `X-Forwarded-For` header is trusted to name the client.
    var gatewayAddresses = AddressRanges.loopback
    /// `AUTHENTICATE_TIMEOUT` (15): seconds that a socket may stay open before its user signs in.
    var authenticateTimeout = Duration.seconds(15)
    /// `PING_INTERVAL` (25) and `PING_TIMEOUT` (20): seconds between heartbeats, and maximum delay of the client's
    /// response.
    var pingInterval = Duration.seconds(25)
    var pingTimeout = Duration.seconds(20)
    /// `SOCKETS_MAX` (15,000): maximum number of sockets of an instance, before 503.
    var maximumSockets = 15_000
    /// `SOCKETS_MAX_USER` (50): maximum number of sockets of one user at one instance, before 429.
    var maximumSocketsOfUser = 50
    /// `RATE_SOCKET` (100): requests per second of one socket, with a burst of ten seconds' worth; 0 disables the
    /// limit.
    var socketRate = 100
    /// `SOCKET_PAYLOAD` (8,388,608): maximum bytes of a packet from a signed-in user.
    var socketPayload = 8_388_608
    /// `SOCKET_PAYLOADS_TOTAL` (268,435,456): maximum total bytes of incoming packets above 64 kB, before 503.
    var socketPayloads = 268_435_456
    /// `SOCKET_BUFFER` (4,194,304): maximum bytes buffered for a slow client before its socket is closed.
    var socketBuffer = 4_194_304

    init() {}

    init(_ configuration: ConfigReader) throws {
        writeShards = try configuration.number("WRITE_SHARDS", default: writeShards, in: 1...64)
        writeShardQueue = try configuration.number("WRITE_SHARD_QUEUE", default: writeShardQueue, in: 1...1_000_000)
        writeShardQueueBytes = try configuration.number(
            "WRITE_SHARD_QUEUE_BYTES",
            default: writeShardQueueBytes,
            in: 131_072...(1 << 40)
        )
        writeShardTimeout = .milliseconds(
            try configuration.number("WRITE_SHARD_TIMEOUT_MS", default: 1_000, in: 10...60_000)
        )
        sendDeadline = .milliseconds(try configuration.number("SEND_DEADLINE_MS", default: 5_000, in: 10...60_000))
        fileLimit = try configuration.number("FILE_LIMIT", default: fileLimit, in: 1...(1 << 40))
        maximumUploads = try configuration.number("UPLOADS_MAX", default: maximumUploads, in: 1...100_000)
        maximumUploadsOfUser = try configuration.number(
            "UPLOADS_MAX_USER",
            default: maximumUploadsOfUser,
            in: 1...100_000
        )
        try readSockets(configuration)
        maximumMembers = try configuration.number("MEMBERS_MAX", default: maximumMembers, in: 1...1_000_000)
        outboxRetention = Double(
            try configuration.number("OUTBOX_RETENTION_SECONDS", default: 600, in: 1...31_536_000)
        )
        pushRetention = Double(
            try configuration.number("PUSH_RETENTION_SECONDS", default: 86_400, in: 1...31_536_000)
        )
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
        pingInterval = .seconds(try configuration.number("PING_INTERVAL", default: 25, in: 1...60))
        pingTimeout = .seconds(try configuration.number("PING_TIMEOUT", default: 20, in: 1...60))
        maximumSockets = try configuration.number("SOCKETS_MAX", default: maximumSockets, in: 1...10_000_000)
        maximumSocketsOfUser = try configuration.number(
            "SOCKETS_MAX_USER",
            default: maximumSocketsOfUser,
            in: 1...1_000_000
        )
        socketRate = try configuration.number("RATE_SOCKET", default: socketRate, in: 0...1_000_000)
        socketPayload = try configuration.number("SOCKET_PAYLOAD", default: socketPayload, in: 65_536...(1 << 30))
        socketPayloads = try configuration.number(
            "SOCKET_PAYLOADS_TOTAL",
            default: socketPayloads,
            in: 65_536...(1 << 40)
        )
        socketBuffer = try configuration.number("SOCKET_BUFFER", default: socketBuffer, in: 65_536...(1 << 30))
    }
}
