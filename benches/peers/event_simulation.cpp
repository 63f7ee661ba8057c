// Twin of lang-samples/event_simulation.lang. Memory: the calendar owns its events, an event or the waiting line its customer (unique_ptr).
#include "bench.hpp"
#include "xoshiro.hpp"

#include <algorithm>
#include <functional>
#include <memory>

template <typename T>
class PriorityQueue {
public:
    explicit PriorityQueue(std::function<int64_t(const T&, const T&)> compare) : compare(std::move(compare)) {}

    bool isEmpty() const { return heap.empty(); }

    void add(T item) {
        heap.push_back(std::move(item));
        size_t at = heap.size() - 1;
        while (at > 0 && compare(heap[at], heap[(at - 1) / 2]) < 0) {
            std::swap(heap[at], heap[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
    }

    T take() {
        std::swap(heap.front(), heap.back());
        T first = std::move(heap.back());
        heap.pop_back();
        if (heap.empty()) return first;
        size_t at = 0;
        size_t smallest = smallestOfThree(at);
        while (smallest != at) {
            std::swap(heap[at], heap[smallest]);
            at = smallest;
            smallest = smallestOfThree(at);
        }
        return first;
    }

private:
    std::function<int64_t(const T&, const T&)> compare;
    std::vector<T> heap;

    size_t smallestOfThree(size_t at) const {
        size_t smallest = at;
        for (size_t child = at * 2 + 1; child <= at * 2 + 2; child++) {
            if (child < heap.size() && compare(heap[child], heap[smallest]) < 0) smallest = child;
        }
        return smallest;
    }
};

class Bank;

struct Customer {
    const int64_t arrived;
    const int64_t serviceTime;
    std::unique_ptr<Customer> next;

    Customer(int64_t arrived, int64_t serviceTime) : arrived(arrived), serviceTime(serviceTime) {}
};

struct Event {
    const int64_t time;
    int64_t number = 0;

    explicit Event(int64_t time) : time(time) {}
    virtual ~Event() = default;

    virtual void happen(Bank& bank) = 0;
};

struct Arrival : Event {
    std::unique_ptr<Customer> customer;

    Arrival(int64_t time, std::unique_ptr<Customer> customer) : Event(time), customer(std::move(customer)) {}

    void happen(Bank& bank) override;
};

struct Departure : Event {
    std::unique_ptr<Customer> customer;

    Departure(int64_t time, std::unique_ptr<Customer> customer) : Event(time), customer(std::move(customer)) {}

    void happen(Bank& bank) override;
};

class Bank {
public:
    int64_t planned = 0;
    int64_t now = 0;
    int64_t served = 0;
    int64_t totalWait = 0;
    int64_t longestWait = 0;
    int64_t longestLine = 0;

    Bank(int64_t idleClerks, int64_t toCome) : idleClerks(idleClerks), toCome(toCome) {}

    void run() {
        planArrival();
        while (!calendar.isEmpty()) {
            std::unique_ptr<Event> event = calendar.take();
            now = event->time;
            event->happen(*this);
        }
    }

    void arrive(std::unique_ptr<Customer> customer) {
        if (idleClerks > 0) {
            idleClerks--;
            serve(std::move(customer));
        } else {
            Customer* tail = last;
            last = customer.get();
            if (tail == nullptr) {
                first = std::move(customer);
            } else {
                tail->next = std::move(customer);
            }
            waiting++;
            longestLine = std::max(longestLine, waiting);
        }
        planArrival();
    }

    // A customer has been served.
    void leave() {
        served++;
        if (first == nullptr) {
            idleClerks++;
            return;
        }
        std::unique_ptr<Customer> next = std::move(first);
        first = std::move(next->next);
        if (first == nullptr) last = nullptr;
        waiting--;
        serve(std::move(next));
    }

private:
    int64_t idleClerks;
    int64_t toCome;
    Xoshiro random{1234};
    PriorityQueue<std::unique_ptr<Event>> calendar{[](const auto& a, const auto& b) {
        return a->time != b->time ? a->time - b->time : a->number - b->number;
    }};
    std::unique_ptr<Customer> first;
    Customer* last = nullptr;
    int64_t waiting = 0;

    void plan(std::unique_ptr<Event> event) {
        event->number = planned;
        planned++;
        calendar.add(std::move(event));
    }

    void planArrival() {
        if (toCome == 0) return;
        toCome--;
        int64_t time = now + random.nextBelow(100);
        plan(std::make_unique<Arrival>(time, std::make_unique<Customer>(time, 30 + random.nextBelow(220))));
    }

    void serve(std::unique_ptr<Customer> customer) {
        int64_t wait = now - customer->arrived;
        totalWait += wait;
        longestWait = std::max(longestWait, wait);
        int64_t end = now + customer->serviceTime;
        plan(std::make_unique<Departure>(end, std::move(customer)));
    }
};

void Arrival::happen(Bank& bank) {
    bank.arrive(std::move(customer));
}

void Departure::happen(Bank& bank) {
    bank.leave();
}

void work(int64_t customers, int64_t clerks) {
    Bank bank(clerks, customers);
    bank.run();
    std::cout << bank.served << " served until " << bank.now << ", " << bank.planned << " events\n";
    std::cout << "waits: total " << bank.totalWait << ", longest " << bank.longestWait << "; longest line " << bank.longestLine << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 1'000), bench.argument(1, 3)); });
}
