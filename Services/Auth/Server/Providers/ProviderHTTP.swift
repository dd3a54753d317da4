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

/// An invalid response of a provider; the text is for the log and contains no user data.
struct ProviderError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

struct ProviderResponse: Sendable {
    var status: Int
    /// Null if the body is not JSON.
    var json: JSONValue

    var isSuccess: Bool { (200...299).contains(status) }

    /// Returns the body of a success.
    ///
    /// - Throws: `ProviderError` for any other response.
    func object() throws -> JSONValue {
        guard isSuccess else { throw ProviderError("request failed with status \(status)") }
        guard case .object = json else { throw ProviderError("the response is not a JSON object") }
        return json
    }
}

/// The HTTP client for identity providers, for the addresses in the settings and in the providers' metadata.
///
/// Redirects are not followed, so that a response always comes from the requested host.
final class ProviderHTTP: Service {
    /// The largest response in bytes; key documents have a few thousand.
    private static let maximumBody = 262_144
    /// The timeout of a request, from connecting to the last byte of the response.
    private static let timeout: Duration = .seconds(5)
    /// The most concurrent requests; further ones fail with 503.
    private static let maximumInFlight = 64

    private let client: HTTPClient
    private let inFlight = Lock(0)

    /// - Parameter trustedCA: certificates of CAs to trust in addition to the system's, PEM.
    /// - Throws: `SettingError` for certificates that cannot be read.
    init(trustedCA: String?) throws {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try TLSConfiguration.outbound(trustedCA: trustedCA),
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(3), read: TimeAmount(Self.timeout)),
            decompression: .disabled
        )
        configuration.connectionPool.idleTimeout = .seconds(30)
        // A failed connection is reported at once, not at the deadline.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }

    /// - Throws: `ProviderError` if there is no response; a 503 if too many requests are running.
    func get(_ url: String, bearer: String? = nil) async throws -> ProviderResponse {
        var request = HTTPClientRequest(url: url)
        if let bearer { request.headers.add(name: "authorization", value: "Bearer \(bearer)") }
        return try await send(request)
    }

    /// Sends a form; `basic` is a name and a password.
    ///
    /// - Throws: like `get(_:bearer:)`.
    func post(
        _ url: String,
        _ form: KeyValuePairs<String, String?>,
        basic: (name: String, password: String)? = nil
    ) async throws -> ProviderResponse {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        if let basic {
            // Name and password are form-encoded before they are joined (RFC 6749, section 2.3.1).
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
        // The parse error is ignored: `json` is null for a body that is not JSON.
        let json = try? JSONParser.parse(body.readableBytesView, repairing: true)
        return ProviderResponse(status: Int(status.code), json: json ?? .null)
    }

    private func exchange(_ request: HTTPClientRequest) async throws -> (HTTPResponseStatus, ByteBuffer) {
        do {
            // The client's own timeout ends with the response head, and a body may arrive slowly.
            return try await within(Self.timeout) { [client] in
                var request = request
                request.headers.add(name: "accept", value: "application/json")
                let response = try await client.execute(request, timeout: TimeAmount(Self.timeout))
                return (response.status, try await response.body.collect(upTo: Self.maximumBody))
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch is DeadlineExceeded {
            throw ProviderError("timeout")
        } catch is NIOTooManyBytesError {
            throw ProviderError("the response is too large")
        } catch let error as HTTPClientError {
            // The short description contains no URL, which may contain a token.
            throw ProviderError("no response: \(error.shortDescription)")
        } catch {
            throw ProviderError("connection failed")
        }
    }

    /// Keeps connections open until the service stops.
    func run() async throws {
        // A cancellation stops the service as well, so the error is ignored.
        try? await gracefulShutdown()
        // The error about open requests is ignored, because the service has stopped.
        try? await shutdown()
    }

    func shutdown() async throws { try await client.shutdown() }
}

/// The encoding of `application/x-www-form-urlencoded` and queries: all but letters, digits and `-._~` is
/// percent-encoded.
enum FormCoding {
    static func encode(_ text: String) -> String { ServiceClient.percentEncoded(text) }

    /// Returns the encoded fields; fields without a value are omitted.
    static func fields(_ fields: KeyValuePairs<String, String?>) -> String {
        fields.compactMap { name, value in value.map { "\(encode(name))=\(encode($0))" } }.joined(separator: "&")
    }

    /// Returns the URL with the fields added to its query.
    static func url(_ base: String, adding fields: KeyValuePairs<String, String?>) -> String {
        base + (base.contains("?") ? "&" : "?") + self.fields(fields)
    }
}
