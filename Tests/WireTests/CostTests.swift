import Foundation
import TestSupport
import Testing
import Wire

/// The processor time of reading JSON, measured by the thread's clock so that other tests do not count.
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

    /// The least time of several tries; of one if that is low enough.
    private func seconds(_ body: HostileBody, _ limits: JSONLimits, enough: Double = 0) -> Double {
        let bytes = Array(body.text.utf8)
        var least = Double.infinity
        for _ in 0..<3 where least > enough {
            let start = CostTest.spentByThread()
            // A rejection counts like a value, because its cost matters too.
            _ = try? WireJSON.decode(Draft.self, from: bytes, limits: limits)
            least = min(least, CostTest.spentByThread() - start)
        }
        return least
    }

    @Test("Every hostile body is read or refused within 50 ms per 100 kB")
    func bounded() {
        for size in [16_000, 250_000] {
            let allowed = CostTest.allowance(for: size)
            for limits in [JSONLimits.open, .body, .free, Self.unlimited] {
                for body in HostileBody.all(of: size) {
                    let spent = seconds(body, limits, enough: allowed)
                    #expect(spent <= allowed, "\(body): \(spent) s")
                }
            }
        }
    }

    @Test("Twice the body takes at most 2.5 times as long")
    func linear() {
        for (body, double) in zip(HostileBody.all(of: 100_000), HostileBody.all(of: 200_000)) {
            // Other programs share the processor's caches, so the least times of several rounds are compared. A
            // quadratic
            // reader has a ratio of 4 in each round.
            var (once, twice, ratio) = (Double.infinity, Double.infinity, Double.infinity)
            for _ in 0..<8 where ratio > 2.5 {
                once = min(once, max(seconds(body, Self.unlimited), 0.000_5))
                twice = min(twice, seconds(double, Self.unlimited))
                ratio = twice / once
            }
            #expect(ratio <= 2.5, "\(body): \(ratio)")
        }
    }

    @Test("The values of a body are limited so that they take less than 2 MB of memory")
    func memory() throws {
        // Each empty array or object counts as two values, and none takes more than 200 bytes.
        #expect(JSONLimits.large.values * 200 <= 2_000_000)
        let objects = "[" + Array(repeating: #"{"":0}"#, count: 5_000).joined(separator: ",") + "]"
        #expect(throws: APIError.self) {
            try WireJSON.decode(JSONValue.self, from: Array(objects.utf8), limits: .large)
        }
    }
}
