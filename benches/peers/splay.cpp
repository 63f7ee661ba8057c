// Twin of lang-samples/splay.lang. Memory: the tree deletes nodes that are removed, and all others in the end; a node owns its payload (unique_ptr all the way).
#include "bench.hpp"
#include "xoshiro.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

struct Payload {
    std::vector<int64_t> numbers;
    std::string text;
    std::unique_ptr<Payload> left;
    std::unique_ptr<Payload> right;

    Payload(int64_t depth, const std::string& tag) {
        if (depth == 0) {
            numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
            text = "text for " + tag;
        } else {
            left = std::make_unique<Payload>(depth - 1, tag);
            right = std::make_unique<Payload>(depth - 1, tag);
        }
    }

    int64_t bytes() const {
        if (left == nullptr) return text.size();
        return left->bytes() + right->bytes();
    }
};

struct Node {
    const double key;
    std::unique_ptr<Payload> payload;
    Node* left = nullptr;
    Node* right = nullptr;

    Node(double key, std::unique_ptr<Payload> payload) : key(key), payload(std::move(payload)) {}
};

class SplayTree {
public:
    Node* root = nullptr;

    SplayTree() = default;
    SplayTree(const SplayTree&) = delete;
    SplayTree& operator=(const SplayTree&) = delete;

    ~SplayTree() { free(root); }

    bool contains(double key) {
        splay(key);
        return root != nullptr && root->key == key;
    }

    void insert(double key, std::unique_ptr<Payload> payload) {
        Node* node = new Node(key, std::move(payload));
        splay(key);
        Node* top = root;
        if (top != nullptr) {
            if (key > top->key) {
                node->left = top;
                node->right = top->right;
                top->right = nullptr;
            } else {
                node->right = top;
                node->left = top->left;
                top->left = nullptr;
            }
        }
        root = node;
    }

    std::unique_ptr<Node> remove(double key) {
        splay(key);
        Node* top = root;
        if (top->key != key) throw std::invalid_argument("no such key");
        if (top->left == nullptr) {
            root = top->right;
        } else {
            root = top->left;
            splay(key);
            root->right = top->right;
        }
        return std::unique_ptr<Node>(top);
    }

    std::optional<double> greatestBelow(double key) {
        splay(key);
        if (root == nullptr) return std::nullopt;
        if (root->key < key) return root->key;
        if (root->left == nullptr) return std::nullopt;
        return rightmost(root->left)->key;
    }

    double greatest() const { return rightmost(root)->key; }

private:
    void splay(double key) {
        if (root == nullptr) return;
        Node* current = root;
        Node header(0.0, nullptr);
        Node* smaller = &header;
        Node* larger = &header;
        while (current->key != key) {
            if (key < current->key) {
                Node* child = current->left;
                if (child == nullptr) break;
                if (key < child->key) {
                    current->left = child->right;
                    child->right = current;
                    current = child;
                    child = current->left;
                    if (child == nullptr) break;
                }
                larger->left = current;
                larger = current;
                current = child;
            } else {
                Node* child = current->right;
                if (child == nullptr) break;
                if (key > child->key) {
                    current->right = child->left;
                    child->left = current;
                    current = child;
                    child = current->right;
                    if (child == nullptr) break;
                }
                smaller->right = current;
                smaller = current;
                current = child;
            }
        }
        smaller->right = current->left;
        larger->left = current->right;
        current->left = header.right;
        current->right = header.left;
        root = current;
    }

    static Node* rightmost(Node* start) {
        Node* node = start;
        while (node->right != nullptr) node = node->right;
        return node;
    }

    static void free(Node* node) {
        if (node == nullptr) return;
        free(node->left);
        free(node->right);
        delete node;
    }
};

void walk(const Node* node, const std::function<void(const Node&)>& visit) {
    if (node == nullptr) return;
    walk(node->left, visit);
    visit(*node);
    walk(node->right, visit);
}

double insertNew(SplayTree& tree, Xoshiro& random) {
    double key = random.nextFloat();
    while (tree.contains(key)) key = random.nextFloat();
    tree.insert(key, std::make_unique<Payload>(3, shortest(key)));
    return key;
}

void work(int64_t nodes, int64_t changes) {
    Xoshiro random(49734321);
    SplayTree tree;
    for (int64_t i = 0; i < nodes; i++) insertNew(tree, random);
    for (int64_t i = 0; i < changes; i++) {
        double key = insertNew(tree, random);
        std::optional<double> below = tree.greatestBelow(key);
        tree.remove(below ? *below : tree.greatest());
    }

    int64_t count = 0;
    int64_t bytes = 0;
    double sum = 0.0;
    double last = -1.0;
    walk(tree.root, [&](const Node& node) {
        if (node.key <= last) throw std::logic_error("the keys are out of order");
        last = node.key;
        count++;
        bytes += node.payload->bytes();
        sum += node.key;
    });
    std::cout << count << " nodes, " << bytes << " bytes of text, keys sum to " << formatted(sum, 9) << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 300), bench.argument(1, 1'500)); });
}
