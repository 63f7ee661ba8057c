// What the C++ twins share, as lang-samples/bench.lang: sizes from the command line, and the clock. Also numbers in the language's own format.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

class Bench {
public:
    Bench(int argc, char** argv) : args(argv + 1, argv + argc) {
        while (sizes < args.size() && args[sizes] != "--iterations") sizes++;
    }

    int64_t argument(size_t index, int64_t fallback) const { return index < sizes ? std::stoll(args[index]) : fallback; }

    template <typename Work>
    void repeat(Work work) const {
        if (sizes == args.size()) {
            work();
            return;
        }
        int64_t iterations = std::stoll(args.at(sizes + 1));
        for (int64_t iteration = 1; iteration <= iterations; iteration++) {
            auto start = std::chrono::steady_clock::now();
            work();
            auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
            std::cerr << "iteration " << iteration << ": " << taken.count() << " ns\n";
        }
    }

private:
    std::vector<std::string> args;
    // Where the option is, or else the number of arguments.
    size_t sizes = 0;
};

// Float.format(decimals)
inline std::string formatted(double value, int decimals) {
    char text[400];
    return std::string(text, std::snprintf(text, sizeof text, "%.*f", decimals, value));
}

// Float.toString() for numbers from 1e-6 up to 1e21: the shortest digits that read back as the number, without an exponent.
inline std::string shortest(double value) {
    char text[400];
    std::string result(text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr);
    return result.find('.') == std::string::npos ? result + ".0" : result;
}
