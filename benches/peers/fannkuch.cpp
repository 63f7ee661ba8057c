// Twin of lang-samples/fannkuch.lang. Memory: vectors.
#include "bench.hpp"

#include <algorithm>
#include <numeric>

struct Permutations {
    const int64_t n;
    std::vector<int64_t> current;
    std::vector<int64_t> left;

    explicit Permutations(int64_t n) : n(n), current(n), left(n) {
        std::iota(current.begin(), current.end(), 0);
        std::iota(left.begin(), left.end(), 0);
    }

    bool advance() {
        for (int64_t k = 1; k < n; k++) {
            rotate(k);
            if (left[k] > 0) {
                left[k]--;
                return true;
            }
            left[k] = k;
        }
        return false;
    }

    void rotate(int64_t k) {
        int64_t first = current[0];
        for (int64_t i = 0; i < k; i++) current[i] = current[i + 1];
        current[k] = first;
    }
};

void reverse(std::vector<int64_t>& cards, int64_t last) {
    int64_t i = 0;
    int64_t j = last;
    while (i < j) {
        int64_t card = cards[i];
        cards[i] = cards[j];
        cards[j] = card;
        i++;
        j--;
    }
}

int64_t countFlips(std::vector<int64_t>& cards) {
    int64_t flips = 0;
    while (cards[0] != 0) {
        reverse(cards, cards[0]);
        flips++;
    }
    return flips;
}

void work(int64_t n) {
    Permutations permutations(n);
    std::vector<int64_t> cards(n);
    int64_t checksum = 0;
    int64_t most = 0;
    bool even = true;
    bool more = true;
    while (more) {
        std::copy(permutations.current.begin(), permutations.current.end(), cards.begin());
        int64_t flips = countFlips(cards);
        checksum += even ? flips : -flips;
        most = std::max(most, flips);
        even = !even;
        more = permutations.advance();
    }
    std::cout << checksum << "\nPfannkuchen(" << n << ") = " << most << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 7)); });
}
