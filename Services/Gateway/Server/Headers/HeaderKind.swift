/// The meaning of a header field's name to the gateway.
enum HeaderKind {
    /// Forwarded unchanged.
    case endToEnd
    /// Belongs to one connection and is not forwarded (RFC 9110, section 7.6.1).
    case hopByHop
    /// Set by the gateway only, such as the origin of a request; a client's field is dropped.
    case reserved
    /// Describes the origin of a request; accepted from trusted proxies only.
    case forwardedFor
    case forwardedProto
    case forwardedHost
    case connection
    case host
    case contentLength
    case transferEncoding
    case expect
    case upgrade
    case authorization
    case sessionToken
    case acceptEncoding
    case requestID
    case traceparent
    case tracestate
    case origin
    case accessControlRequestMethod
    case accessControl

    /// Classifies a name.
    ///
    /// Case is ignored, and `_` counts as `-`, because some servers treat them as equal.
    init(_ name: String) {
        self = name.utf8.withContiguousStorageIfAvailable(Self.kind) ?? Self.kind(of: Array(name.utf8))
    }

    private static func kind(of name: [UInt8]) -> HeaderKind {
        name.withUnsafeBufferPointer(kind)
    }

    private static func kind(_ name: UnsafeBufferPointer<UInt8>) -> HeaderKind {
        let kind = spelled(name)
        guard name.contains(UInt8(ascii: "_")) else { return kind }
        return kind == .endToEnd ? .endToEnd : .reserved
    }

    private static func spelled(_ name: UnsafeBufferPointer<UInt8>) -> HeaderKind {
        switch name.count {
        case 2 where matches(name, "te"): .hopByHop
        case 4 where matches(name, "host"): .host
        case 6 where matches(name, "expect"): .expect
        case 6 where matches(name, "origin"): .origin
        case 7 where matches(name, "upgrade"): .upgrade
        case 10 where matches(name, "tracestate"): .tracestate
        case 9 where matches(name, "forwarded"), 9 where matches(name, "x-real-ip"): .reserved
        case 10 where matches(name, "connection"): .connection
        case 10 where matches(name, "keep-alive"): .hopByHop
        case 11 where matches(name, "traceparent"): .traceparent
        case 12 where matches(name, "x-request-id"): .requestID
        case 13 where matches(name, "authorization"): .authorization
        case 14 where matches(name, "content-length"): .contentLength
        case 14 where matches(name, "http2-settings"): .hopByHop
        case 15 where matches(name, "accept-encoding"): .acceptEncoding
        case 15 where matches(name, "x-forwarded-for"): .forwardedFor
        case 16 where matches(name, "proxy-connection"): .hopByHop
        case 16 where matches(name, "x-forwarded-host"): .forwardedHost
        case 17 where matches(name, "x-forwarded-proto"): .forwardedProto
        case 17 where matches(name, "transfer-encoding"): .transferEncoding
        case 18 where matches(name, "proxy-authenticate"): .hopByHop
        case 19 where matches(name, "proxy-authorization"): .hopByHop
        case 21 where matches(name, "x-diuit-session-token"): .sessionToken
        case 29 where matches(name, "access-control-request-method"): .accessControlRequestMethod
        case 7... where begins(name, "x-user-") || begins(name, "x-roost-"): .reserved
        case 11... where begins(name, "x-internal-") || begins(name, "x-forwarded-"): .reserved
        case 15... where begins(name, "access-control-"): .accessControl
        default: .endToEnd
        }
    }

    private static func matches(_ name: UnsafeBufferPointer<UInt8>, _ lowercase: StaticString) -> Bool {
        name.count == lowercase.utf8CodeUnitCount && begins(name, lowercase)
    }

    private static func begins(_ name: UnsafeBufferPointer<UInt8>, _ lowercase: StaticString) -> Bool {
        guard name.count >= lowercase.utf8CodeUnitCount else { return false }
        for index in 0..<lowercase.utf8CodeUnitCount where folded(name[index]) != lowercase.utf8Start[index] {
            return false
        }
        return true
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        case UInt8(ascii: "_"): UInt8(ascii: "-")
        default: byte
        }
    }
}
