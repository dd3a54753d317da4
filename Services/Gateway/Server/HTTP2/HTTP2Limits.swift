import NIOCore
import NIOHTTP2

extension NIOHTTP2Handler.ConnectionConfiguration {
    /// What one client may ask of a connection.
    ///
    /// Each limit answers an attack that has a name.
    init(gateway: GatewayConfiguration) {
        self.init()
        initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 100),
            // A header list that decodes to more ends the connection, so a small block cannot unfold to a large one.
            HTTP2Setting(parameter: .maxHeaderListSize, value: gateway.headerBytesLimit),
            HTTP2Setting(parameter: .initialWindowSize, value: 65_535),
        ]
        // Request smuggling: pseudo-fields, connection-specific fields, control characters, lengths that are not true.
        headerBlockValidation = .enabled
        contentLengthValidation = .enabled
        // CONTINUATION floods (CVE-2024-27316): the header list's 64 kB are four frames.
        maximumSequentialContinuationFrames = 5
        // Empty frames (CVE-2019-9518).
        maximumSequentialEmptyDataFrames = 10
        // Answers to PING and SETTINGS that the client does not read (CVE-2019-9512, CVE-2019-9515).
        maximumBufferedControlFrames = 200
        controlFrameRateLimit.maximumCount = 200
        controlFrameRateLimit.windowLength = .seconds(10)
        // Streams that we reset because the client made us do it (CVE-2025-8671).
        maximumConnectionGlitches = 100
        maximumRecentlyResetStreams = 100
        targetWindowSize = 1_024 * 1_024
    }
}

extension NIOHTTP2Handler.StreamConfiguration {
    static var bounded: Self {
        var configuration = Self()
        // What a client may send before a service takes it, on each stream.
        configuration.targetWindowSize = 65_535
        // What waits for a client that opens no window; a service is not read any further beyond it.
        configuration.outboundBufferSizeHighWatermark = 32 * 1_024
        configuration.outboundBufferSizeLowWatermark = 16 * 1_024
        // Rapid reset (CVE-2023-44487).
        configuration.streamResetFrameRateLimit.maximumCount = 100
        configuration.streamResetFrameRateLimit.windowLength = .seconds(10)
        configuration.streamErrorRateLimit.maximumCount = 100
        configuration.streamErrorRateLimit.windowLength = .seconds(10)
        return configuration
    }
}
