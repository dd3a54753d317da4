import AsyncHTTPClient
import Foundation
import Locks
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServiceClient
import ServiceHost
import ServiceLifecycle
import Wire

/// What a provider answers that it should not; the text is for the log, and has nothing of a user in it.
struct ProviderError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What a provider answered.
struct ProviderResponse: Sendable {
    var status: Int
    /// Null where the body is no JSON.
    var json: JSONValue

    var isSuccess: Bool { (200...299).contains(status) }

    /// The body of a success.
    ///
    /// - Throws: `ProviderError` for anything else.
    func object() throws -> JSONValue {
        guard isSuccess else { throw ProviderError("it answered \(status)") }
        guard case .object = json else { throw ProviderError("its answer is no JSON object") }
        return json
    }
}

/// HTTP to identity providers, at the addresses that the operator has set and those that the providers name there.
///
/// Redirections are not followed: an answer is of whom was asked.
final class ProviderHTTP: Service {
    /// What an answer may have, in bytes; documents of keys have a few thousand.
    private static let maximumBody = 262_144
    /// What one request may take, from the connection to the last byte of the answer.
    private static let timeout: Duration = .seconds(5)
    /// Requests under way at once; past them it is 503.
    private static let maximumInFlight = 64

    private let client: HTTPClient
    private let inFlight = Lock(0)

    /// - Parameter trustedCA: certificates of authorities that are trusted beside the machine's, PEM.
    /// - Throws: `SettingError` for certificates that cannot be read.
    init(trustedCA: String?) throws {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try TLSConfiguration.outbound(trustedCA: trustedCA),
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(3), read: TimeAmount(Self.timeout)),
            decompression: .disabled
        )
        configuration.connectionPool.idleTimeout = .seconds(30)
        // Said at once rather than at the deadline.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }

    /// - Throws: `ProviderError` where there is no answer; a 503 where too many are awaited.
    func get(_ url: String, bearer: String? = nil) async throws -> ProviderResponse {
        var request = HTTPClientRequest(url: url)
        if let bearer { request.headers.add(name: "authorization", value: "Bearer \(bearer)") }
        return try await send(request)
    }

    /// Sends a form; `basic` is a name and a password.
    ///
    /// - Throws: as `get(_:bearer:)`.
    func post(
        _ url: String,
        _ form: KeyValuePairs<String, String?>,
        basic: (name: String, password: String)? = nil
    ) async throws -> ProviderResponse {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        if let basic {
            // Coded as a form before they are joined (RFC 6749, section 2.3.1).
            let pair = "\(FormCoding.encode(basic.name)):\(FormCoding.encode(basic.password))"
            request.headers.add(name: "authorization", value: "Basic \(Data(pair.utf8).base64EncodedString())")
        }
        request.body = .bytes(ByteBuffer(string: FormCoding.fields(form)))
        return try await send(request)
    }

    private func send(_ request: HTTPClientRequest) async throws -> ProviderResponse {
        let hasCapacity = inFlight.withLock { count in
            guard count < Self.maximumInFlight else { return false }
            count += 1
            return true
        }
        guard hasCapacity else { throw APIError.unavailable("the identity provider") }
        defer { inFlight.withLock { $0 -= 1 } }
        let (status, body) = try await exchange(request)
        // Silence: what is no JSON is told by its absence.
        let json = try? JSONParser.parse(body.readableBytesView, repairing: true)
        return ProviderResponse(status: Int(status.code), json: json ?? .null)
    }

    private func exchange(_ request: HTTPClientRequest) async throws -> (HTTPResponseStatus, ByteBuffer) {
        do {
            // The client's own time is over with the head: a body may come in drops.
            return try await within(Self.timeout) { [client] in
                var request = request
                request.headers.add(name: "accept", value: "application/json")
                let response = try await client.execute(request, timeout: TimeAmount(Self.timeout))
                return (response.status, try await response.body.collect(upTo: Self.maximumBody))
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch is DeadlineExceeded {
            throw ProviderError("no answer in time")
        } catch is NIOTooManyBytesError {
            throw ProviderError("its answer is too large")
        } catch let error as HTTPClientError {
            // Its own words name no address, which may hold a token.
            throw ProviderError("no answer: \(error.shortDescription)")
        } catch {
            throw ProviderError("no connection")
        }
    }

    /// Keeps connections until the service stops.
    func run() async throws {
        // Cancelled it is at an end as well.
        try? await gracefulShutdown()
        // Closed with requests under way it says so; there is nobody left whom that would help.
        try? await shutdown()
    }

    func shutdown() async throws { try await client.shutdown() }
}

/// `application/x-www-form-urlencoded` and queries: all but letters, digits and `-._~` is percent-encoded.
enum FormCoding {
    static func encode(_ text: String) -> String { ServiceClient.percentEncoded(text) }

    /// Fields as a form has them; those without a value are left out.
    static func fields(_ fields: KeyValuePairs<String, String?>) -> String {
        fields.compactMap { name, value in value.map { "\(encode(name))=\(encode($0))" } }.joined(separator: "&")
    }

    /// An address with these fields added to its query.
    static func url(_ base: String, adding fields: KeyValuePairs<String, String?>) -> String {
        base + (base.contains("?") ? "&" : "?") + self.fields(fields)
    }
}
