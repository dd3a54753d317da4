import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Wire

/// The requests of an APNs client.
extension SandboxFixture {
    /// Returns the headers of a valid notification.
    func validHeaders(token: String? = nil) throws -> HTTPHeaders {
        let token = try token ?? clock.token(credentials)
        return ["authorization": "bearer \(token)", "apns-topic": credentials.apns.topic]
    }

    /// Sends a notification that is valid except for the values that are given.
    func push(
        to device: String = SandboxFixture.device,
        token: String? = nil,
        headers change: [String: String?] = [:],
        payload: String = SandboxFixture.alert,
        at host: String? = nil,
        within limit: TimeAmount = .seconds(20)
    ) async throws -> SandboxResponse {
        var headers = try validHeaders(token: token)
        for (name, value) in change {
            headers.remove(name: name)
            if let value { headers.add(name: name, value: value) }
        }
        let url = "\(host ?? sandbox.apnsURL)/3/device/\(device)"
        return try await send(.POST, url, headers: headers, body: Data(payload.utf8), within: limit)
    }
}

extension SandboxResponse {
    /// The reason of an APNs error.
    var reason: String? {
        get throws { try json()["reason"]?.text }
    }
}
