// Twin of lang-samples/recursive_descent.lang. Memory: nodes own their operands (unique_ptr); tokens are values with texts of their own.
#include "bench.hpp"
#include "xoshiro.hpp"

#include <memory>
#include <stdexcept>
#include <unordered_map>

constexpr int64_t MODULUS = 1'000'003;

struct SyntaxError : std::runtime_error {
    const size_t at;

    SyntaxError(const std::string& problem, size_t at) : std::runtime_error(problem + " at " + std::to_string(at)), at(at) {}
};

struct Token {
    int64_t kind;
    std::string text;
    size_t at;
};

constexpr int64_t END = 0;
constexpr int64_t NUMBER = 1;
constexpr int64_t NAME = 2;

class Tokenizer {
public:
    explicit Tokenizer(std::string input) : input(std::move(input)) {}

    Token next() {
        while (at < input.size() && input[at] == ' ') at++;
        if (at == input.size()) return {END, "", at};
        size_t start = at;
        char c = input[at];
        if (isDigit(c)) {
            while (at < input.size() && isDigit(input[at])) at++;
            return {NUMBER, input.substr(start, at - start), start};
        }
        if (isLetter(c)) {
            while (at < input.size() && isLetter(input[at])) at++;
            return {NAME, input.substr(start, at - start), start};
        }
        switch (c) {
            case '+':
            case '-':
            case '*':
            case '%':
            case '(':
            case ')':
                at++;
                break;
            default:
                throw SyntaxError(std::string("unexpected character '") + c + "'", at);
        }
        return {c, input.substr(start, at - start), start};
    }

private:
    std::string input;
    size_t at = 0;

    static bool isDigit(char c) { return c >= '0' && c <= '9'; }

    static bool isLetter(char c) { return c >= 'a' && c <= 'z'; }
};

using Variables = std::unordered_map<std::string, int64_t>;

struct Node {
    virtual ~Node() = default;

    virtual int64_t value(const Variables& variables) const = 0;
};

struct Literal : Node {
    const int64_t number;

    explicit Literal(int64_t number) : number(number) {}

    int64_t value(const Variables&) const override { return number; }
};

struct Reference : Node {
    const std::string name;

    explicit Reference(std::string name) : name(std::move(name)) {}

    int64_t value(const Variables& variables) const override {
        auto found = variables.find(name);
        return found == variables.end() ? 0 : found->second;
    }
};

struct Negation : Node {
    const std::unique_ptr<Node> operand;

    explicit Negation(std::unique_ptr<Node> operand) : operand(std::move(operand)) {}

    int64_t value(const Variables& variables) const override { return -operand->value(variables); }
};

struct Operation : Node {
    const int64_t operation;
    const std::unique_ptr<Node> left;
    const std::unique_ptr<Node> right;

    Operation(int64_t operation, std::unique_ptr<Node> left, std::unique_ptr<Node> right)
        : operation(operation), left(std::move(left)), right(std::move(right)) {}

    int64_t value(const Variables& variables) const override {
        int64_t l = left->value(variables);
        int64_t r = right->value(variables);
        switch (operation) {
            case '+':
                return (l + r) % MODULUS;
            case '-':
                return (l - r) % MODULUS;
            case '*':
                return l * r % MODULUS;
            default:
                return r == 0 ? 0 : l % r;
        }
    }
};

class Parser {
public:
    explicit Parser(std::string input) : tokens(std::move(input)), token(tokens.next()) {}

    std::unique_ptr<Node> parse() {
        auto result = sum();
        if (token.kind != END) throw unexpected();
        return result;
    }

private:
    Tokenizer tokens;
    Token token;

    Token advance() {
        Token last = std::move(token);
        token = tokens.next();
        return last;
    }

    std::unique_ptr<Node> sum() {
        auto left = product();
        while (token.kind == '+' || token.kind == '-') {
            int64_t operation = advance().kind;
            auto right = product();
            left = std::make_unique<Operation>(operation, std::move(left), std::move(right));
        }
        return left;
    }

    std::unique_ptr<Node> product() {
        auto left = factor();
        while (token.kind == '*' || token.kind == '%') {
            int64_t operation = advance().kind;
            auto right = factor();
            left = std::make_unique<Operation>(operation, std::move(left), std::move(right));
        }
        return left;
    }

    std::unique_ptr<Node> factor() {
        switch (token.kind) {
            case NUMBER:
                return std::make_unique<Literal>(std::stoll(advance().text));
            case NAME:
                return std::make_unique<Reference>(advance().text);
            case '-':
                advance();
                return std::make_unique<Negation>(factor());
            case '(': {
                advance();
                auto inner = sum();
                if (token.kind != ')') throw unexpected();
                advance();
                return inner;
            }
            default:
                throw unexpected();
        }
    }

    SyntaxError unexpected() const {
        if (token.kind == END) return SyntaxError("unexpected end", token.at);
        return SyntaxError("unexpected '" + token.text + "'", token.at);
    }
};

class Generator {
public:
    explicit Generator(Xoshiro random) : random(random) {}

    std::string statement() {
        text.clear();
        sum(3);
        if (random.nextBelow(50) == 0) text += random.nextBool() ? " +" : " )";
        return text;
    }

private:
    Xoshiro random;
    std::string text;

    void sum(int64_t depth) {
        product(depth);
        int64_t more = random.nextBelow(3);
        for (int64_t i = 0; i < more; i++) {
            text += random.nextBool() ? " + " : " - ";
            product(depth);
        }
    }

    void product(int64_t depth) {
        factor(depth);
        int64_t more = random.nextBelow(2);
        for (int64_t i = 0; i < more; i++) {
            text += random.nextBelow(4) == 0 ? " % " : " * ";
            factor(depth);
        }
    }

    void factor(int64_t depth) {
        int64_t choice = random.nextBelow(10);
        if (choice < 3 && depth > 0) {
            text += "(";
            sum(depth - 1);
            text += ")";
        } else if (choice == 3) {
            text += "-";
            factor(depth);
        } else if (choice < 7) {
            text += std::to_string(random.nextBelow(1'000));
        } else {
            text += static_cast<char>('a' + random.nextBelow(4));
        }
    }
};

void work(int64_t statements) {
    Generator generator(Xoshiro(99));
    Variables variables;
    int64_t failures = 0;
    int64_t bytes = 0;
    int64_t checksum = 0;
    for (int64_t i = 0; i < statements; i++) {
        std::string text = generator.statement();
        bytes += text.size();
        try {
            int64_t value = Parser(std::move(text)).parse()->value(variables);
            variables[std::string(1, static_cast<char>('a' + i % 4))] = value;
            checksum = (checksum * 31 + value) % MODULUS;
        } catch (const SyntaxError& e) {
            failures++;
            if (failures <= 2) std::cout << "statement " << i << ": " << e.what() << '\n';
        }
    }
    std::cout << statements << " statements, " << bytes << " bytes, " << failures << " failures, checksum " << checksum << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 200)); });
}
