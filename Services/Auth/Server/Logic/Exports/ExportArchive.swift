import Foundation
import NIOCore
import ServiceHost
import Wire
import Zip

/// The archive that parts of an export go into, each service's below a folder of its own; what comes out of it is sent at once.
final class ExportArchive {
    private let time: ZipTime
    private let output: (ByteBuffer) async throws -> Void
    private var archive = ZipArchive()
    private var isInFile = false

    init(at now: Date, _ send: @escaping (ByteBuffer) async throws -> Void) {
        time = ZipTime(secondsSince1970: Int64(now.timeIntervalSince1970))
        output = send
    }

    /// - Throws: what `send` throws; a `ZipArchive.Failure` for a name that no file can have.
    func take(_ part: ExportReader.Part, below folder: String) async throws {
        switch part {
        case .begin(let name, let isPacked):
            try await endFile()
            isInFile = true
            let packing: ZipArchive.Compression = isPacked ? .stored : .deflated
            try await put(archive.begin("\(folder)/\(name)", modified: time, packing: packing))
        case .bytes(let bytes):
            try await put(archive.write(bytes.readableBytesView))
        }
    }

    /// With this it is whole.
    func finish() async throws {
        try await endFile()
        try await put(archive.finish())
    }

    private func endFile() async throws {
        guard isInFile else { return }
        isInFile = false
        try await put(archive.end())
    }

    private func put(_ bytes: [UInt8]) async throws {
        guard !bytes.isEmpty else { return }
        try await output(ByteBuffer(bytes: bytes))
    }
}
