import Foundation
import Images
import Testing

/// What is refused, why, and that nothing is left of it.
///
/// The worker's reader of headers refuses these before its decoder has seen a byte.
@Suite struct RejectionTests {
    private static let truncated = ImageError.broken(reason: "ends before its image does")
    private static let page = ImageError.unsupported(reason: "is a web page or a script, not an image")
    private static let zip = ImageError.unsupported(reason: "is a zip archive as well as an image")
    private static let damaged = ImageError.broken(reason: "has a damaged structure")
    private static let unsized = ImageError.broken(reason: "does not contain its size")

    static let cases: [(String, ImageError)] = [
        ("empty.jpg", .broken(reason: "is empty")),
        ("page.jpg", page),
        ("drawing.jpg", .unsupported(reason: "is an SVG drawing, not a photo")),
        ("document.png", .unsupported(reason: "is a PDF document, not an image")),
        ("archive.webp", .unsupported(reason: "is a zip archive, not an image")),
        ("text.gif", .unsupported(reason: "is not a JPEG, PNG, GIF, WebP or HEIC image")),
        ("photo.tiff", .unsupported(reason: "is a TIFF image, which is not supported")),
        ("photo.bmp", .unsupported(reason: "is a BMP image, which is not supported")),
        ("photo.avif", .unsupported(reason: "is an AVIF image, which is not supported")),
        ("truncated.jpg", truncated), ("truncated-progressive.jpg", truncated), ("without-end.jpg", truncated),
        ("truncated.png", truncated), ("truncated.gif", truncated), ("truncated.webp", truncated),
        ("truncated.heic", truncated),
        ("jpeg-and-zip.jpg", zip), ("png-and-zip.png", zip),
        ("jpeg-and-page.jpg", .unsupported(reason: "is a web page as well as an image")),
        ("jpeg-and-pdf.jpg", .unsupported(reason: "is a PDF document as well as an image")),
        ("script-behind.jpg", .unsupported(reason: "has a web page or a script after its image")),
        ("archive-behind.gif", .unsupported(reason: "is an archive as well as an image")),
        ("program-behind.png", .unsupported(reason: "has a document or a program after its image")),
        ("bomb.png", .tooManyPixels(limit: 50_000_000)), ("overflow.png", .tooManyPixels(limit: 50_000_000)),
        ("flat.png", .broken(reason: "has a width or height of zero")),
        ("million.gif", .tooManyFrames(limit: 60)), ("sixty-one.gif", .tooManyFrames(limit: 60)),
        ("wide-frame.gif", .tooManyPixels(limit: 50_000_000)),
        ("bomb.jpg", .tooManyPixels(limit: 50_000_000)),
        ("scans.jpg", .broken(reason: "has more than 100 scans")),
        ("bomb.heic", .tooManyPixels(limit: 50_000_000)),
        ("boxes.heic", damaged),
    ]

    @Test(arguments: cases) func invalidFiles(
        _ name: String,
        _ reason: ImageError
    ) async throws {
        try await withImages { fixture in
            let path = try await Oracle.sample(name)
            #expect(try await fixture.rejection(of: path) == reason)
        }
    }

    @Test func limits() async throws {
        try await withImages { fixture in
            let photo = try await Oracle.sample("small.jpg")
            let film = try await Oracle.sample("moving.gif")
            #expect(
                try await fixture.rejection(of: photo, limits: ImageLimits(pixels: 1_199))
                    == .tooManyPixels(limit: 1_199)
            )
            #expect(try await fixture.prepare(path: photo, limits: ImageLimits(pixels: 1_200)).width == 40)
            #expect(try await fixture.rejection(of: film, limits: ImageLimits(frames: 4)) == .tooManyFrames(limit: 4))
            #expect(try await fixture.prepare(path: film, limits: ImageLimits(frames: 5)).isAnimated)
        }
    }

    @Test func frameLimit() async throws {
        try await withImages { fixture in
            let image = try await fixture.prepare("sixty.gif")
            #expect(try await Oracle.inspect(image.full.path)[0].frames == 60)
        }
    }

    @Test func notAFile() async throws {
        try await withImages { fixture in
            let link = "\(fixture.folder)/link"
            try FileManager.default.createSymbolicLink(
                atPath: link,
                withDestinationPath: try await Oracle.sample("small.jpg")
            )
            for path in ["\(fixture.folder)/missing", fixture.folder, link] {
                guard case .failed = try await fixture.rejection(of: path) else {
                    Issue.record("\(path) was taken for an image")
                    continue
                }
            }
        }
    }

    @Test func scrambledPixels() async throws {
        try await withImages { fixture in
            let path = try await Oracle.sample("scrambled.heic")
            guard case .broken(let reason) = try await fixture.rejection(of: path) else {
                Issue.record("noise was taken for an image")
                return
            }
            #expect(reason.hasPrefix("cannot be decoded"))
            #expect(!reason.contains("/"), "no path is told")
            // The worker that has refused it takes the next.
            #expect(try await fixture.prepare("photo.heic").width == 1_600)
        }
    }
}
