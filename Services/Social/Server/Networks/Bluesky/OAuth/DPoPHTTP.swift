import Foundation
import HTTPTypes
import Locks
import NIOCore
import ServiceHost
import Wire

/// Sends requests with a proof of possession of a key (DPoP), and with a nonce if the server requires one.
struct DPoPHTTP: NetworkHTTP {
    let http: any NetworkHTTP
    let key: DPoPKey
    /// The token that is bound to the key; a request with this token uses the `DPoP` scheme.
    let token: String?
    let nonces: DPoPNonces
    let now: @Sendable () -> Date

    func mayConnect(_ url: String) -> Bool { http.mayConnect(url) }

    func send(_ request: NetworkRequest) async throws -> NetworkResponse {
        let lastNonce = nonces[request.url]
        let response = try await http.send(proven(request, nonce: lastNonce))
        nonces.note(response.headers, of: request.url)
        // A request that was rejected because of its nonce had no effect, so it is sent again even if it writes.
        guard response.wantsNonce, let fresh = nonces[request.url], fresh != lastNonce else { return response }
        let again = try await http.send(proven(request, nonce: fresh))
        nonces.note(again.headers, of: request.url)
        return again
    }

    func open(_ request: NetworkRequest) async throws -> NetworkStream {
        let stream = try await http.open(proven(request, nonce: nonces[request.url]))
        nonces.note(stream.headers, of: request.url)
        return stream
    }

    private func proven(_ request: NetworkRequest, nonce: String?) throws -> NetworkRequest {
        var request = request
        let hasToken = token.map { request.headers[.authorization] == "Bearer \($0)" } ?? false
        let proof = try key.proof(of: request, token: hasToken ? token : nil, nonce: nonce, now: now())
        if hasToken, let token { request.headers[.authorization] = "DPoP \(token)" }
        return request.with("DPoP", proof)
    }
}

/// The nonces that servers require in the next proof, by origin.
final class DPoPNonces: Sendable {
    private static let capacity = 4_096

    private let nonces = Lock<[HTTPOrigin: String]>([:])

    subscript(url: String) -> String? {
        HTTPOrigin(url).flatMap { origin in nonces.withLock { $0[origin] } }
    }

    fileprivate func note(_ headers: HTTPFields, of url: String) {
        guard let name = HTTPField.Name("DPoP-Nonce"), let nonce = headers[name], let origin = HTTPOrigin(url) else {
            return
        }
        nonces.withLock { nonces in
            // Nonces are valid for minutes. Without one, a server rejects the request and sends the nonce that it
            // requires.
            if nonces.count >= Self.capacity { nonces.removeAll() }
            nonces[origin] = nonce
        }
    }
}

extension NetworkResponse {
    /// Whether the request was rejected for lack of a nonce (RFC 9449, sections 8 and 9).
    fileprivate var wantsNonce: Bool {
        guard status == 400 || status == 401 else { return false }
        let challenge = headers[.wwwAuthenticate] ?? ""
        return challenge.contains("use_dpop_nonce")
            || ParsedResponse(self).json?["error"]?.text == "use_dpop_nonce"
    }
}
