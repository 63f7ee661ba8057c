/** The library's Random: xoshiro256** with a SplitMix64 seed. */
final class Xoshiro {
    private long a, b, c, d;

    Xoshiro(long seed) {
        long golden = 0x9e3779b97f4a7c15L;
        a = splitMix(seed + golden);
        b = splitMix(seed + golden * 2);
        c = splitMix(seed + golden * 3);
        d = splitMix(seed + golden * 4);
    }

    private static long splitMix(long state) {
        long z = (state ^ (state >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    long nextInt() {
        long result = Long.rotateLeft(b * 5, 7) * 9;
        long shifted = b << 17;
        c ^= a;
        d ^= b;
        b ^= c;
        a ^= d;
        c ^= shifted;
        d = Long.rotateLeft(d, 45);
        return result;
    }

    long nextBelow(long limit) {
        long bits, value;
        do {
            bits = nextInt() >>> 1;
            value = bits % limit;
        } while (bits - value + (limit - 1) < 0);
        return value;
    }

    double nextFloat() {
        return (nextInt() >>> 11) * 0x1p-53;
    }

    boolean nextBool() {
        return nextInt() < 0;
    }
}
