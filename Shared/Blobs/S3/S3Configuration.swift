/// Which bucket, of whom, and how long to wait for it.
public struct S3Configuration: Sendable {
    /// `https://host` or `https://host:port`, without a path; the bucket is named in the path of each request, which
    /// every provider understands and which needs no DNS name a bucket.
    public var endpoint: String
    /// It must be there: no bucket is made.
    public var bucket: String
    /// What requests are signed for; providers that know none take `us-east-1`.
    public var region: String
    public var accessKey: String
    public var secretKey: String
    /// What every blob's name in the bucket begins with: nothing, or folders with a slash at the end.
    public var prefix = ""
    /// Where a part lies until it is sent; made if it is not there.
    public var temporaryFolder: String
    /// PEM: authorities that are trusted beside the machine's.
    public var trustedAuthorities: String?

    /// Bytes of a part: S3 takes none below 5 MiB but the last, and no more than 10,000.
    ///
    /// A blob that is smaller is put in one request. Where a blob's limit is more than 10,000 parts, they are larger.
    public var partSize = 8_388_608
    /// How often a request is made in all before the store counts as away.
    public var attempts = 3
    /// The pause before the second attempt; each further one is four times as long, all up to a half shorter by chance.
    public var pause = Duration.milliseconds(100)
    /// How long a connection may take.
    public var connectTimeout = Duration.seconds(3)
    /// From a request's first byte to the answer's, the part that it carries included, and between two pieces of an
    /// answer.
    public var timeout = Duration.seconds(30)

    /// The rest as it usually is.
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

/// What of a configuration makes no sense.
public enum S3ConfigurationError: Error, Hashable {
    /// Not `http://` or `https://` with a host and nothing behind it.
    case endpoint
    /// Not 3 to 63 lower-case letters, digits, dots and hyphens.
    case bucket
    /// Other characters than letters, digits, `-`, `_`, `.` and single slashes, or no slash at the end.
    case prefix
    /// No certificates in PEM.
    case trustedAuthorities
}

extension S3Configuration {
    /// Refuses what would not be the same in a URL as it is written.
    func check() throws(S3ConfigurationError) {
        guard authority != nil else { throw .endpoint }
        let isBucket = bucket.utf8.allSatisfy { Self.isLowerOrDigit($0) || $0 == Self.dot || $0 == Self.hyphen }
        guard (3...63).contains(bucket.utf8.count), isBucket, !bucket.contains("..") else { throw .bucket }
        guard prefix.isEmpty || isPrefix else { throw .prefix }
    }

    /// Host and port, as `Host` has them.
    var authority: String? {
        guard let scheme = ["https://", "http://"].first(where: { endpoint.hasPrefix($0) }) else { return nil }
        let authority = endpoint.dropFirst(scheme.count)
        // Letters, digits, dots and hyphens; colons of a port or of IPv6 in brackets.
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
