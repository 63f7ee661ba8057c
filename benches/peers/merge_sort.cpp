// Twin of lang-samples/merge_sort.lang. Memory: people are objects of their own (unique_ptr), as in the sample; arrays that are sorted hold plain pointers to them.
// The checksum is unsigned, because it wraps.
#include "bench.hpp"
#include "xoshiro.hpp"

#include <memory>

struct Person {
    const int64_t number;
    const std::string name;
    const int64_t age;

    Person(int64_t number, std::string name, int64_t age) : number(number), name(std::move(name)), age(age) {}
};

template <typename T>
struct Order {
    virtual ~Order() = default;

    virtual int64_t compare(const T& a, const T& b) const = 0;
};

struct ByAge : Order<Person> {
    int64_t compare(const Person& a, const Person& b) const override { return a.age - b.age; }
};

struct ByName : Order<Person> {
    int64_t compare(const Person& a, const Person& b) const override { return a.name.compare(b.name); }
};

template <typename T>
struct Reversed : Order<T> {
    const Order<T>& order;

    explicit Reversed(const Order<T>& order) : order(order) {}

    int64_t compare(const T& a, const T& b) const override { return order.compare(b, a); }
};

template <typename T>
struct Then : Order<T> {
    const Order<T>& first;
    const Order<T>& second;

    Then(const Order<T>& first, const Order<T>& second) : first(first), second(second) {}

    int64_t compare(const T& a, const T& b) const override {
        int64_t result = first.compare(a, b);
        return result != 0 ? result : second.compare(a, b);
    }
};

template <typename T>
class MergeSort {
public:
    int64_t comparisons = 0;

    explicit MergeSort(const Order<T>& order) : order(order) {}

    void sort(std::vector<const T*>& items) {
        std::vector<const T*> copy = items;
        sortRange(copy, items, 0, items.size());
    }

private:
    const Order<T>& order;

    void sortRange(std::vector<const T*>& source, std::vector<const T*>& target, size_t from, size_t to) {
        if (to - from < 2) return;
        size_t middle = (from + to) / 2;
        sortRange(target, source, from, middle);
        sortRange(target, source, middle, to);
        size_t left = from;
        size_t right = middle;
        for (size_t at = from; at < to; at++) {
            if (right >= to || (left < middle && inOrder(*source[left], *source[right]))) {
                target[at] = source[left];
                left++;
            } else {
                target[at] = source[right];
                right++;
            }
        }
    }

    bool inOrder(const T& a, const T& b) {
        comparisons++;
        return order.compare(a, b) <= 0;
    }
};

std::string randomName(Xoshiro& random) {
    std::string name;
    int64_t syllables = 2 + random.nextBelow(3);
    for (int64_t i = 0; i < syllables; i++) {
        name += "bdfgklmnprst"[random.nextBelow(12)];
        name += "aeiou"[random.nextBelow(5)];
    }
    return name;
}

void report(const std::vector<const Person*>& people, const std::string& title, const Order<Person>& order) {
    std::vector<const Person*> sorted = people;
    MergeSort<Person> sorter(order);
    sorter.sort(sorted);
    uint64_t checksum = 0;
    for (const Person* person : sorted) checksum = checksum * 31 + person->number;
    const Person& first = *sorted[0];
    std::cout << title << ": first " << first.name << " (" << first.age << "), " << sorter.comparisons << " comparisons, checksum "
              << static_cast<int64_t>(checksum) << '\n';
}

void work(int64_t count) {
    Xoshiro random(42);
    std::vector<std::unique_ptr<Person>> owned;
    std::vector<const Person*> people;
    for (int64_t i = 0; i < count; i++) {
        std::string name = randomName(random);
        owned.push_back(std::make_unique<Person>(i, std::move(name), 1 + random.nextBelow(99)));
        people.push_back(owned.back().get());
    }
    ByAge byAge;
    ByName byName;
    Reversed<Person> oldestFirst(byAge);
    report(people, "by age", byAge);
    report(people, "by name", byName);
    report(people, "oldest first, then by name", Then<Person>(oldestFirst, byName));
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 1'000)); });
}
