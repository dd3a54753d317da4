import Foundation
public import NIOCore

/// Decides which hosts an outgoing connection may reach when a user or a peer chose the host.
///
/// Only public addresses over TLS are allowed, and the operator's exceptions. The guard resolves the names itself, and a
/// connection goes to an address that it returned: a second look-up could give another answer (DNS rebinding).
public struct AddressGuard: Sendable {
    /// Resolves a name; blocks.
    package typealias Resolve = @Sendable (_ host: String, _ port: Int) -> [SocketAddress]

    /// `host:port` in lower case, an IPv6 address in brackets: these may be anywhere, with or without TLS.
    public let allowed: Set<String>
    private let resolve: Resolve
    private let isPublic: @Sendable (SocketAddress) -> Bool
    let lookupQueue: DNSLookupQueue

    /// - Parameter allowed: the operator's exceptions (`ALLOWED_PRIVATE_HOSTS`), each as `host:port`.
    public init(allowing allowed: Set<String> = []) {
        self.init(allowing: allowed, resolve: Self.resolveBySystem)
    }

    /// Creates a guard with a resolver, and an idea of what is public, of a test's own.
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

    /// Whether the operator allows this host and port; an IPv6 address comes with brackets or without.
    public func allows(host: String, port: Int) -> Bool {
        let isBare = host.contains(":") && !host.hasPrefix("[")
        return allowed.contains((isBare ? "[\(host)]:\(port)" : "\(host):\(port)").lowercased())
    }

    /// Whether a URL of these parts may be requested, as far as its spelling tells.
    ///
    /// A name must still be resolved: ``addresses(of:port:)``.
    public func mayConnect(host: String, port: Int, isSecure: Bool) -> Bool {
        guard (1...65_535).contains(port) else { return false }
        if allows(host: host, port: port) { return true }
        // The ports below 1024 but HTTPS are those of mail, SSH and other protocols of the machine's own services.
        guard isSecure, port == 443 || port >= 1_024 else { return false }
        let bare = Self.bare(host)
        if let address = try? SocketAddress(ipAddress: bare, port: port) {
            return !bare.contains("%") && isPublic(address)
        }
        return Self.isPublicName(bare)
    }

    /// Whether a connection to this address may be opened for the host.
    public func permits(_ address: SocketAddress, for host: String, port: Int) -> Bool {
        allows(host: host, port: port) || isPublic(address)
    }

    /// Returns the addresses of a host that a connection may be opened to.
    ///
    /// - Throws: ``AddressGuardError``, or `ChannelError.eof` after the process began to stop.
    public func addresses(of host: String, port: Int) async throws -> [SocketAddress] {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<[SocketAddress], any Error>) in
            lookupQueue.submit(host) { refusal in
                do {
                    if let refusal { throw refusal }
                    continuation.resume(returning: try permitted(host, port))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// The same on the calling thread, which waits.
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

    /// Whether a name can be one of the public DNS.
    private static func isPublicName(_ host: String) -> Bool {
        let name = host.lowercased()
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        // A name of one label is one of the local network.
        guard name.utf8.count <= 253, labels.count > 1, let last = labels.last else { return false }
        guard labels.allSatisfy({ (1...63).contains($0.utf8.count) && $0.utf8.allSatisfy(isNameByte) }) else {
            return false
        }
        // A host that ends in a number is an IPv4 address in an old spelling, such as 127.1 or 1.0x7f (URL Standard,
        // "ends in a number").
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

/// Why no connection to a host may be opened.
public enum AddressGuardError: Error {
    /// The name has no address.
    case unknownHost
    /// The host has addresses, and none of them is public.
    case privateAddress
    /// Other look-ups, most likely of the same domain, took all the time that this one had for its turn.
    case tooManyLookups
}
