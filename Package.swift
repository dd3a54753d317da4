// swift-tools-version: 6.2
import PackageDescription

/// Swift 6 with three upcoming features.
///
/// Warnings are errors only in CI, because later toolchains have new warnings and must still build the suite.
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + (isSet("WARNINGS_AS_ERRORS") ? [.treatAllWarnings(as: .error)] : [])
    // Allows `@testable` in a release build. Only our modules have the flag, so dependencies are built once for both.
    + (isSet("ENABLE_TESTING") ? [.unsafeFlags(["-enable-testing"])] : [])

func isSet(_ variable: String) -> Bool { Context.environment[variable].map { !$0.isEmpty } ?? false }

extension Target.Dependency {
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let asyncHTTPClient = product(name: "AsyncHTTPClient", package: "async-http-client")
    static let collections = product(name: "DequeModule", package: "swift-collections")
    static let configuration = product(name: "Configuration", package: "swift-configuration")
    static let crypto = product(name: "Crypto", package: "swift-crypto")
    static let cryptoExtras = product(name: "CryptoExtras", package: "swift-crypto")
    static let httpTypes = product(name: "HTTPTypes", package: "swift-http-types")
    static let hummingbird = product(name: "Hummingbird", package: "hummingbird")
    static let hummingbirdCore = product(name: "HummingbirdCore", package: "hummingbird")
    static let hummingbirdTesting = product(name: "HummingbirdTesting", package: "hummingbird")
    static let jwtKit = product(name: "JWTKit", package: "jwt-kit")
    static let lifecycle = product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let logging = product(name: "Logging", package: "swift-log")
    static let coreMetrics = product(name: "CoreMetrics", package: "swift-metrics")
    static let metrics = product(name: "Metrics", package: "swift-metrics")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioEmbedded = product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioHTTPTypes = product(name: "NIOHTTPTypes", package: "swift-nio-extras")
    static let nioHTTPTypesHTTP1 = product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
    static let nioHPACK = product(name: "NIOHPACK", package: "swift-nio-http2")
    static let nioHTTP2 = product(name: "NIOHTTP2", package: "swift-nio-http2")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl")
    static let nioTLS = product(name: "NIOTLS", package: "swift-nio")
    static let nioWebSocket = product(name: "NIOWebSocket", package: "swift-nio")
    static let serviceContext = product(name: "ServiceContextModule", package: "swift-service-context")
    static let swiftASN1 = product(name: "SwiftASN1", package: "swift-asn1")
    static let systemPackage = product(name: "SystemPackage", package: "swift-system")
    static let unixSignals = product(name: "UnixSignals", package: "swift-service-lifecycle")
    static let x509 = product(name: "X509", package: "swift-certificates")
    static let yams = product(name: "Yams", package: "Yams")
}

/// A library of Shared/.
func shared(
    _ name: String,
    _ dependencies: [Target.Dependency],
    excluding: [String] = [],
    resources: [Resource] = []
) -> [Target] {
    [
        .target(
            name: name,
            dependencies: dependencies,
            path: "Shared/\(name)",
            exclude: excluding,
            resources: resources,
            swiftSettings: settings
        )
    ]
}

