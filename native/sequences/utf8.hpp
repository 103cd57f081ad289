// Recognizes UTF-8, and converts Latin-1 to it: headers of sequence files may be in either encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace exaln {

// The number of bytes of the UTF-8 character at p, or 0 if it is malformed (RFC 3629: no overlong forms, no
// surrogates).
inline std::size_t utf8_character(const std::uint8_t* p, std::size_t n) {
    const std::uint8_t lead = p[0];
    if (lead < 0x80) return 1;
    const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length == 0 || length > n) return 0;
    const std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((p[i] & 0xC0) != 0x80) return 0;
    }
    return length;
}

inline bool is_utf8(const char* text, std::size_t n) {
    const std::uint8_t* p = reinterpret_cast<const std::uint8_t*>(text);
    std::uint8_t any = 0;
    for (std::size_t i = 0; i < n; ++i) any |= p[i];
    if (any < 0x80) return true;
    for (std::size_t i = 0; i < n;) {
        const std::size_t length = utf8_character(p + i, n - i);
        if (length == 0) return false;
        i += length;
    }
    return true;
}

inline std::string utf8_of_latin1(const char* text, std::size_t n) {
    std::string converted;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint8_t byte = static_cast<std::uint8_t>(text[i]);
        if (byte < 0x80) {
            converted.push_back(static_cast<char>(byte));
        } else {
            converted.push_back(static_cast<char>(0xC0 | (byte >> 6)));
            converted.push_back(static_cast<char>(0x80 | (byte & 0x3F)));
        }
    }
    return converted;
}

}  // namespace exaln
