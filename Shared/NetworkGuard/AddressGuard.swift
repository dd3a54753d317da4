import Foundation
public import NIOCore

/// The rules for hosts of outgoing connections that a user or a peer chose.
///
/// A host must have a public address and use TLS, except for the operator's exceptions. The guard resolves names
/// itself, and connections use the addresses that it returned. A second lookup could return a different address (DNS
/// rebinding).
public struct AddressGuard: Sendable {
    /// Resolves a name; blocks the calling thread.
    package typealias Resolve = @Sendable (_ host: String, _ port: Int) -> [SocketAddress]

    /// The operator's exceptions as `host:port` in lower case, IPv6 addresses in brackets: any address is allowed, with
    /// or without TLS.
    public let allowed: Set<String>
    private let resolve: Resolve
    private let isPublic: @Sendable (SocketAddress) -> Bool
    let lookupQueue: DNSLookupQueue

    /// Creates a guard that uses the system's resolver.
    ///
    /// - Parameter allowed: the operator's exceptions (`ALLOWED_PRIVATE_HOSTS`), each as `host:port`.
    public init(allowing allowed: Set<String> = []) {
        self.init(allowing: allowed, resolve: Self.resolveBySystem)
    }

    /// Creates a guard for tests, with its own resolver and its own definition of public addresses.
    package init(
        allowing allowed: Set<String> = [],
        resolve: @escaping Resolve,
        isPublic: @escaping @Sendable (SocketAddress) -> Bool = { PublicInternet.contains($0) },
        lookupQueue: DNSLookupQueue = .shared
    ) {
        self.allowed = Set(allowed.map { $0.lowercased() })
        self.resolve = resolve
        self.isPublic = isPublic
        self.lookupQueue = lookupQueue
    }

    /// Returns whether the operator's exceptions contain this host and port.
    ///
    /// - Parameters:
    ///   - host: a name or an address; an IPv6 address with or without brackets.
    ///   - port: the port.
    /// - Returns: true if the host and port are an exception.
    public func allows(host: String, port: Int) -> Bool {
        let isBare = host.contains(":") && !host.hasPrefix("[")
        return allowed.contains((isBare ? "[\(host)]:\(port)" : "\(host):\(port)").lowercased())
    }

    /// Returns whether a URL with these parts may be requested, judged by its text.
    ///
    /// A name that passes must still be resolved with ``addresses(of:port:)``. Without an exception, the URL must use
    /// TLS and port 443 or a port from 1,024 on. Its host must be a public address or a name that can exist in the
    /// public DNS.
    ///
    /// - Parameters:
    ///   - host: a name or an address; an IPv6 address with or without brackets.
    ///   - port: 1 to 65,535.
    ///   - isSecure: whether the connection uses TLS.
    /// - Returns: false if the connection is forbidden.
    public func mayConnect(host: String, port: Int, isSecure: Bool) -> Bool {
        guard (1...65_535).contains(port) else { return false }
        if allows(host: host, port: port) { return true }
        // Ports below 1024 other than 443 belong to mail, SSH and other protocols of a machine's own services.
        guard isSecure, port == 443 || port >= 1_024 else { return false }
        let bare = Self.bare(host)
        if let address = try? SocketAddress(ipAddress: bare, port: port) {
            return !bare.contains("%") && isPublic(address)
        }
        return Self.isPublicName(bare)
    }

    /// Returns whether a connection to this address may be opened for the host.
    ///
    /// - Parameters:
    ///   - address: an address that the host resolved to.
    ///   - host: the name or address of the request.
    ///   - port: the port of the request.
    /// - Returns: true if the address is public or the host and port are an exception.
    public func permits(_ address: SocketAddress, for host: String, port: Int) -> Bool {
        allows(host: host, port: port) || isPublic(address)
    }

    /// Returns the permitted addresses of a host.
    ///
    /// The lookup runs on a shared thread pool. A lookup waits at most 5 s for a thread.
    ///
    /// - Parameters:
    ///   - host: a name or an address; an IPv6 address with or without brackets.
    ///   - port: the port of the connection.
    /// - Returns: at least one address.
    /// - Throws: an ``AddressGuardError``, or `ChannelError.eof` after the thread pool was stopped.
    public func addresses(of host: String, port: Int) async throws -> [SocketAddress] {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<[SocketAddress], any Error>) in
            lookupQueue.submit(host) { failure in
                do {
                    if let failure { throw failure }
                    continuation.resume(returning: try permitted(host, port))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// Returns the permitted addresses of a host; blocks the calling thread.
    func permitted(_ host: String, _ port: Int) throws -> [SocketAddress] {
        let found = resolve(Self.bare(host), port)
        guard !found.isEmpty else { throw AddressGuardError.unknownHost }
        let permitted = found.filter { permits($0, for: host, port: port) }
        guard !permitted.isEmpty else { throw AddressGuardError.privateAddress }
        return permitted
    }

    private static func bare(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    /// Returns whether a name can exist in the public DNS.
    private static func isPublicName(_ host: String) -> Bool {
        let name = host.lowercased()
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        // A name with a single label belongs to the local network.
        guard name.utf8.count <= 253, labels.count > 1, let last = labels.last else { return false }
        guard labels.allSatisfy({ (1...63).contains($0.utf8.count) && $0.utf8.allSatisfy(isNameByte) }) else {
            return false
        }
        // A host whose last label is a number is an IPv4 address in a legacy notation, such as 127.1 or 1.0x7f. (URL
        // Standard, "ends in a number")
        let digits = last.hasPrefix("0x") ? last.dropFirst(2).allSatisfy(\.isHexDigit) : last.allSatisfy(\.isNumber)
        return !digits && !["localhost", "local", "internal", "home", "lan", "arpa"].contains(last)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func resolveBySystem(_ host: String, _ port: Int) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var found: [SocketAddress] = []
        var next = first
        while let entry = next?.pointee {
            if let bytes = UnsafeRawPointer(entry.ai_addr) {
                switch entry.ai_family {
                case AF_INET: found.append(SocketAddress(bytes.load(as: sockaddr_in.self), host: ""))
                case AF_INET6: found.append(SocketAddress(bytes.load(as: sockaddr_in6.self), host: ""))
                default: break
                }
            }
            next = entry.ai_next
        }
        return found
    }
}

/// The reason why a connection to a host is not permitted.
public enum AddressGuardError: Error {
    /// The name has no address.
    case unknownHost
    /// The host has addresses, but none of them is public.
    case privateAddress
    /// The lookup waited for a thread longer than 5 s, or too many lookups of the same domain were waiting.
    case tooManyLookups
}
