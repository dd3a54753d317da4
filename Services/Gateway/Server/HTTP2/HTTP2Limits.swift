import NIOCore
import NIOHTTP2

extension NIOHTTP2Handler.ConnectionConfiguration {
    /// The limits for one client's connection.
    ///
    /// Each limit prevents a known attack.
    init(gateway: GatewayConfiguration) {
        self.init()
        initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 100),
            // A header list that decodes to more ends the connection, so a small block cannot expand to a large one.
            HTTP2Setting(parameter: .maxHeaderListSize, value: gateway.headerBytesLimit),
            HTTP2Setting(parameter: .initialWindowSize, value: 65_535),
        ]
        // Request smuggling: pseudo-fields, connection-specific fields, control characters, wrong lengths.
        headerBlockValidation = .enabled
        contentLengthValidation = .enabled
        // CONTINUATION floods (CVE-2024-27316): a header list of 64 kB needs four frames.
        maximumSequentialContinuationFrames = 5
        // Empty frames (CVE-2019-9518).
        maximumSequentialEmptyDataFrames = 10
        // Responses to PING and SETTINGS that the client does not read (CVE-2019-9512, CVE-2019-9515).
        maximumBufferedControlFrames = 200
        controlFrameRateLimit.maximumCount = 200
        controlFrameRateLimit.windowLength = .seconds(10)
        // Streams that a client forces the gateway to reset (CVE-2025-8671).
        maximumConnectionGlitches = 100
        maximumRecentlyResetStreams = 100
        targetWindowSize = 1_024 * 1_024
    }
}

extension NIOHTTP2Handler.StreamConfiguration {
    static var bounded: Self {
        var configuration = Self()
        // The number of bytes that a client may send on each stream before a service accepts them.
        configuration.targetWindowSize = 65_535
        // The number of bytes that may wait for the client's window before the gateway stops reading from the service.
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
