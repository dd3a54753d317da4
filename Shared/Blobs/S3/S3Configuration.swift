/// The bucket of an ``S3BlobStore``, its access key and its timeouts.
public struct S3Configuration: Sendable {
    /// The service's URL, `https://host` or `https://host:port`, without a path.
    ///
    /// Requests name the bucket in the path, which every provider supports and which needs no DNS name per bucket.
    public var endpoint: String
    /// The name of an existing bucket; the store does not create it.
    public var bucket: String
    /// The region in signatures; providers without regions accept `us-east-1`.
    public var region: String
    /// The id of the access key.
    public var accessKey: String
    /// The secret of the access key.
    public var secretKey: String
    /// A prefix of all object names: empty, or folders with a slash at the end.
    public var prefix = ""
    /// The folder of parts until they are sent, created if needed.
    public var temporaryFolder: String
    /// PEM certificates of authorities that are trusted in addition to the system's.
    public var trustedAuthorities: String?

    /// The size of a part in bytes, at least 5 MiB; S3 allows 10,000 parts.
    ///
    /// A blob up to this size is put in one request. If a blob's limit exceeds 10,000 parts, its parts are larger.
    public var partSize = 8_388_608
    /// The number of attempts per request, after which the store is reported as unavailable.
    public var attempts = 3
    /// The pause before the second attempt; each further one is four times as long.
    ///
    /// All are randomly up to 50 % shorter.
    public var pause = Duration.milliseconds(100)
    /// The time limit for connecting.
    public var connectTimeout = Duration.seconds(3)
    /// The time limit from a request's first byte, including its body, to the response; also between two pieces of a
    /// response.
    ///
    /// A part of 8 MiB takes 30 s at 2.3 Mbit/s, which is far below the rate of a server's link to its store.
    public var timeout = Duration.seconds(30)

    /// Creates a configuration; the other properties have their defaults.
    public init(
        endpoint: String,
        bucket: String,
        region: String = "us-east-1",
        accessKey: String,
        secretKey: String,
        temporaryFolder: String
    ) {
        self.endpoint = endpoint
        self.bucket = bucket
        self.region = region
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.temporaryFolder = temporaryFolder
    }
}

/// An invalid field of a configuration.
public enum S3ConfigurationError: Error, Hashable {
    /// The endpoint is not `http://` or `https://` with only a host and a port.
    case endpoint
    /// The bucket's name is not 3 to 63 lower-case letters, digits, dots and hyphens.
    case bucket
    /// The prefix has characters other than letters, digits, `-`, `_`, `.` and single slashes, or no slash at the end.
    case prefix
    /// The trusted authorities are not PEM certificates.
    case trustedAuthorities
}

extension S3Configuration {
    /// Rejects values that would have to be escaped in a URL.
    func check() throws(S3ConfigurationError) {
        guard authority != nil else { throw .endpoint }
        let isBucket = bucket.utf8.allSatisfy { Self.isLowerOrDigit($0) || $0 == Self.dot || $0 == Self.hyphen }
        guard (3...63).contains(bucket.utf8.count), isBucket, !bucket.contains("..") else { throw .bucket }
        guard prefix.isEmpty || isPrefix else { throw .prefix }
    }

    /// The host and port, as in the `Host` field.
    var authority: String? {
        guard let scheme = ["https://", "http://"].first(where: { endpoint.hasPrefix($0) }) else { return nil }
        let authority = endpoint.dropFirst(scheme.count)
        // Letters, digits, dots and hyphens; colons before a port or in a bracketed IPv6 address.
        let isPlain = authority.utf8.allSatisfy {
            Self.isLowerOrDigit($0 | 0x20) || ".-:[]".utf8.contains($0)
        }
        return isPlain && !authority.isEmpty ? String(authority) : nil
    }

    private var isPrefix: Bool {
        guard prefix.hasSuffix("/") else { return false }
        return prefix.dropLast().split(separator: "/", omittingEmptySubsequences: false).allSatisfy { folder in
            !folder.isEmpty && folder != "." && folder != ".."
                && folder.utf8.allSatisfy { Self.isLowerOrDigit($0) || Self.isUpper($0) || "-_.".utf8.contains($0) }
        }
    }

    private static let dot = UInt8(ascii: ".")
    private static let hyphen = UInt8(ascii: "-")

    private static func isUpper(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

    private static func isLowerOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
