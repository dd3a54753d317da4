import Testing

@testable import ServiceHost

@Suite("Trace context") struct TraceParentTests {
    private let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test("A valid traceparent is forwarded")
    func valid() {
        #expect(TraceParent(good).text == good)
        #expect(TraceParent(good).traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
    }

    @Test("Of a traceparent header of a later version, only the fields known from version 00 are forwarded")
    func laterVersion() {
        #expect(TraceParent("cc" + good.dropFirst(2) + "-what-the-future-will-be-like").text == good)
    }

    @Test(
        "A missing or malformed traceparent is replaced",
        arguments: [
            nil, "", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        ]
    )
    func malformedTraceparent(given: String?) {
        let made = TraceParent(given)

        #expect(made.text != given)
        #expect(TraceParent(made.text) == made)
        #expect(TraceParent(given).traceID != made.traceID)
    }
}
