import Crypto
import Foundation

/// Returns the `Sec-WebSocket-Accept` value for a key (RFC 6455, section 4.2.2).
func webSocketAccept(_ key: String) -> String {
    let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return Data(Insecure.SHA1.hash(data: Data(text.utf8))).base64EncodedString()
}
