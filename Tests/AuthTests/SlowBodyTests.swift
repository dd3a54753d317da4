import NIOCore
import NIOCore
import TestSupport
import Testing

/// Clients that send the body of a request one byte a second.
@Suite("Slow bodies") struct SlowBodyTests {
    @Test("Slow bodies on an open route delay no other client and end in time", arguments: [1_000, nil] as [Int?])
    func slow(length: Int?) async throws {
        try await withAuth { auth in
            try await auth.service.served(bodyGrace: .seconds(3)) { port in
                let fields = ["content-type": "application/json"]
                let slow = try await SlowUploads.open(
                    "POST",
                    "/auth/login",
                    at: port,
                    fields: fields,
                    length: length,
                    start: "{",
                    count: 64,
                    holdingAtMost: 0,
                    isDripping: true
                ) {
                    for length in [2, nil] {
                        let other = try await SlowUploads.open(
                            "POST",
                            "/auth/anonymous",
                            at: port,
                            fields: fields,
                            length: length,
                            start: "{}",
                            count: 5,
                            holdingAtMost: 0,
                            isWhole: true
                        )
                        #expect(other.answered == [200: 5])
                    }
                }
                #expect(slow.answered == [0: 64])
            }
        }
    }
}
