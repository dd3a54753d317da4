import Configuration
import Foundation
import Logging
import NIOCore
import NIOSSL
import ServiceHost
import Testing

@testable import GatewayServer

/// Encrypted connections and their certificates.
@Suite("TLS") struct TLSTests {
    @Test("A client without HTTP/2 is served over HTTP/1.1, with HSTS", arguments: [["http/1.1"], ["gopher"], []])
    func http1Client(protocols: [String]) async throws {
        try await withTLSGateway(settings: { $0.hstsSeconds = 3_600 }) { fixture async throws in
            try await fixture.connectTLS(over: protocols) { connection async throws in
                for number in 0..<3 {
                    try await connection.send(fixture.signed("GET /conversations?n=\(number)"))
                    let response = try #require(try await connection.message())
                    #expect(response.status == 200)
                    #expect(response["strict-transport-security"] == ["max-age=3600"])
                    #expect(fixture.forwarded(response)["x-forwarded-proto"] == ["https"])
                    #expect(fixture.forwarded(response).target == "/conversations?n=\(number)")
                }
            }
        }
    }

    @Test("HSTS is not sent in cleartext")
    func noHSTSInCleartext() async throws {
        try await withGateway(settings: { $0.hstsSeconds = 3_600 }) { fixture async throws in
            let response = try await fixture.get("/conversations")
            #expect(response["strict-transport-security"].isEmpty)
            #expect(fixture.forwarded(response)["x-forwarded-proto"] == ["http"])
        }
    }

    @Test("Large bodies pass in both directions")
    func largeBodies() async throws {
        let body = Pattern.bytes(atLeast: 1_000_000)
        try await withTLSGateway(script: { connection, _ in
            while let request = try await connection.message() {
                try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: \(request.body.count)\r\n\r\n")
                try await connection.send(request.body)
            }
        }) { fixture async throws in
            try await fixture.connectTLS { connection async throws in
                let fields = "content-length: \(body.count)\r\n"
                try await connection.send(fixture.signed("POST /conversations/create", fields: fields))
                try await connection.send(body)
                #expect(try await connection.message()?.body == body)
            }
        }
    }