/// A C library from Debian, as a system library target of Shared/.
func system(_ name: String, pkgConfig: String, apt: String) -> [Target] {
    [.systemLibrary(name: name, path: "Shared/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])]
}

/// The image library, and a separate program that decodes images for it, so that no other process loads libvips.
func images() -> [Target] {
    system("CLibvips", pkgConfig: "vips", apt: "libvips-dev")
        + [.target(name: "CVips", dependencies: ["CLibvips"], path: "Shared/CVips", linkerSettings: linkedToGLib)]
        + shared("ImageWork", [])
        + executable("image-worker", path: "Shared/ImageWorker", ["CVips", "ImageWork"])
        + shared("Images", ["ChildProcesses", "ImageWork", "Locks", .collections], excluding: ["README.md"])
}

let linkedToGLib: [LinkerSetting] = ["gobject-2.0", "gmodule-2.0", "glib-2.0"].map { .linkedLibrary($0) }

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> [Target] {
    [.testTarget(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: settings)]
}

func executable(_ name: String, path: String, _ dependencies: [Target.Dependency]) -> [Target] {
    [.executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)]
}

/// The four targets of a service: the API that other services may import, the server, the executable and the tests.
func service(
    _ name: String,
    calls peers: [String] = [],
    adding extra: [Target.Dependency] = [],
    embedding folders: [String] = [],
    testing: [Target.Dependency] = []
) -> [Target] {
    let api = Target.Dependency.target(name: "\(name)API")
    let server = Target.Dependency.target(name: "\(name)Server")
    let peerAPIs = peers.map { Target.Dependency.target(name: "\($0)API") }
    return [
        .target(
            name: "\(name)API",
            dependencies: ["ServiceClient", "Wire"],
            path: "Services/\(name)/API",
            swiftSettings: settings
        ),
        .target(
            name: "\(name)Server",
            dependencies: peerAPIs + extra + [
                api, "Credentials", "Locks", "Postgres", "ServiceClient", "ServiceHost", "Wire",
                .configuration, .httpTypes, .hummingbird, .lifecycle, .logging, .metrics, .nioCore,
            ],
            path: "Services/\(name)/Server",
            resources: (["Store/Migrations"] + folders).map { .embedInCode($0) },
            swiftSettings: settings
        ),
        .executableTarget(
            name: name.lowercased(),
            dependencies: [server, "ServiceHost"],
            path: "Services/\(name)/Main",
            swiftSettings: settings
        ),
        .testTarget(
            name: "\(name)Tests",
            dependencies: peerAPIs + extra + testing + [
                api, server, "Credentials", "Locks", "Postgres", "ServiceClient", "ServiceHost", "TestSupport", "Wire",
                .configuration, .httpTypes, .hummingbird, .hummingbirdTesting, .lifecycle, .logging, .nioCore,
            ],
            path: "Tests/\(name)Tests",
            swiftSettings: settings
        ),
    ]
}

/// The gateway, the only service that clients reach.
///
/// It reads the addresses of the services from its settings and their paths from the OpenAPI document, so it imports no
/// service's API. It has no API, because no other service calls it, and no database.
func gateway() -> [Target] {
    let dependencies: [Target.Dependency] = [
        "CZlib", "Credentials", "Locks", "ServiceClient", "ServiceHost", "TLSRecords", "Wire",
        .configuration, .crypto, .lifecycle, .logging, .metrics, .nioCore, .nioHPACK, .nioHTTP1, .nioHTTP2, .nioPosix,
        .nioSSL, .nioTLS, .unixSignals, .yams,
    ]
    return [
        // The files of docs/ that the gateway serves.
        .target(name: "GatewayDocuments", path: "Services/Gateway/Documents"),
        .target(
            name: "GatewayServer",
            dependencies: dependencies + ["GatewayDocuments"],
            path: "Services/Gateway/Server",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "gateway",
            dependencies: ["GatewayServer", "ServiceHost"],
            path: "Services/Gateway/Main",
            swiftSettings: settings
        ),
        .testTarget(
            name: "GatewayTests",
            dependencies: dependencies + ["GatewayServer", "TestSupport", .nioEmbedded],
            path: "Tests/GatewayTests",
            swiftSettings: settings
        ),
    ]
}

/// The sandbox, which simulates external services for tests and development and does not run in production.
func sandbox() -> [Target] {
    let dependencies: [Target.Dependency] = [
        "Credentials", "Locks", "Multipart", "ServiceHost", "TLSRecords", "Wire",
        .asyncHTTPClient, .collections, .configuration, .crypto, .cryptoExtras, .lifecycle, .logging, .nioCore,
        .nioHPACK, .nioHTTP1, .nioHTTP2, .nioPosix, .nioSSL, .nioTLS, .nioWebSocket, .swiftASN1, .x509,
    ]
    return [
        .target(
            name: "SandboxServer",
            dependencies: dependencies,
            path: "Services/Sandbox/Server",
            resources: [
                .embedInCode("Page/mail.css"), .embedInCode("Page/mail.html"), .embedInCode("Page/mail.js"),
                .embedInCode("Page/page.css"), .embedInCode("Page/page.html"), .embedInCode("Page/page.js"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "sandbox",
            dependencies: ["SandboxServer", "ServiceHost"],
            path: "Services/Sandbox/Main",
            swiftSettings: settings
        ),
        .testTarget(
            name: "SandboxTests",
            dependencies: [
                "ChildProcesses", "SMTP", "SandboxServer", "Wire",
                .asyncHTTPClient, .crypto, .cryptoExtras, .logging, .nioCore, .nioHTTP1, .nioPosix, .nioSSL,
            ],
            path: "Tests/SandboxTests",
            swiftSettings: settings
        ),
    ]
}

let package = Package(
    name: "Roost",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-service-context", exact: "1.5.1"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    ],
    targets: system("CArgon2", pkgConfig: "libargon2", apt: "libargon2-dev")
        + system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev")
        + system("CNATS", pkgConfig: "libnats", apt: "libnats-dev")
        + system("CLibpq", pkgConfig: "libpq", apt: "libpq-dev")
        + shared("Locks", [])
        + shared("Wire", [])
        + shared("Messages", ["Wire"])
        + shared("Blobs", [.asyncHTTPClient, .crypto, .nioCore, .nioHTTP1, .nioPosix, .nioSSL])
        + shared("Multipart", [.nioCore])
        + shared("OAuth1", [.crypto], excluding: ["README.md"])
        + shared("Tus", [.crypto, .httpTypes, .hummingbird, .nioCore], excluding: ["README.md"])
        + shared("COSE", [.crypto, .cryptoExtras], excluding: ["README.md"])
        + shared("WebAuthn", ["COSE", .crypto], excluding: ["README.md"])
        + shared("SMTP", [.nioCore, .nioPosix, .nioSSL], excluding: ["README.md"])
        + shared("TLSRecords", [.nioCore])
        + shared("NetworkGuard", ["Locks", .nioCore, .nioPosix])
        + shared("Zip", ["CZlib"], excluding: ["README.md"])
        + shared("SocketIO", ["Locks", .crypto, .nioCore, .nioHTTP1, .nioPosix], excluding: ["README.md"])
        + shared("SocketIOClient", ["Locks", .nioCore, .nioHTTP1, .nioPosix, .nioSSL, .nioWebSocket])
        + shared("Postgres", ["CLibpq", "Locks", .collections, .crypto, .lifecycle, .logging, .metrics])
        + shared(
            "PushProviders",
            [
                "Locks", "NetworkGuard", "TLSRecords", .collections, .crypto, .cryptoExtras, .nioCore, .nioHPACK,
                .nioHTTP1, .nioHTTP2, .nioPosix, .nioSSL, .nioTLS,
            ],
            excluding: ["README.md"]
        )
        + shared("EventBus", ["CNATS", "Locks", "Postgres", .collections, .logging, .metrics])
        + [.systemLibrary(name: "CSpawn", path: "Shared/CSpawn")]
        + shared("ChildProcesses", ["CSpawn", "Locks"])
        + shared("LocalPostgres", ["ChildProcesses", "Locks", .logging])
        + images()
        + shared(
            "ServiceClient",
            ["Wire", .asyncHTTPClient, .httpTypes, .logging, .nioCore, .nioHTTP1, .nioPosix, .serviceContext]
        )
        + shared(
            "Credentials",
            [
                "Locks", "ServiceClient", "Wire",
                .collections, .crypto, .cryptoExtras, .httpTypes, .jwtKit, .lifecycle, .logging, .metrics,
            ]
        )
        + shared(
            "ServiceHost",
            [
                "Blobs", "Credentials", "Locks", "Multipart", "NetworkGuard", "Postgres", "ServiceClient", "Wire",
                .asyncHTTPClient, .configuration, .coreMetrics, .crypto, .httpTypes, .hummingbird, .hummingbirdCore,
                .lifecycle, .logging, .metrics, .nioCore, .nioHTTP1, .nioHTTPTypes, .nioHTTPTypesHTTP1, .nioPosix,
                .nioSSL, .serviceContext, .systemPackage, .unixSignals,
            ],
            resources: [.embedInCode("Migrations")]
        )
        + [
            .target(
                name: "TestSupport",
                dependencies: [
                    "COSE", "ChildProcesses", "Credentials", "Postgres", "PushAPI", "ServiceClient", "ServiceHost",
                    "WebAuthn", "Wire",
                    .asyncHTTPClient, .configuration, .crypto, .cryptoExtras, .httpTypes, .hummingbird, .jwtKit,
                    .lifecycle, .logging, .nioCore, .nioEmbedded, .nioHTTP1, .nioPosix, .yams,
                ],
                path: "Tests/TestSupport",
                swiftSettings: settings
            )
        ]
        + tests("LocksTests", ["Locks"])
        + tests("WireTests", ["TestSupport", "Wire"])
        + tests("MessagesTests", ["Messages"])
        + tests("BlobsTests", ["Blobs", "ChildProcesses", "TestSupport", .nioCore])
        + tests("MultipartTests", ["Multipart", .nioCore])
        + tests("OAuth1Tests", ["OAuth1"])
        + tests("COSETests", ["COSE", "TestSupport", .crypto, .cryptoExtras])
        + tests(
            "WebAuthnTests",
            ["COSE", "ChildProcesses", "TestSupport", "WebAuthn", .crypto, .cryptoExtras]
        )
        + tests("SMTPTests", ["ChildProcesses", "SMTP", "TestSupport", .nioCore, .nioPosix])
        + tests("ZipTests", ["TestSupport", "Zip"])
        + tests(
            "TusTests",
            ["ChildProcesses", "TestSupport", "Tus", .crypto, .httpTypes, .hummingbird, .hummingbirdTesting, .nioCore]
        )
        + tests("PostgresTests", ["Postgres", .logging])
        + tests("EventBusTests", ["ChildProcesses", "EventBus", "Postgres", "TestSupport", .logging])
        + tests(
            "SocketIOTests",
            [
                "ChildProcesses", "SocketIO", "TestSupport", "socketio-echo", .nioCore, .nioEmbedded, .nioHTTP1,
                .nioPosix,
            ]
        )
        + tests(
            "PushProvidersTests",
            [
                "NetworkGuard", "PushProviders", "TestSupport",
                .crypto, .cryptoExtras, .nioCore, .nioHPACK, .nioHTTP1, .nioHTTP2, .nioPosix, .nioSSL,
            ]
        )
        + tests("SocketIOClientTests", ["SocketIO", "SocketIOClient", .crypto, .nioCore, .nioPosix])
        + tests(
            "ServiceHostTests",
            [
                "ChildProcesses", "Credentials", "NetworkGuard", "Postgres", "ServiceClient", "ServiceHost",
                "TestSupport", "Wire",
                .asyncHTTPClient, .configuration, .coreMetrics, .crypto, .cryptoExtras, .httpTypes, .hummingbird,
                .hummingbirdTesting, .jwtKit, .lifecycle, .logging, .nioCore, .nioEmbedded, .nioHTTP1, .nioPosix,
            ]
        )
        + tests("ImagesTests", ["ChildProcesses", "ImageWork", "Images", "TestSupport", "image-worker"])
        + tests(
            "FuzzTests",
            [
                "Blobs", "COSE", "ConversationsServer", "Credentials", "ImageWork", "Multipart", "OAuth1",
                "PhotosServer", "SMTP", "ServiceHost", "SocialServer", "SocketIO", "SocketIOClient", "TestSupport",
                "Tus", "WebAuthn", "Wire", "Zip", .nioCore,
            ]
        )
        + tests("LocalPostgresTests", ["ChildProcesses", "LocalPostgres", .logging])
        + tests(
            "RoostTests",
            [
                "Blobs", "ChildProcesses", "ConversationsAPI", "Credentials", "PushAPI", "SocialAPI", "TestSupport",
                "Wire", "roost",
            ]
        )
        + tests(
            "SuiteTests",
            [
                "AuthAPI", "ChildProcesses", "ConversationsAPI", "Credentials", "LocalPostgres", "PhotosAPI",
                "Postgres", "PushAPI", "ServiceClient", "ServiceHost", "TestSupport", "Wire",
                .asyncHTTPClient, .crypto, .cryptoExtras, .httpTypes, .logging, .nioCore, .yams,
            ]
        )
        + executable(
            "socketio-echo",
            path: "Shared/SocketIOEcho",
            ["SocketIO", .argumentParser, .nioCore, .nioPosix]
        )
        + executable("socket-load", path: "bench/SocketLoad", [.argumentParser, .nioCore, .nioPosix])
        + executable("push-load", path: "bench/PushLoad", ["PushProviders", .argumentParser])
        + executable("image-load", path: "bench/ImageLoad", ["Images", .argumentParser])
        + executable(
            "roost",
            path: "Services/Roost",
            [
                "AuthAPI", "Blobs", "ChildProcesses", "ConversationsAPI", "Credentials", "LocalPostgres", "Locks",
                "Postgres", "PushAPI", "ServiceClient", "SocialAPI", "SocketIOClient", "Wire",
                .argumentParser, .asyncHTTPClient, .crypto, .httpTypes, .logging, .nioCore, .nioSSL,
            ]
        )
        // The services of the suite. `calls` lists the services that a service may call.
        + service(
            "Auth",
            adding: [
                "CArgon2", "COSE", "Messages", "SMTP", "WebAuthn", "Zip", .asyncHTTPClient, .crypto, .cryptoExtras,
                .jwtKit,
                .nioHTTP1, .nioPosix, .nioSSL,
            ],
            embedding: ["Messages", "Pages"],
            testing: ["ChildProcesses", "SandboxServer"]
        )
        + service(
            "Conversations",
            calls: ["Auth", "Push"],
            // It imports PhotosAPI for the events with names and pictures of users, and calls no route of photos.
            adding: ["Blobs", "EventBus", "Multipart", "PhotosAPI", "SocketIO", .collections, .nioHTTP1]
        )
        // It imports ConversationsAPI for the events with badges. Conversations calls push, not the other way around.
        + service(
            "Push",
            calls: ["Auth"],
            adding: ["ConversationsAPI", "Messages", "NetworkGuard", "PushProviders", .crypto],
            embedding: ["Messages"],
            testing: ["SandboxServer"]
        )
        + service(
            "Photos",
            calls: ["Auth", "Conversations", "Push"],
            adding: [
                "Blobs", "EventBus", "Images", "Multipart", "NetworkGuard", "Tus", .asyncHTTPClient, .collections,
                .crypto,
                .nioHTTP1,
            ],
            testing: ["ChildProcesses", "image-worker"]
        )
        + service(
            "Social",
            calls: ["Auth", "Conversations", "Photos", "Push"],
            adding: [
                "Blobs", "EventBus", "Multipart", "NetworkGuard", "OAuth1", .asyncHTTPClient, .crypto, .nioHTTP1,
                .nioPosix, .nioSSL,
            ],
            testing: ["SandboxServer"]
        )
        + gateway()
        + sandbox()
)

// `PROGRAMS_ONLY=1 swift build` builds only the programs that a deployment runs, without tests and the programs of
// bench/.
if isSet("PROGRAMS_ONLY") {
    let others = ["TestSupport", "socketio-echo", "socket-load", "push-load", "image-load"]
    package.targets.removeAll { $0.type == .test || others.contains($0.name) }
}

// `ONLY_TESTS=AuthTests swift build --product RoostPackageTests` builds one test target and its dependencies. Commas
// separate several targets.
if let only = Context.environment["ONLY_TESTS"]?.split(separator: ",") {
    package.targets.removeAll { $0.type == .test && !only.contains(Substring($0.name)) }
}
