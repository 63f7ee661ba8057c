// Twin of lang-samples/word_count.lang. Memory: strings, vectors and an unordered_map; entries stand in a vector of their own, because the library's map keeps
// the order of insertion.
#include "bench.hpp"
#include "xoshiro.hpp"

#include <algorithm>
#include <unordered_map>

// A map from words to numbers that keeps the order of insertion.
class Counts {
public:
    struct Entry {
        std::string word;
        int64_t count;
    };

    int64_t getOr(const std::string& word, int64_t fallback) const {
        auto found = places.find(word);
        return found == places.end() ? fallback : list[found->second].count;
    }

    void set(const std::string& word, int64_t count) {
        auto [place, isNew] = places.try_emplace(word, list.size());
        if (isNew) {
            list.push_back({word, count});
        } else {
            list[place->second].count = count;
        }
    }

    size_t size() const { return list.size(); }

    std::vector<Entry> entries() const { return list; }

private:
    std::unordered_map<std::string, size_t> places;
    std::vector<Entry> list;
};

void appendWord(std::string& target, int64_t number) {
    int64_t rest = number + 20;
    while (rest > 0) {
        target += "etaoinshrdlucmfwypvb"[rest % 20];
        rest /= 20;
    }
}

std::string makeText(int64_t words) {
    Xoshiro random(2024);
    std::string result;
    for (int64_t i = 0; i < words; i++) {
        int64_t number = random.nextBelow(random.nextBelow(random.nextBelow(2'000) + 1) + 1);
        if (i > 0) result += i % 12 == 0 ? '\n' : ' ';
        appendWord(result, number);
    }
    return result;
}

bool isLetter(char c) {
    return c >= 'a' && c <= 'z';
}

Counts count(const std::string& text) {
    Counts counts;
    size_t at = 0;
    while (at < text.size()) {
        if (isLetter(text[at])) {
            size_t end = at;
            while (end < text.size() && isLetter(text[end])) end++;
            std::string word = text.substr(at, end - at);
            counts.set(word, counts.getOr(word, 0) + 1);
            at = end;
        } else {
            at++;
        }
    }
    return counts;
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> result;
    for (size_t from = 0; from < text.size();) {
        size_t to = std::min(text.find('\n', from), text.size());
        result.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    return result;
}

void work(int64_t words) {
    std::string input = makeText(words);
    Counts counts = count(input);
    std::vector<Counts::Entry> entries = counts.entries();
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
    for (size_t i = 0; i < std::min<size_t>(10, entries.size()); i++) std::cout << entries[i].count << ' ' << entries[i].word << '\n';
    std::cout << input.size() << " bytes, " << lines(input).size() << " lines, " << counts.size() << " different words\n";
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 5'000)); });
}