    @Test("An error response arrives before the connection closes")
    func errorIsDelivered() async throws {
        try await withTLSGateway { fixture async throws in
            try await fixture.connectTLS { connection async throws in
                try await connection.send("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n")
                #expect(try await connection.message()?.status == 400)
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test("A WebSocket works over TLS")
    func webSocket() async throws {
        try await withTLSGateway(script: { connection, service in
            service.record(try #require(try await connection.message()))
            try await connection.send(
                "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nhello"
            )
            while let piece = try await connection.piece() { try await connection.send(piece) }
            service.record(bytes: 1)
        }) { fixture async throws in
            try await fixture.connectTLS { connection async throws in
                try await connection.send(
                    "GET /socket.io/?EIO=4 HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n"
                )
                #expect(try await connection.message()?.status == 101)
                #expect(try await connection.text(5) == "hello")
                try await connection.send("there and back")
                #expect(try await connection.text(14) == "there and back")
            }
            try await eventually { fixture.service.received == 1 }
        }
    }

    @Test("TLS before 1.2 is refused")
    func oldTLSVersion() async throws {
        try await withTLSGateway { fixture async throws in
            try await fixture.connectTLS(upTo: .tlsv11) { connection async throws in
                _ = await #expect(throws: (any Error).self) { try await connection.send("GET / HTTP/1.1\r\n\r\n") }
            }
            try await fixture.connectTLS(upTo: .tlsv12) { connection async throws in
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
            }
        }
    }

    @Test("A handshake that takes too long ends the connection")
    func slowHandshake() async throws {
        try await withTLSGateway(settings: { $0.headerTimeout = .milliseconds(200) }) { fixture async throws in
            // An incomplete record with a long handshake, and no bytes at all.
            for beginning in [[0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC] as [UInt8], []] {
                try await fixture.connect { connection async throws in
                    if !beginning.isEmpty { try await connection.send(beginning) }
                    _ = try await connection.rest()
                }
            }
        }
    }

    @Test("HTTP in cleartext gets no response")
    func cleartext() async throws {
        try await withTLSGateway { fixture async throws in
            try await fixture.connect { connection async throws in
                try await connection.send("GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
                #expect(try await !connection.rest().contains("HTTP"))
            }
        }
    }

    // MARK: Certificates

    @Test("A reload uses a new certificate, ignores an invalid one and keeps open connections")
    func certificateReload() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        func write(_ certificate: String, _ key: String) throws {
            try Data(certificate.utf8).write(to: directory.appending(path: "certificate.pem"))
            try Data(key.utf8).write(to: directory.appending(path: "key.pem"))
        }
        func der(_ pem: String) throws -> [UInt8] {
            try NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem).toDERBytes()
        }
        try write(TestCertificate.certificateA, TestCertificate.keyA)
        let path = directory.appending(path: "certificate.pem").path
        let keyPath = directory.appending(path: "key.pem").path

        try await withTLSGateway(settings: { configuration in
            configuration.certificates = try ServerCertificate(CertificateSource(certificate: path, key: keyPath))
        }) { fixture async throws in
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            // The reload that SIGHUP causes.
            let hangup = ReloadOnSIGHUP([fixture.gateway], logger: logger) {
                let url = "http://127.0.0.1:\(fixture.service.port)"
                let settings = [
                    "TLS_CERTIFICATE": path, "TLS_KEY": keyPath, "AUTH_URL": url, "CONVERSATIONS_URL": url,
                    "HEALTH_INTERVAL": "0",
                ]
                return ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
            }
            func shown() async throws -> [UInt8]? {
                try await fixture.connectTLS { connection async throws in
                    try await connection.send(fixture.signed("GET /conversations"))
                    #expect(try await connection.message()?.status == 200)
                    return try await connection.certificate()
                }
            }
            try await fixture.connectTLS { first async throws in
                try await first.send(fixture.signed("GET /conversations"))
                #expect(try await first.message()?.status == 200)
                #expect(try await first.certificate() == der(TestCertificate.certificateA))

                for (certificate, key) in [(TestCertificate.certificateB, TestCertificate.keyA), ("", "")] {
                    try write(certificate, key)
                    await hangup.reload()
                    #expect(try await shown() == der(TestCertificate.certificateA))
                }
                try write(TestCertificate.certificateB, TestCertificate.keyB)
                await hangup.reload()
                #expect(try await shown() == der(TestCertificate.certificateB))

                try await first.send(fixture.signed("GET /conversations"))
                #expect(try await first.message()?.status == 200)
            }
        }
    }

    @Test(
        "An unusable certificate or key is refused with the name of the setting",
        arguments: [
            (TestCertificate.certificateA, TestCertificate.keyB, "TLS_KEY does not match the certificate"),
            (
                "/nowhere/certificate.pem", TestCertificate.keyA,
                "TLS_CERTIFICATE names the file /nowhere/certificate.pem"
            ),
            (TestCertificate.certificateA, "/nowhere/key.pem", "TLS_KEY names the file /nowhere/key.pem"),
            (TestCertificate.keyA, TestCertificate.keyA, "TLS_CERTIFICATE contains no readable PEM"),
            (TestCertificate.certificateA, TestCertificate.certificateA, "TLS_KEY contains no readable PEM"),
            (TestCertificate.certificateA, "-----BEGIN ENCRYPTED PRIVATE KEY-----", "TLS_KEY is encrypted"),
        ]
    )
    func unusableCertificate(certificate: String, key: String, message: String) {
        let error = #expect(throws: SettingError.self) {
            try ServerCertificate(CertificateSource(certificate: certificate, key: key))
        }
        #expect(error?.description.hasPrefix(message) == true, "\(String(describing: error))")
    }

    @Test("A certificate counts as expiring in its last 14 days")
    func expiryWarning() throws {
        let certificates = try ServerCertificate(TestCertificate.a)
        let expiry = try NIOSSLCertificate(bytes: Array(TestCertificate.certificateA.utf8), format: .pem).notValidAfter
        let end = Date(timeIntervalSince1970: TimeInterval(expiry))
        #expect(certificates.validity(at: end.addingTimeInterval(-15 * 86_400)) == .valid)
        #expect(certificates.validity(at: end.addingTimeInterval(-13 * 86_400)) == .expiring)
        #expect(certificates.validity(at: end.addingTimeInterval(60)) == .expired)
    }
}
