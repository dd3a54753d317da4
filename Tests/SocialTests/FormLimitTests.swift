import HTTPTypes
import TestSupport
import Testing

/// Forms are held in memory while they are read and published.
@Suite("Form limits") struct FormLimitTests {
    private static let file = "--xyz\r\ncontent-disposition: form-data; name=\"photo\"; filename=\"a.jpg\"\r\n\r\nabc"
    private static let field = "--xyz\r\ncontent-disposition: form-data; name=\"meta\"\r\n\r\n{"

    /// Every route that reads a form, and whether it takes files.
    private static let routes: [(method: String, path: String, takesFiles: Bool)] = [
        ("POST", "/feed", true), ("POST", "/feed/schedule", true), ("GET", "/feed", false), ("GET", "/messages", false),
        ("POST", "/messages", false), ("GET", "/notifications", false), ("POST", "/notifications", false),
        ("GET", "/scroll/feed", false), ("POST", "/scroll/feed", false), ("GET", "/scroll/messages", false),
        ("POST", "/scroll/messages", false), ("GET", "/scroll/notifications", false),
        ("POST", "/scroll/notifications", false),
    ]

    @Test("The slow forms of one user are limited by number and by bytes on every route")
    func slowForms() async throws {
        try await withSocial { fixture in
            let fields = [
                "authorization": "Bearer \(fixture.ann.token)", "content-type": "multipart/form-data; boundary=xyz",
            ]
            try await fixture.service.served { port in
                for route in Self.routes {
                    for length in [24_000_000, nil] {
                        let (start, most) = route.takesFiles ? (Self.file, 2) : (Self.field, 4)
                        let uploads = try await SlowUploads.open(
                            route.method,
                            route.path,
                            at: port,
                            fields: fields,
                            length: length,
                            start: start,
                            count: 8,
                            holdingAtMost: most
                        )
                        #expect(uploads.answered.keys.allSatisfy { $0 == 429 }, "\(route): \(uploads.answered)")
                    }
                }
            }
            // The limits are released.
            try await eventually("free again") { try await fixture.ann.ask(.post, "/feed", "{}").status == 200 }
        }
    }

    @Test("A file is rejected before its bytes on a route that publishes nothing")
    func unwantedFiles() async throws {
        try await withSocial { fixture in
            let fields = [
                "authorization": "Bearer \(fixture.ann.token)", "content-type": "multipart/form-data; boundary=xyz",
            ]
            try await fixture.service.served { port in
                for route in Self.routes where !route.takesFiles {
                    let uploads = try await SlowUploads.open(
                        route.method,
                        route.path,
                        at: port,
                        fields: fields,
                        length: 24_000_000,
                        start: Self.file,
                        count: 3,
                        holdingAtMost: 0
                    )
                    // A request counts until its response is sent, so the next request may come too early.
                    #expect(
                        uploads.answered.keys.allSatisfy { [415, 429].contains($0) },
                        "\(route): \(uploads.answered)"
                    )
                    #expect(uploads.answered[415] ?? 0 >= 1, "\(route): \(uploads.answered)")
                }
            }
        }
    }
}
