// Twin of lang-samples/binary_trees.lang. Memory: each node owns its subtrees (unique_ptr), so a tree is freed when its last use is over.
#include "bench.hpp"

#include <algorithm>
#include <memory>

struct Tree {
    std::unique_ptr<Tree> left;
    std::unique_ptr<Tree> right;

    Tree(std::unique_ptr<Tree> left, std::unique_ptr<Tree> right) : left(std::move(left)), right(std::move(right)) {}

    int64_t count() const {
        int64_t nodes = 1;
        if (left != nullptr) nodes += left->count();
        if (right != nullptr) nodes += right->count();
        return nodes;
    }
};

std::unique_ptr<Tree> build(int64_t depth) {
    return depth == 0 ? std::make_unique<Tree>(nullptr, nullptr) : std::make_unique<Tree>(build(depth - 1), build(depth - 1));
}

void work(int64_t depthGiven) {
    int64_t smallest = 4;
    int64_t largest = std::max(smallest + 2, depthGiven);
    std::cout << "stretch tree of depth " << largest + 1 << "\t check: " << build(largest + 1)->count() << '\n';

    auto longLived = build(largest);
    for (int64_t depth = smallest; depth <= largest; depth++) {
        if ((depth - smallest) % 2 == 0) {
            int64_t trees = int64_t(1) << (largest - depth + smallest);
            int64_t check = 0;
            for (int64_t i = 0; i < trees; i++) check += build(depth)->count();
            std::cout << trees << "\t trees of depth " << depth << "\t check: " << check << '\n';
        }
    }
    std::cout << "long lived tree of depth " << largest << "\t check: " << longLived->count() << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 8)); });
}
