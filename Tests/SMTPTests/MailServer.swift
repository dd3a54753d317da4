import ChildProcesses
import Foundation
import SMTP
import Synchronization
import TestSupport

/// An aiosmtpd server that runs during a test (scripts/smtp-server.py).
struct MailServer: Sendable {
    /// An email as Python's parser reads it.
    struct Mail: Decodable, Sendable {
        var sender: String
        var receivers: [String]
        var isEncrypted: Bool
        var isSignedIn: Bool
        var subject: String
        var from: String
        var to: String
        var messageID: String
        var date: String
        var headers: [String]
        var text: String
        var html: String?
        var defects: [String]
        var longest: Int
        var isASCII: Bool
    }

    struct Failure: Error {
        var output: String
    }

    let port: Int
    let certificate: String
    private let process: ChildProcess
    private let output: Output

    /// The server's output so far.
    private final class Output: Sendable {
        private let text = Mutex("")

        func append(_ bytes: [UInt8]) { text.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }

        var whole: String { text.withLock { $0 } }
        /// The complete lines.
        var lines: [Substring] { whole.split(separator: "\n", omittingEmptySubsequences: false).dropLast() }
    }

    /// The emails that the server has received.
    ///
    /// Other lines of the output are log messages, for example about a client that disconnected.
    var mails: [Mail] {
        get throws {
            try output.lines.filter { $0.hasPrefix("{") }
                .map { try JSONDecoder().decode(Mail.self, from: Data($0.utf8)) }
        }
    }

    /// Waits for the first email, which the server prints shortly after its reply.
    func mail() async throws -> Mail {
        try await Self.found(in: output, of: process) { try mails.first }
    }

    static func run(_ mode: String, _ body: (MailServer) async throws -> Void) async throws {
        let folder = "\(NSTemporaryDirectory())/smtp-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A failed removal only leaves a temporary folder behind.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let environment = ProcessInfo.processInfo.environment
        let python = try await PythonPrograms.path("mail")
        let made = try await ProcessCommand(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", "\(folder)/key.pem", "-out", "\(folder)/certificate.pem",
            ],
            environment: environment
        ).run(within: .seconds(60))
        guard made.status.isSuccess else { throw Failure(output: made.output) }

        let output = Output()
        var command = ProcessCommand(
            python,
            ["\(PythonPrograms.scripts)/smtp-server.py", mode, folder],
            environment: environment
        )
        command.input = .held
        command.output = .chunks { output.append($0) }
        let process = try await ChildProcess.start(command)
        do {
            let certificate = try String(contentsOfFile: "\(folder)/certificate.pem", encoding: .utf8)
            let port: Int = try await found(in: output, of: process) { output.lines.first.flatMap { Int($0) } }
            try await body(MailServer(port: port, certificate: certificate, process: process, output: output))
        } catch {
            process.closeInput()
            _ = await process.exit()
            throw error
        }
        process.closeInput()
        _ = await process.exit()
    }

    /// Returns what `find` finds in the server's output; waits at most a minute, and only while the server runs.
    private static func found<Value>(
        in output: Output,
        of process: ChildProcess,
        _ find: () throws -> Value?
    ) async throws -> Value {
        do {
            try await eventually(within: .seconds(60)) { try find() != nil || process.status != nil }
        } catch is TestSupportError {
            // The server's output explains the failure better than a timeout does.
            throw Failure(output: output.whole)
        }
        guard let value = try find() else { throw Failure(output: output.whole) }
        return value
    }

    func client(_ url: String, trusting: Bool = true) throws -> SMTPClient {
        var configuration = try SMTPConfiguration(url: url)
        configuration.trustedCA = trusting ? certificate : nil
        return try SMTPClient(configuration)
    }

    static func message(
        to receiver: String = "bo@example.net",
        subject: String = "Hello",
        text: String = "Hello\n",
        html: String? = nil
    ) throws -> MailMessage {
        MailMessage(
            from: try MailAddress("no-reply@example.org", name: "Roost, the \"social\" one"),
            to: try MailAddress(receiver),
            subject: subject,
            text: text,
            html: html,
            messageID: "one@example.org",
            date: Date(timeIntervalSince1970: 1_795_338_300)
        )
    }
}
