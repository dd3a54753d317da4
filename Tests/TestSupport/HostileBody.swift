import CoreFoundation
import HTTPTypes
import Testing
import Wire

/// JSON text that is expensive to parse for its size: many values, deep nesting, or slow strings.
package struct HostileBody: Sendable, CustomStringConvertible {
    package let name: String
    package let text: String

    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }

    package var description: String { "\(name), \(text.utf8.count) bytes" }

    /// Returns all kinds with about `size` bytes, each in a field of any shape and in an unknown field.
    package static func all(of size: Int, wellFormedOnly: Bool = false) -> [HostileBody] {
        kinds(of: size / 2).filter { !wellFormedOnly || $0.isWellFormed }.map { kind in
            HostileBody(name: kind.name, text: #"{"meta":{"z":\#(kind.text)},"zz":\#(kind.text)}"#)
        }
    }

    private static func kinds(of size: Int) -> [(name: String, text: String, isWellFormed: Bool)] {
        func list(_ element: String, _ size: Int) -> String {
            "[" + Array(repeating: element, count: max(1, size / (element.utf8.count + 1))).joined(separator: ",") + "]"
        }
        func deep(_ levels: Int, _ inner: String) -> String {
            String(repeating: "[", count: levels) + inner + String(repeating: "]", count: levels)
        }
        func string(_ part: String) -> String {
            "\"" + String(repeating: part, count: size / part.utf8.count) + "\""
        }
        let names = (0..<size / 12).map { #""k\#(100_000 + $0)":0"# }.joined(separator: ",")
        return [
            ("many objects", list(#"{"":0}"#, size), true),
            ("empty objects, 13 levels deep", deep(12, list("{}", size)), true),
            ("empty objects, 58 levels deep", deep(57, list("{}", size)), true),
            ("many numbers", list("1.5", size), true),
            ("a long number", String(repeating: "7", count: size), true),
            ("many names", "{\(names)}", true),
            ("one name many times", "{" + list(#""data":"x""#, size).dropFirst().dropLast() + "}", true),
            ("many short strings", list(#""ab""#, size), true),
            ("escapes", string(#"\u00e9"#), true),
            ("combining marks", string("\u{301}\u{316}"), true),
            ("a name of combining marks", "{\(string("\u{301}\u{316}")):0}", true),
            ("a bad escape behind deep values", "[" + deep(57, list("{}", size)) + #","\q"]"#, false),
            ("deep arrays without an end", String(repeating: "[", count: size), false),
            ("a string without an end", "\"" + String(repeating: "\\\\", count: size / 2), false),
        ]
    }
}

/// Limits the processor time that a request body may cause.
package enum CostTest {
    /// Returns this process's processor time in seconds.
    private static func spent() -> Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }

    /// Returns this thread's processor time in seconds, which other tests do not affect.
    package static func spentByThread() -> Double { seconds(CLOCK_THREAD_CPUTIME_ID) }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The time to parse 100 kB of plain objects in this build on this machine: 3 ms in a release build.
    private static let reference: Double = {
        let object = #"{"id":12345,"name":"a name","tags":["one","two"],"isOpen":true,"size":1.5}"#
        let text = Array(("[" + Array(repeating: object, count: 1_300).joined(separator: ",") + "]").utf8)
        return (0..<5).map { _ in
            let start = spentByThread()
            _ = try? WireJSON.decoder().decode(JSONValue.self, from: text)
            return spentByThread() - start
        }
        .min() ?? 0
    }()

    /// Returns the allowed time for a body in seconds: 8 times the reference for its size, plus the time of 100 kB for
    /// the rest of the request.
    ///
    /// In a release build this is 25 ms per 100 kB.
    package static func allowance(for bytes: Int) -> Double {
        8 * reference * (1 + Double(bytes) / 100_000)
    }

    /// Expects a response to each body within its allowance, and without a server error.
    ///
    /// Other tests run in the same process, so the fastest of several tries counts.
    ///
    /// - Parameters:
    ///   - label: the name of the target, for messages.
    ///   - bodies: the bodies to send.
    ///   - send: sends a body, and returns the status.
    /// - Throws: the error of `send`.
    package static func check(
        _ label: String,
        _ bodies: [HostileBody],
        _ send: (String) async throws -> Int
    ) async throws {
        for body in bodies {
            let allowance = allowance(for: body.text.utf8.count)
            var least = Double.infinity
            for attempt in 0..<40 where least > allowance {
                // Other tests slow single tries down, but not the fastest of five to four times the allowance.
                if attempt >= 5, least > 4 * allowance { break }
                let start = spent()
                let status = try await send(body.text)
                least = min(least, spent() - start)
                #expect(status < 500, "\(label) with \(body): \(status)")
            }
            #expect(least <= allowance, "\(label) with \(body): \(least) s, allowed are \(allowance) s")
        }
    }

    /// Sends hostile bodies to all routes that accept a body.
    package static func check(
        _ routes: [PublicRoute],
        _ send: (_ route: PublicRoute, _ body: String) async throws -> Int
    ) async throws {
        let bodies = [15_000, 240_000].flatMap { HostileBody.all(of: $0) }
        for route in routes where route.method != .get {
            try await check(route.description, bodies) { try await send(route, $0) }
        }
    }
}
