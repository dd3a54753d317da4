import AsyncHTTPClient
import Blobs
import NIOCore
import NIOHTTP1
import NetworkGuard
import ServiceHost
import Wire

/// Reads pictures at addresses that anybody may have written: at public places alone, and no further than these.
struct AvatarDownloader: Sendable {
    /// What the head of an answer may take.
    private static let headTimeout: TimeAmount = .seconds(10)

    let connections: OutboundConnections
    let hosts: AddressGuard

    /// Whether an address may be asked at all, as far as its spelling can tell.
    func mayConnect(_ url: String) -> Bool { HTTPOrigin(url).map { hosts.mayConnect($0) } ?? false }

    /// Hands over what is there.
    ///
    /// - Throws: `notFound` where there is nothing, and will be nothing; anything else may be otherwise another time.
    func read(_ url: String, into sink: any BlobSink) async throws {
        guard mayConnect(url) else { throw Self.nothing }
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "accept", value: "image/*")
        let deadline = NIODeadline.now() + Self.headTimeout
        let response = try await connections.execute(request, guardedBy: hosts, deadline: deadline)
        let status = Int(response.status.code)
        guard status == 200 else {
            throw status >= 500 || status == 429 ? APIError.unavailable("the picture") : Self.nothing
        }
        for try await piece in response.body { try await sink.write(piece) }
    }

    private static let nothing = APIError(.notFound, "picture_not_found", "there is no picture")
}
