import Foundation
package import ServiceClient
import Synchronization
package import Wire

/// A service that takes every event and keeps it.
package final class EventRecorder: Transport {
    private let received = Mutex<[Event]>([])

    private let callee: String

    package init(callee: String) { self.callee = callee }

    package var client: ServiceClient { ServiceClient(callee: callee, transport: self, retry: .never) }

    package func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        let event = try WireJSON.decode(Event.self, from: request.body ?? Data())
        received.withLock { $0.append(event) }
        return ServiceResponse(status: 200)
    }

    /// What has come, once there are so many.
    package func events(_ count: Int) async throws -> [Event] {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let events = received.withLock { $0 }
            if events.count >= count { return events }
            guard ContinuousClock.now < deadline else { throw TestSupportError("only \(events.map(\.type)) came") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
