// The library's Random: xoshiro256** with a SplitMix64 seed.
#pragma once

#include <bit>
#include <cstdint>

class Xoshiro {
public:
    explicit Xoshiro(uint64_t seed)
        : a(splitMix(seed + GOLDEN)), b(splitMix(seed + GOLDEN * 2)), c(splitMix(seed + GOLDEN * 3)), d(splitMix(seed + GOLDEN * 4)) {}

    int64_t nextInt() { return static_cast<int64_t>(next()); }

    int64_t nextBelow(int64_t limit) {
        uint64_t bits, value;
        do {
            bits = next() >> 1;
            value = bits % static_cast<uint64_t>(limit);
        } while (bits - value + static_cast<uint64_t>(limit - 1) > static_cast<uint64_t>(INT64_MAX));
        return static_cast<int64_t>(value);
    }

    double nextFloat() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    bool nextBool() { return nextInt() < 0; }

private:
    static constexpr uint64_t GOLDEN = 0x9e3779b97f4a7c15;

    uint64_t a, b, c, d;

    static uint64_t splitMix(uint64_t state) {
        uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    uint64_t next() {
        uint64_t result = std::rotl(b * 5, 7) * 9;
        uint64_t shifted = b << 17;
        c ^= a;
        d ^= b;
        b ^= c;
        a ^= d;
        c ^= shifted;
        d = std::rotl(d, 45);
        return result;
    }
};
