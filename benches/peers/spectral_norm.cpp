// Twin of lang-samples/spectral_norm.lang. Memory: vectors.
#include "bench.hpp"

#include <cmath>

double element(int64_t i, int64_t j) {
    return 1.0 / static_cast<double>((i + j) * (i + j + 1) / 2 + i + 1);
}

void multiply(const std::vector<double>& v, std::vector<double>& result) {
    for (size_t i = 0; i < v.size(); i++) {
        double sum = 0.0;
        for (size_t j = 0; j < v.size(); j++) sum += element(i, j) * v[j];
        result[i] = sum;
    }
}

void multiplyTransposed(const std::vector<double>& v, std::vector<double>& result) {
    for (size_t i = 0; i < v.size(); i++) {
        double sum = 0.0;
        for (size_t j = 0; j < v.size(); j++) sum += element(j, i) * v[j];
        result[i] = sum;
    }
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
    return sum;
}

void work(int64_t n) {
    std::vector<double> u(n, 1.0);
    std::vector<double> v(n);
    std::vector<double> between(n);
    for (int round = 0; round < 10; round++) {
        multiply(u, between);
        multiplyTransposed(between, v);
        multiply(v, between);
        multiplyTransposed(between, u);
    }
    std::cout << formatted(std::sqrt(dot(u, v) / dot(v, v)), 9) << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 100)); });
}
