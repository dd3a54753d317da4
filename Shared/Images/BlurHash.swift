import Glibc

/// The BlurHash of a picture: about thirty characters that a client renders as a placeholder while the picture loads.
///
/// Source: https://github.com/woltapp/blurhash/blob/master/Algorithm.md.
enum BlurHash {
    static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8
    )

    /// Encodes pixels, given as red, green and blue, row by row, with 1 to 9 components in each direction.
    static func encode(pixels: [UInt8], width: Int, height: Int, across: Int = 4, down: Int = 3) -> String {
        let factors = (0..<down).flatMap { y in
            (0..<across).map { x in factor(x, y, pixels: pixels, width: width, height: height) }
        }
        let largest = factors.dropFirst().flatMap { [$0.red, $0.green, $0.blue] }.map(abs).max() ?? 0
        let quantised = factors.count > 1 ? max(0, min(82, Int((largest * 166 - 0.5).rounded(.down)))) : 0
        let maximum = factors.count > 1 ? Double(quantised + 1) / 166 : 1

        var hash = digits(across - 1 + (down - 1) * 9, 1) + digits(quantised, 1)
        let average = factors[0]
        hash += digits(sRGB(average.red) << 16 + sRGB(average.green) << 8 + sRGB(average.blue), 4)
        for factor in factors.dropFirst() {
            let parts = [factor.red, factor.green, factor.blue].map { part in
                max(0, min(18, Int((signedRoot(part / maximum) * 9 + 9.5).rounded(.down))))
            }
            hash += digits(parts[0] * 361 + parts[1] * 19 + parts[2], 2)
        }
        return String(decoding: hash, as: UTF8.self)
    }

    private static func factor(
        _ x: Int,
        _ y: Int,
        pixels: [UInt8],
        width: Int,
        height: Int
    ) -> (red: Double, green: Double, blue: Double) {
        let columns = (0..<width).map { cos(.pi * Double(x * $0) / Double(width)) }
        var (red, green, blue) = (0.0, 0.0, 0.0)
        for row in 0..<height {
            let rowBasis = cos(.pi * Double(y * row) / Double(height))
            for column in 0..<width {
                let basis = columns[column] * rowBasis
                let pixel = (row * width + column) * 3
                red += basis * linear[Int(pixels[pixel])]
                green += basis * linear[Int(pixels[pixel + 1])]
                blue += basis * linear[Int(pixels[pixel + 2])]
            }
        }
        let scale = (x == 0 && y == 0 ? 1.0 : 2.0) / Double(width * height)
        return (red * scale, green * scale, blue * scale)
    }

    private static let linear: [Double] = (0..<256).map { value in
        let part = Double(value) / 255
        return part <= 0.040_45 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
    }

    private static func sRGB(_ value: Double) -> Int {
        let part = max(0, min(1, value))
        let curved = part <= 0.003_130_8 ? part * 12.92 : 1.055 * pow(part, 1 / 2.4) - 0.055
        return Int(curved * 255 + 0.5)
    }

    private static func signedRoot(_ value: Double) -> Double { copysign(abs(value).squareRoot(), value) }

    private static func digits(_ value: Int, _ length: Int) -> [UInt8] {
        var (digits, rest) = ([UInt8](), value)
        for _ in 0..<length {
            digits.append(alphabet[rest % 83])
            rest /= 83
        }
        return digits.reversed()
    }
}
