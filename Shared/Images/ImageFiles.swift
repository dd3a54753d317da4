import Glibc
import ImageWork

/// The open files of one request: the source, and the empty files of the two pictures.
///
/// A worker may not open files, so it receives the descriptors.
final class ImageFiles: Sendable {
    let descriptors: [Int32]

    /// - Throws: `.noSpace`, or `.failed` if the source is not a regular file or a file cannot be opened.
    init(source: String, folder: String) throws(ImageError) {
        var opened: [Int32] = []
        do throws(ImageError) {
            opened.append(try Self.open(source, O_RDONLY | O_NONBLOCK))
            var status = stat()
            guard fstat(opened[0], &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw .failed(reason: "the source is not a regular file")
            }
            for path in [Self.full(in: folder), Self.thumbnail(in: folder)] {
                opened.append(try Self.open(path, O_WRONLY | O_CREAT | O_TRUNC))
            }
        } catch {
            for descriptor in opened {
                close(descriptor)
            }
            throw error
        }
        descriptors = opened
    }

    deinit {
        for descriptor in descriptors {
            close(descriptor)
        }
    }

    static func full(in folder: String) -> String { "\(folder)/full" }

    static func thumbnail(in folder: String) -> String { "\(folder)/thumbnail" }

    static func removePictures(in folder: String) {
        unlink(full(in: folder))
        unlink(thumbnail(in: folder))
    }

    static func header(of path: String) throws(ImageDecodingError) -> ImageHeader {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw .broken(reason: "cannot be opened") }
        defer { close(descriptor) }
        return try ImageHeader.read(descriptor, maximumPixels: .max, maximumFrames: .max)
    }

    private static func open(_ path: String, _ flags: Int32) throws(ImageError) -> Int32 {
        let descriptor = Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            let error = errno
            if error == ENOSPC || error == EDQUOT { throw .noSpace }
            throw .failed(reason: "an image file cannot be opened: \(String(cString: strerror(error)))")
        }
        return descriptor
    }
}
