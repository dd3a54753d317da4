package import Foundation
import Wire

/// Somebody whom not every service has wiped yet, without his name.
package struct PendingDeparture: Codable, Hashable, Sendable, Listed {
    package static let pluralName = "deletions"

    package var departureId: String
    package var begunAt: Date
    /// How often the services were asked: 1, 2.
    package var round: Int
    /// Those that have not answered.
    package var waitsFor: [String]

    package init(departureId: String, begunAt: Date, round: Int, waitsFor: [String]) {
        self.departureId = departureId
        self.begunAt = begunAt
        self.round = round
        self.waitsFor = waitsFor
    }
}
