import AsyncHTTPClient
package import ChildProcesses
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import Synchronization

/// A real object store with S3's protocol that verifies signatures: SeaweedFS on this machine.
package final class S3Server: Sendable {
    package static let accessKey = "roosttest"
    package static let secretKey = "roosttest-secret-that-nobody-else-has"
    package static let bucket = "roost-test"

    package let port: LoopbackPort
    private let filer: LoopbackPort
    private let others: [LoopbackPort]
    private let folder: String
    private let running = Mutex<ChildProcess?>(nil)

    /// Returns the server that all tests of this process share, except tests that stop it.
    package static func shared() async throws -> S3Server { try await sharing.value }

    private static let sharing = Task {
        let server = try S3Server()
        try await server.start()
        return server
    }

    package init() throws {
        Self.removeLeftovers()
        var ports = try LoopbackPort.free(8)
        port = ports.removeFirst()
        filer = ports.removeFirst()
        others = ports
        folder = NSTemporaryDirectory() + "\(Self.folderPrefix)\(getpid())-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let identities = #"""
            {"identities": [{"name": "roost", "actions": ["Admin", "Read", "Write", "List", "Tagging"],
              "credentials": [{"accessKey": "\#(Self.accessKey)", "secretKey": "\#(Self.secretKey)"}]}]}
            """#
        try identities.write(toFile: "\(folder)/s3.json", atomically: true, encoding: .utf8)
    }

    package var endpoint: String { "http://127.0.0.1:\(port.number)" }

    /// The settings of a service that stores its files on this server.
    package var settings: [String: String] {
        [
            "S3_ENDPOINT": endpoint, "S3_BUCKET": Self.bucket, "S3_ACCESS_KEY": Self.accessKey,
            "S3_SECRET_KEY": Self.secretKey,
        ]
    }

    /// Starts the server, which still has its data after ``kill()``, and creates the bucket.
    package func start() async throws {
        var command = ProcessCommand(
            try await PythonPrograms.path("s3"),
            [
                "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-dir=\(folder)", "-s3",
                "-s3.config=\(folder)/s3.json",
                "-s3.port=\(port.number)", "-filer.port=\(filer.number)", "-master.port=\(others[0].number)",
                "-volume.port=\(others[1].number)", "-s3.port.grpc=\(others[2].number)",
                "-filer.port.grpc=\(others[3].number)", "-master.port.grpc=\(others[4].number)",
                "-volume.port.grpc=\(others[5].number)", "-s3.port.iceberg=0", "-s3.port.lance=0",
                "-master.volumeSizeLimitMB=256",
                "-master.telemetry=false", "-volume.max=20",
            ],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "HOME": folder],
            workingDirectory: folder
        ).privileged(signalOnParentDeath: "KILL")
        command.output = .file(path: "\(folder)/log")
        let process = try await ChildProcess.start(command)
        running.withLock { $0 = process }
        try await eventually(within: .seconds(120), "answering") {
            guard process.status == nil else { throw TestSupportError("SeaweedFS exited: \(self.log)") }
            // The next poll repeats a failed check.
            return (try? await self.isReady()) ?? false
        }
    }

    package func kill() async {
        let process = running.withLock { $0 }
        process?.signal(SIGKILL)
        _ = await process?.exit()
    }

    /// Returns the names of all objects below a prefix that ends with a slash.
    package func objects(below prefix: String) async throws -> [String] {
        try await files(in: "/buckets/\(Self.bucket)/\(prefix)")
    }

    /// Returns the multipart uploads that are neither completed nor aborted.
    package func uploads() async throws -> [String] {
        try await names(in: "/buckets/\(Self.bucket)/.uploads/").map(\.name)
    }

    /// Runs `body` with a separate server, and kills the server afterwards.
    package static func with(_ body: (S3Server) async throws -> Void) async throws {
        let server = try S3Server()
        defer { try? FileManager.default.removeItem(atPath: server.folder) }
        let outcome: Result<Void, any Error>
        do {
            try await server.start()
            outcome = .success(try await body(server))
        } catch {
            outcome = .failure(error)
        }
        await server.kill()
        try outcome.get()
    }
}

extension S3Server {
    private static let folderPrefix = "roost-s3-"

    private struct Listing: Decodable {
        struct Entry: Decodable {
            let FullPath: String
            let Mode: UInt32
        }

        let Entries: [Entry]?
    }

    private struct Entry {
        let name: String
        let isFolder: Bool
    }

    private var log: String { (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? "" }

    private func files(in path: String) async throws -> [String] {
        var found: [String] = []
        for entry in try await names(in: path) {
            found += entry.isFolder ? try await files(in: "\(path)\(entry.name)/") : ["\(path)\(entry.name)"]
        }
        return found.map { $0.replacing("/buckets/\(Self.bucket)/", with: "") }.sorted()
    }

    /// Lists a folder with SeaweedFS's own filer API, which bypasses S3.
    private func names(in path: String) async throws -> [Entry] {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(filer.number)\(path)?limit=10000")
        request.headers.add(name: "accept", value: "application/json")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 10_000_000)
        guard response.status == .ok else { return [] }
        return try JSONDecoder().decode(Listing.self, from: Data(body.readableBytesView)).Entries?.map { entry in
            // The highest bit of Go's file mode.
            Entry(
                name: String(entry.FullPath.split(separator: "/").last ?? ""),
                isFolder: entry.Mode & 0x8000_0000 != 0
            )
        } ?? []
    }

    /// Returns whether all components have started and are connected with each other.
    private func isReady() async throws -> Bool {
        guard [201, 409].contains(try await send(.POST, "/buckets/\(Self.bucket)/")),
            try await send(.PUT, "/ready", "ready") == 201, try await send(.GET, "/ready") == 200
        else { return false }
        let answer = try await HTTPClient.shared.execute(HTTPClientRequest(url: endpoint), timeout: .seconds(5))
        return answer.status == .forbidden
    }

    private func send(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws -> Int {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(filer.number)\(path)")
        request.method = method
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(5))
        _ = try await response.body.collect(upTo: 1_000_000)
        return Int(response.status.code)
    }

    /// Removes the folders of earlier runs whose processes have ended.
    private static func removeLeftovers() {
        let temporary = NSTemporaryDirectory()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? [] {
            guard name.hasPrefix(folderPrefix),
                let pid = name.dropFirst(folderPrefix.count).split(separator: "-").first,
                let pid = Int32(pid), Glibc.kill(pid, 0) != 0
            else { continue }
            try? FileManager.default.removeItem(atPath: temporary + name)
        }
    }
}
