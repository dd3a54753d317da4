import Foundation
package import ServiceClient
import Synchronization
package import Wire

/// A fake subscriber service that accepts and stores every event.
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

    /// Returns the received events once there are at least `count`.
    package func events(_ count: Int) async throws -> [Event] {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let events = received.withLock { $0 }
            if events.count >= count { return events }
            guard ContinuousClock.now < deadline else { throw TestSupportError("received only \(events.map(\.type))") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
