import Foundation
import HTTPTypes
import Locks
import NIOCore
import ServiceHost
import Wire

/// Asks with the proof of a key, and with a nonce where a server wants one.
struct DPoPHTTP: NetworkHTTP {
    let http: any NetworkHTTP
    let key: DPoPKey
    /// The token that is bound to the key; a request that bears it bears it as such.
    let token: String?
    let nonces: DPoPNonces
    let now: @Sendable () -> Date

    func mayConnect(_ url: String) -> Bool { http.mayConnect(url) }

    func send(_ request: NetworkRequest) async throws -> NetworkResponse {
        let known = nonces[request.url]
        let response = try await http.send(proven(request, nonce: known))
        nonces.note(response.headers, of: request.url)
        // What was refused for its nonce was not done: it is asked once more, also where it writes.
        guard response.wantsNonce, let fresh = nonces[request.url], fresh != known else { return response }
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
        let bears = token.map { request.headers[.authorization] == "Bearer \($0)" } ?? false
        let proof = try key.proof(of: request, token: bears ? token : nil, nonce: nonce, now: now())
        if bears, let token { request.headers[.authorization] = "DPoP \(token)" }
        return request.with("DPoP", proof)
    }
}

/// What servers want to see in the next proof, each its own.
final class DPoPNonces: Sendable {
    private static let capacity = 4_096

    private let known = Lock<[HTTPOrigin: String]>([:])

    subscript(url: String) -> String? {
        HTTPOrigin(url).flatMap { origin in known.withLock { $0[origin] } }
    }

    fileprivate func note(_ headers: HTTPFields, of url: String) {
        guard let name = HTTPField.Name("DPoP-Nonce"), let nonce = headers[name], let origin = HTTPOrigin(url) else {
            return
        }
        known.withLock { known in
            // They last for minutes: who is forgotten is asked with none, and says what it wants.
            if known.count >= Self.capacity { known.removeAll() }
            known[origin] = nonce
        }
    }
}

extension NetworkResponse {
    /// Whether it was refused for want of a nonce (RFC 9449, sections 8 and 9).
    fileprivate var wantsNonce: Bool {
        guard status == 400 || status == 401 else { return false }
        let challenge = headers[.wwwAuthenticate] ?? ""
        return challenge.contains("use_dpop_nonce")
            || ParsedResponse(self).json?["error"]?.text == "use_dpop_nonce"
    }
}
