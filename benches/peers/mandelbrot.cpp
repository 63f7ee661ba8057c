// Twin of lang-samples/mandelbrot.lang. Memory: nothing but the lines of the picture.
#include "bench.hpp"

constexpr int64_t LIMIT = 50;

int64_t escapeTime(double cx, double cy) {
    double x = 0.0;
    double y = 0.0;
    int64_t steps = 0;
    while (steps < LIMIT && x * x + y * y <= 4.0) {
        double t = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = t;
        steps++;
    }
    return steps;
}

void picture(int64_t width, int64_t height) {
    for (int64_t row = 0; row < height; row++) {
        std::string line;
        for (int64_t column = 0; column < width; column++) {
            int64_t steps = escapeTime(-2.0 + 3.0 * column / width, -1.0 + 2.0 * row / height);
            line += steps == LIMIT ? '#' : steps > 6 ? '+' : steps > 3 ? ':' : '.';
        }
        std::cout << line << '\n';
    }
}

void work(int64_t n) {
    picture(60, 20);
    int64_t inside = 0;
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        double cy = 2.0 * i / n - 1.0;
        for (int64_t j = 0; j < n; j++) {
            int64_t steps = escapeTime(2.0 * j / n - 1.5, cy);
            total += steps;
            if (steps == LIMIT) inside++;
        }
    }
    std::cout << inside << " of " << n * n << " points inside, " << total << " steps\n";
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 80)); });
}
