import Foundation
import TestSupport
import Testing
import Wire

/// What reading JSON costs.
///
/// The clock is that of the thread, so that other tests and programs do not count.
@Suite("Cost of JSON", .serialized) struct CostTests {
    private struct Draft: Decodable {
        var meta: JSONValue?
        var zz: JSONValue?
        var members: [String]?
    }

    private static let unlimited: JSONLimits = {
        var limits = JSONLimits(bytes: .max, values: .max, depth: 128)
        limits.freeDepth = 128
        return limits
    }()

    private func seconds(_ body: HostileBody, _ limits: JSONLimits) -> Double {
        let bytes = Array(body.text.utf8)
        return (0..<5).map { _ in
            let start = CostTest.spentByThread()
            // A refusal is as good as a value: its cost counts.
            _ = try? WireJSON.decode(Draft.self, from: bytes, limits: limits)
            return CostTest.spentByThread() - start
        }
        .min() ?? 0
    }

    @Test("Every hostile body is read or refused within 50 ms per 100 kB")
    func bounded() {
        for size in [16_000, 250_000, 1_000_000] {
            for limits in [JSONLimits.open, .body, .large, .free, Self.unlimited] {
                for body in HostileBody.all(of: size) {
                    let spent = seconds(body, limits)
                    #expect(spent <= CostTest.allowance(for: size), "\(body): \(spent) s")
                }
            }
        }
    }

    @Test("Twice the body takes at most 2.5 times as long")
    func linear() {
        for (body, double) in zip(HostileBody.all(of: 200_000), HostileBody.all(of: 400_000)) {
            let ratio = seconds(double, Self.unlimited) / max(seconds(body, Self.unlimited), 0.000_5)
            #expect(ratio <= 2.5, "\(body): \(ratio)")
        }
    }

    @Test("A body has at most so many values that they take less than 2 MB of memory")
    func memory() throws {
        // Each empty array or object counts as two values, and none takes more than 200 bytes.
        #expect(JSONLimits.large.values * 200 <= 2_000_000)
        let objects = "[" + Array(repeating: #"{"":0}"#, count: 5_000).joined(separator: ",") + "]"
        #expect(throws: APIError.self) {
            try WireJSON.decode(JSONValue.self, from: Array(objects.utf8), limits: .large)
        }
    }
}
