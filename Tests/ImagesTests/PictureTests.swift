import Foundation
import Testing

@testable import Images

/// Prepared images, as independent programs read them.
@Suite("Prepared images") struct PictureTests {
    /// A sample, its type and size, and the expected full image and thumbnail.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var type: ImageType
        var size: (Int, Int)
        var full: (String, Int, Int)
        var thumbnail: (String, Int, Int)
        var hasAlpha = false
        var hasProfile = false

        var testDescription: String { name }
    }

    static let cases = [
        Case(
            name: "tagged.jpg",
            type: .jpeg,
            size: (1_600, 1_200),
            full: ("jpeg", 1_280, 960),
            thumbnail: ("jpeg", 640, 480),
            hasProfile: true
        ),
        Case(
            name: "progressive.jpg",
            type: .jpeg,
            size: (1_600, 1_200),
            full: ("jpeg", 1_280, 960),
            thumbnail: ("jpeg", 640, 480)
        ),
        Case(
            name: "wide.jpg",
            type: .jpeg,
            size: (3_000, 100),
            full: ("jpeg", 1_280, 43),
            thumbnail: ("jpeg", 640, 22)
        ),
        Case(name: "small.jpg", type: .jpeg, size: (40, 30), full: ("jpeg", 40, 30), thumbnail: ("jpeg", 40, 30)),
        Case(name: "grey.jpg", type: .jpeg, size: (700, 500), full: ("jpeg", 700, 500), thumbnail: ("jpeg", 640, 457)),
        Case(name: "cmyk.jpg", type: .jpeg, size: (700, 500), full: ("jpeg", 700, 500), thumbnail: ("jpeg", 640, 457)),
        Case(name: "film-behind.jpg", type: .jpeg, size: (40, 30), full: ("jpeg", 40, 30), thumbnail: ("jpeg", 40, 30)),
        Case(name: "two.jpg", type: .jpeg, size: (700, 500), full: ("jpeg", 700, 500), thumbnail: ("jpeg", 640, 457)),
        Case(
            name: "plain.png",
            type: .png,
            size: (1_500, 900),
            full: ("png", 1_280, 768),
            thumbnail: ("jpeg", 640, 384),
            hasProfile: true
        ),
        Case(
            name: "alpha.png",
            type: .png,
            size: (800, 800),
            full: ("png", 800, 800),
            thumbnail: ("webp", 640, 640),
            hasAlpha: true
        ),
        Case(
            name: "palette.png",
            type: .png,
            size: (800, 800),
            full: ("png", 800, 800),
            thumbnail: ("webp", 640, 640),
            hasAlpha: true
        ),
        Case(name: "grey16.png", type: .png, size: (700, 500), full: ("png", 700, 500), thumbnail: ("jpeg", 640, 457)),
        Case(name: "onebit.png", type: .png, size: (700, 500), full: ("png", 700, 500), thumbnail: ("jpeg", 640, 457)),
        Case(name: "still.gif", type: .gif, size: (500, 400), full: ("png", 500, 400), thumbnail: ("jpeg", 500, 400)),
        Case(
            name: "still.webp",
            type: .webp,
            size: (1_500, 900),
            full: ("webp", 1_280, 768),
            thumbnail: ("jpeg", 640, 384),
            hasProfile: true
        ),
        Case(
            name: "alpha.webp",
            type: .webp,
            size: (400, 300),
            full: ("webp", 400, 300),
            thumbnail: ("webp", 400, 300),
            hasAlpha: true
        ),
        Case(
            name: "photo.heic",
            type: .heic,
            size: (1_600, 1_200),
            full: ("jpeg", 1_280, 960),
            thumbnail: ("jpeg", 640, 480),
            hasProfile: true
        ),
    ]

    @Test("A prepared image has the expected format and size, and no metadata", arguments: cases)
    func sizesAndMetadata(_ sample: Case) async throws {
        try await withImages { fixture in
            let image = try await fixture.prepare(sample.name)
            #expect(image.type == sample.type)
            #expect((image.width, image.height) == sample.size)
            #expect(!image.isAnimated)
            let source = try await Oracle.inspect(Oracle.sample(sample.name))[0]
            let seen = try await Oracle.inspect(image.full.path, image.thumbnail.path)
            let pictures = [(image.full, seen[0], sample.full), (image.thumbnail, seen[1], sample.thumbnail)]
            for (picture, seen, expected) in pictures {
                #expect((seen.format, seen.width, seen.height) == expected)
                #expect((picture.type.rawValue, picture.width, picture.height) == expected)
                #expect(picture.mediaType == "image/\(expected.0)")
                #expect(seen.hasAlpha == sample.hasAlpha)
                #expect(seen.profile == (sample.hasProfile ? source.profile : nil))
                #expect((source.profile != nil) == sample.hasProfile)
                #expect(seen.frames == 1)
                expectNoMetadata(seen)
            }
            #expect(image.blurhash.utf8.count == 28)
        }
    }

    @Test("The EXIF orientation is applied to the pixels", arguments: 1...8)
    func orientation(_ orientation: Int) async throws {
        try await withImages { fixture in
            let image = try await fixture.prepare("orientation-\(orientation).jpg")
            let isTurned = orientation > 4
            #expect((image.width, image.height) == (isTurned ? (600, 900) : (900, 600)))
            // The stored corners are red, green, blue and yellow. EXIF 2.32, section 4.6.4, defines where each one belongs.
            let order = [
                [0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0], [2, 3, 0, 1], [0, 2, 1, 3], [2, 0, 3, 1], [3, 1, 2, 0],
                [1, 3, 0, 2],
            ][orientation - 1]
            for seen in try await Oracle.inspect(image.full.path, image.thumbnail.path) {
                #expect(seen.corners.map(Self.colour) == order.map { ["red", "green", "blue", "yellow"][$0] })
            }
        }
    }

    @Test(
        "An animation keeps its frames, durations and loop count, and its thumbnail is still",
        arguments: ["moving.gif", "moving.webp"]
    )
    func animation(
        _ name: String
    ) async throws {
        try await withImages { fixture in
            let image = try await fixture.prepare(name)
            #expect(image.isAnimated)
            let source = try await Oracle.inspect(Oracle.sample(name))[0]
            let seen = try await Oracle.inspect(image.full.path, image.thumbnail.path)
            #expect(seen[0].format == source.format)
            #expect((seen[0].width, seen[0].height) == (source.width, source.height))
            #expect(seen[0].frames == source.frames)
            #expect(source.frames > 1)
            #expect(seen[0].durations == source.durations)
            #expect(seen[0].loop == source.loop)
            #expect(seen[0].corners.map(Self.colour) == ["red", "green", "blue", "yellow"])
            #expect(seen[1].format == "jpeg")
            #expect(seen[1].frames == 1)
            seen.forEach { expectNoMetadata($0) }
        }
    }

    @Test("An animation with too many pixels is made smaller and keeps its frames")
    func animationLimit() async throws {
        try await withImages {
            $0.output.animationPixels = 60_000
        } _: { fixture in
            let image = try await fixture.prepare("moving.gif")
            let seen = try await Oracle.inspect(image.full.path)[0]
            #expect(seen.frames == 5)
            #expect(seen.width * seen.height * 5 <= 61_000)
            #expect(seen.width * seen.height * 5 > 50_000)
            #expect((image.width, image.height) == (900, 300))
        }
    }

    @Test("No temporary files are left")
    func noTemporaryFiles() async throws {
        func files() throws -> Set<String> {
            Set(try FileManager.default.contentsOfDirectory(atPath: "/tmp").filter { $0.hasPrefix("vips-") })
        }
        let before = try files()
        try await withImages { fixture in
            let image = try await fixture.prepare("long.webp")
            // Adjacent frames that are equal in 256 colours become one frame.
            #expect(try await Oracle.inspect(image.full.path)[0].frames > 1)
            #expect(try files().subtracting(before) == [])
            // An image that does not fit into memory is rejected, not written to a temporary file.
            let path = try await Oracle.sample("long.webp")
            try await withImages {
                $0.memory = 100_000_000
            } _: { small in
                guard case .broken = try await small.rejection(of: path) else {
                    Issue.record("memory has no limit")
                    return
                }
            }
            #expect(try files().subtracting(before) == [])
        }
    }

    @Test("The output settings determine the sizes and the progressive encoding")
    func outputSettings() async throws {
        try await withImages {
            $0.output = ImageOutput(fullSide: 200, thumbnailSide: 50, quality: 30, isProgressive: true)
        } _: { fixture in
            let image = try await fixture.prepare("tagged.jpg")
            #expect((image.full.width, image.full.height) == (200, 150))
            #expect((image.thumbnail.width, image.thumbnail.height) == (50, 38))
            let bytes = try Data(contentsOf: URL(filePath: image.full.path))
            #expect(bytes.firstRange(of: [0xFF, 0xC2]) != nil, "SOF2 marks the frame of a progressive JPEG")
        }
    }

    @Test("The mean colour of the BlurHash is the same in all formats")
    func blurHashAcrossFormats() async throws {
        try await withImages { fixture in
            var means: [[Int]] = []
            for name in ["tagged.jpg", "progressive.jpg", "photo.heic", "orientation-3.jpg"] {
                let hash = try await fixture.prepare(name).blurhash
                #expect(hash.hasPrefix("L"), "4 by 3")
                // Digits 2 to 5 are the mean colour in base 83.
                let digits = BlurHash.alphabet
                let mean = hash.utf8.dropFirst(2).prefix(4).reduce(0) { $0 * 83 + (digits.firstIndex(of: $1) ?? 0) }
                means.append([mean >> 16, mean >> 8 & 255, mean & 255])
            }
            for channel in 0..<3 {
                let values = means.map { $0[channel] }
                // Noise and encoding change the values slightly.
                #expect((values.max() ?? 0) - (values.min() ?? 0) <= 6, "\(means)")
                #expect((100...200).contains(values[0]), "\(means)")
            }
        }
    }

    private static func colour(_ rgb: [Int]) -> String {
        switch (rgb[0] > 128, rgb[1] > 128, rgb[2] > 128) {
        case (true, true, false): "yellow"
        case (true, false, false): "red"
        case (false, true, false): "green"
        case (false, false, true): "blue"
        default: "\(rgb)"
        }
    }
}

/// Expects that a file contains pixels and colour information but no other metadata.
func expectNoMetadata(_ seen: Oracle.Inspection, sourceLocation: SourceLocation = #_sourceLocation) {
    let allowed = [
        "ExifTool:", "System:", "File:", "Composite:", "ICC_Profile:", "ICC-", "PNG:", "PNG-pHYs:", "GIF:", "RIFF:",
    ]
    let extra = seen.tags.filter { tag in tag != "SourceFile" && !allowed.contains(where: tag.hasPrefix) }
    #expect(extra == [], sourceLocation: sourceLocation)
    #expect(!seen.tags.contains("File:Comment"), sourceLocation: sourceLocation)
    #expect(!seen.tags.contains("GIF:Comment"), sourceLocation: sourceLocation)
    #expect(!seen.secrets, sourceLocation: sourceLocation)
}
