import AsyncHTTPClient
import Blobs
import NIOCore
import NIOHTTP1
import NetworkGuard
import ServiceHost
import Wire

/// Downloads avatars from URLs that anyone may have chosen: only from allowed hosts, and without following redirects.
struct AvatarDownloader: Sendable {
    private static let headTimeout: TimeAmount = .seconds(10)

    let connections: OutboundConnections
    let hosts: AddressGuard

    /// Returns whether the URL's host may be allowed; the address is checked again when the connection is made.
    func mayConnect(_ url: String) -> Bool { HTTPOrigin(url).map { hosts.mayConnect($0) } ?? false }

    /// Writes the image at the URL into `sink`.
    ///
    /// - Throws: `notFound` if there is no image and a retry cannot help; other errors may be temporary.
    func read(_ url: String, into sink: any BlobSink) async throws {
        guard mayConnect(url) else { throw Self.notFound }
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "accept", value: "image/*")
        let deadline = NIODeadline.now() + Self.headTimeout
        let response = try await connections.execute(request, guardedBy: hosts, deadline: deadline)
        let status = Int(response.status.code)
        guard status == 200 else {
            throw status >= 500 || status == 429 ? APIError.unavailable("the avatar") : Self.notFound
        }
        for try await piece in response.body { try await sink.write(piece) }
    }

    private static let notFound = APIError(.notFound, "picture_not_found", "there is no image at this URL")
}
