import Foundation
import NIOCore
import ServiceHost
import Wire
import Zip

/// A ZIP archive that is sent while it is written, with a folder per service.
final class ExportArchive {
    private let time: ZipTime
    private let output: (ByteBuffer) async throws -> Void
    private var archive = ZipArchive()
    private var isInFile = false

    init(at now: Date, _ send: @escaping (ByteBuffer) async throws -> Void) {
        time = ZipTime(secondsSince1970: Int64(now.timeIntervalSince1970))
        output = send
    }

    /// Appends a part to the folder.
    ///
    /// - Throws: the errors of `send`; a `ZipArchive.Failure` for an invalid file name.
    func append(_ part: ExportReader.Part, below folder: String) async throws {
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
