// Twin of lang-samples/work_queue.lang. A mutex that is waited for is one with a condition variable. Memory: the queue is a vector of its capacity; nothing is freed by hand.
#include "bench.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

class BoundedQueue {
public:
    explicit BoundedQueue(size_t capacity) : places(capacity) {}

    void put(int64_t value) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return count < places.size(); });
        places[(first + count) % places.size()] = value;
        count++;
        changed.notify_all();
    }

    // Empty once the queue is closed and empty.
    std::optional<int64_t> take() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return count > 0 || closed; });
        if (count == 0) return std::nullopt;
        int64_t value = places[first];
        first = (first + 1) % places.size();
        count--;
        changed.notify_all();
        return value;
    }

    void close() {
        std::lock_guard lock(mutex);
        closed = true;
        changed.notify_all();
    }

private:
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<int64_t> places;
    size_t first = 0;
    size_t count = 0;
    bool closed = false;
};

static int64_t sum_of_divisors(int64_t n) {
    int64_t sum = 0;
    for (int64_t d = 1; d * d <= n; d++) {
        if (n % d == 0) {
            sum += d;
            if (d * d != n) sum += n / d;
        }
    }
    return sum;
}

struct Results {
    std::mutex mutex;
    int64_t taken = 0;
    int64_t total = 0;
    std::vector<int64_t> perfect;

    void add(int64_t n, int64_t divisors) {
        std::lock_guard lock(mutex);
        taken++;
        total += divisors;
        if (divisors == 2 * n) perfect.push_back(n);
    }
};

static void work(int64_t numbers, int64_t consumer_count) {
    BoundedQueue queue(16);
    Results results;
    std::vector<std::thread> producers, consumers;
    for (int64_t parity = 0; parity < 2; parity++) {
        producers.emplace_back([&, parity] {
            for (int64_t n = 2 - parity; n <= numbers; n += 2) queue.put(n);
        });
    }
    for (int64_t i = 0; i < consumer_count; i++) {
        consumers.emplace_back([&] {
            for (auto n = queue.take(); n; n = queue.take()) results.add(*n, sum_of_divisors(*n));
        });
    }
    for (auto& producer : producers) producer.join();
    queue.close();
    for (auto& consumer : consumers) consumer.join();
    std::sort(results.perfect.begin(), results.perfect.end());
    std::cout << results.taken << " numbers, divisors sum to " << results.total << ", perfect: [";
    for (size_t i = 0; i < results.perfect.size(); i++) std::cout << (i == 0 ? "" : ", ") << results.perfect[i];
    std::cout << "]\n";
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int64_t numbers = bench.argument(0, 500), consumers = bench.argument(1, 3);
    bench.repeat([&] { work(numbers, consumers); });
}
