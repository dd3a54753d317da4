// swift-tools-version: 6.2
import PackageDescription

/// The parsers of untrusted bytes, instrumented for libFuzzer, and a program that runs one of them.
///
/// Sources/ holds links to the few files that each parser needs. Whole modules would also compile two builds of
/// BoringSSL and an HTTP server. SwiftNIO is not instrumented.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .unsafeFlags(["-sanitize=fuzzer", "-enable-testing"]),
]

extension Target.Dependency {
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
}

func parser(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(name)", swiftSettings: settings)
}

let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "https://github.com/apple/swift-nio", exact: "2.101.2")],
    targets: [
        .systemLibrary(name: "CZlib", path: "Sources/CZlib", pkgConfig: "zlib"),
        parser("Blobs", [.nioCore]),
        parser("COSE"),
        parser("ConversationsServer"),
        parser("Credentials", ["Wire"]),
        parser("ImageWork"),
        parser("Multipart", [.nioCore]),
        parser("OAuth1"),
        parser("PhotosServer", ["Wire"]),
        parser("SMTP"),
        parser("ServiceHost"),
        parser("SocialServer", [.nioCore]),
        parser("SocketIO", [.nioCore, .nioHTTP1]),
        parser("SocketIOClient"),
        parser("Tus"),
        parser("WebAuthn", ["COSE"]),
        parser("Wire"),
        parser("Zip", ["CZlib"]),
        parser(
            "FuzzTargets",
            [
                "Blobs", "COSE", "ConversationsServer", "Credentials", "ImageWork", "Multipart", "OAuth1",
                "PhotosServer",
                "SMTP", "ServiceHost", "SocialServer", "SocketIO", "SocketIOClient", "Tus", "WebAuthn", "Wire", "Zip",
                .nioCore,
            ]
        ),
        .target(name: "CFuzzer", path: "CFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: ["CFuzzer", "FuzzTargets"],
            path: "Main",
            swiftSettings: settings,
            // The default linker, gold, fails on the line tables of instrumented code.
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]
        ),
    ]
)
