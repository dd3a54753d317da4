import Foundation
import TestSupport

/// Python libraries as reference implementations (scripts/push-oracle.py).
enum PythonReference {
    private struct TokenContents: Decodable {
        var header: [String: String]
        var claims: [String: ClaimValue]
    }

    struct ScriptError: Error {
        var output: String
    }

    /// Returns the header and claims of a token that PyJWT verifies.
    static func token(
        _ token: some StringProtocol,
        key: String,
        algorithm: String,
        audience: String? = nil
    ) async throws -> (header: [String: String], claims: [String: ClaimValue]) {
        var request = ["token": String(token), "key": key, "algorithm": algorithm]
        request["audience"] = audience
        let contents = try JSONDecoder().decode(TokenContents.self, from: try await runScript(request))
        return (contents.header, contents.claims)
    }

    /// Returns the text that http-ece decrypts with a browser's keys.
    static func text(of body: [UInt8], privateKey: String, auth: String) async throws -> String {
        let request = ["body": Data(body).base64EncodedString(), "privateKey": privateKey, "auth": auth]
        let standard = request.mapValues { $0.replacing("+", with: "-").replacing("/", with: "_") }
        return try JSONDecoder().decode([String: String].self, from: try await runScript(standard))["text"] ?? ""
    }

    private static func runScript(_ request: [String: String]) async throws -> Data {
        let script = "\(PythonPrograms.scripts)/push-oracle.py"
        return try await run(PythonPrograms.path("push"), [script], input: try JSONEncoder().encode(request))
    }

    private static func run(_ program: String, _ arguments: [String], input: Data) async throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let (into, out, problems) = (Pipe(), Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (into, out, problems)
        return try await withCheckedThrowingContinuation { continuation in
            // Reading the output blocks, and must not block a thread of the tests.
            let thread = Thread {
                do {
                    try process.run()
                    try into.fileHandleForWriting.write(contentsOf: input)
                    try into.fileHandleForWriting.close()
                    let output = out.fileHandleForReading.readDataToEndOfFile()
                    process.waitUntilExit()
                    guard process.terminationStatus == 0 else {
                        let errorText = problems.fileHandleForReading.readDataToEndOfFile()
                        throw ScriptError(output: String(decoding: errorText, as: UTF8.self))
                    }
                    continuation.resume(returning: output)
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            thread.start()
        }
    }
}

/// A claim of a token: a string or a number.
enum ClaimValue: Decodable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    case string(String)
    case number(Int)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .number(value) }
}
