@testable import Blobs
import Glibc
@testable import ImageWork
import NIOCore
@testable import Zip

extension FuzzTarget {
    static let files = [imageHeader, mediaType, workerResponse, storageResponse, zipName]

    /// The header of an uploaded image, as the image worker reads it.
    static let imageHeader = FuzzTarget("image-header") { bytes in
        var path = Array("/dev/shm/roost-fuzz-XXXXXX\0".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { return }
        unlink(path)
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            written += count
        }
        guard let header = try? ImageHeader.read(descriptor, maximumPixels: 50_000_000, maximumFrames: 60) else {
            return
        }
        _ = header.memory(animationPixels: 20_000_000)
    }

    static let mediaType = FuzzTarget("media-type") { bytes in
        var whole = MediaTypeDetector()
        whole.feed(ByteBuffer(bytes: bytes))
        var pieces = MediaTypeDetector()
        let middle = bytes.count / 3
        pieces.feed(ByteBuffer(bytes: bytes[..<middle]))
        pieces.feed(ByteBuffer(bytes: bytes[middle...]))
        precondition(whole.mediaType == pieces.mediaType, "the type depends on how the bytes arrive")
    }

    /// A response of an image worker that a hostile file may have compromised.
    static let workerResponse = FuzzTarget("worker-response") { bytes in
        var frames = Frames()
        frames.append(bytes)
        // Silence: parsing ends at a malformed frame.
        while let frame = try? frames.next() {
            guard let response = RenderResponse(encoded: frame) else { continue }
            precondition(
                RenderResponse(encoded: response.encoded) == response,
                "an encoded response is decoded differently"
            )
        }
    }

    /// The XML of an S3 object store.
    static let storageResponse = FuzzTarget("storage-response") { bytes in
        let response = S3XMLText(String(decoding: bytes, as: UTF8.self))
        for object in response.all("Contents") {
            _ = object["Key"]
            _ = object["Size"]
        }
        _ = response["NextContinuationToken"]
        _ = response.is("Error")
    }

    /// A file in an export, whose name and content users chose.
    static let zipName = FuzzTarget("zip-name") { bytes in
        let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        var archive = ZipArchive()
        // Silence: unusable names are rejected.
        guard (try? archive.begin(name, modified: ZipTime(secondsSince1970: Int64(bytes.count)))) != nil else { return }
        _ = try? archive.write(bytes)
        _ = try? archive.end()
        _ = try? archive.finish()
    }
}
