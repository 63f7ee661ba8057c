// Twin of lang-samples/expression_tree.lang. Memory: expressions share parts, so they are owned by shared_ptr; visitors borrow them by reference.
#include "bench.hpp"

#include <memory>

struct Visitor;

struct Expression {
    virtual ~Expression() = default;

    virtual void accept(Visitor& visitor) const = 0;
};

using Shared = std::shared_ptr<const Expression>;

struct Number;
struct Variable;
struct Sum;
struct Product;
struct Power;

struct Visitor {
    virtual ~Visitor() = default;

    virtual void visitNumber(const Number& e) = 0;
    virtual void visitVariable(const Variable& e) = 0;
    virtual void visitSum(const Sum& e) = 0;
    virtual void visitProduct(const Product& e) = 0;
    virtual void visitPower(const Power& e) = 0;
};

struct Number : Expression, std::enable_shared_from_this<Number> {
    const double value;

    explicit Number(double value) : value(value) {}

    void accept(Visitor& visitor) const override { visitor.visitNumber(*this); }
};

struct Variable : Expression, std::enable_shared_from_this<Variable> {
    void accept(Visitor& visitor) const override { visitor.visitVariable(*this); }
};

struct Binary : Expression {
    const Shared left;
    const Shared right;

    Binary(Shared left, Shared right) : left(std::move(left)), right(std::move(right)) {}
};

struct Sum : Binary {
    using Binary::Binary;

    void accept(Visitor& visitor) const override { visitor.visitSum(*this); }
};

struct Product : Binary {
    using Binary::Binary;

    void accept(Visitor& visitor) const override { visitor.visitProduct(*this); }
};

struct Power : Expression {
    const Shared base;
    const int64_t exponent;

    Power(Shared base, int64_t exponent) : base(std::move(base)), exponent(exponent) {}

    void accept(Visitor& visitor) const override { visitor.visitPower(*this); }
};

struct Evaluator : Visitor {
    double x;
    double result = 0.0;

    explicit Evaluator(double x) : x(x) {}

    double evaluate(const Expression& e) {
        e.accept(*this);
        return result;
    }

    void visitNumber(const Number& e) override { result = e.value; }

    void visitVariable(const Variable&) override { result = x; }

    void visitSum(const Sum& e) override {
        double left = evaluate(*e.left);
        result = left + evaluate(*e.right);
    }

    void visitProduct(const Product& e) override {
        double left = evaluate(*e.left);
        result = left * evaluate(*e.right);
    }

    void visitPower(const Power& e) override {
        double base = evaluate(*e.base);
        double power = base;
        for (int64_t i = 1; i < e.exponent; i++) power *= base;
        result = power;
    }
};

class Printer final : public Visitor {
public:
    std::string print(const Expression& e) {
        text.clear();
        e.accept(*this);
        return text;
    }

    void visitNumber(const Number& e) override { text += shortest(e.value); }

    void visitVariable(const Variable&) override { text += "x"; }

    void visitSum(const Sum& e) override { printBinary(e, " + "); }

    void visitProduct(const Product& e) override { printBinary(e, " * "); }

    void visitPower(const Power& e) override {
        e.base->accept(*this);
        text += "^";
        text += std::to_string(e.exponent);
    }

private:
    std::string text;

    void printBinary(const Binary& e, const char* operation) {
        text += "(";
        e.left->accept(*this);
        text += operation;
        e.right->accept(*this);
        text += ")";
    }
};

class Counter final : public Visitor {
public:
    int64_t count(const Expression& e) {
        nodes = 0;
        e.accept(*this);
        return nodes;
    }

    void visitNumber(const Number&) override { nodes++; }

    void visitVariable(const Variable&) override { nodes++; }

    void visitSum(const Sum& e) override { countBinary(e); }

    void visitProduct(const Product& e) override { countBinary(e); }

    void visitPower(const Power& e) override {
        nodes++;
        e.base->accept(*this);
    }

private:
    int64_t nodes = 0;

    void countBinary(const Binary& e) {
        nodes++;
        e.left->accept(*this);
        e.right->accept(*this);
    }
};

class Transformer : public Visitor {
public:
    Shared transform(const Expression& e) {
        e.accept(*this);
        return result;
    }

protected:
    Shared result = std::make_shared<Number>(0.0);
};

class Differentiator final : public Transformer {
public:
    void visitNumber(const Number&) override { result = std::make_shared<Number>(0.0); }

    void visitVariable(const Variable&) override { result = std::make_shared<Number>(1.0); }

    void visitSum(const Sum& e) override {
        Shared left = transform(*e.left);
        result = std::make_shared<Sum>(left, transform(*e.right));
    }

    void visitProduct(const Product& e) override {
        Shared left = std::make_shared<Product>(transform(*e.left), e.right);
        result = std::make_shared<Sum>(left, std::make_shared<Product>(e.left, transform(*e.right)));
    }

    void visitPower(const Power& e) override {
        Shared outer;
        if (e.exponent == 1) {
            outer = std::make_shared<Number>(1.0);
        } else {
            outer = std::make_shared<Product>(std::make_shared<Number>(e.exponent), std::make_shared<Power>(e.base, e.exponent - 1));
        }
        result = std::make_shared<Product>(outer, transform(*e.base));
    }
};

class Simplifier final : public Transformer {
public:
    void visitNumber(const Number& e) override { result = e.shared_from_this(); }

    void visitVariable(const Variable& e) override { result = e.shared_from_this(); }

    void visitSum(const Sum& e) override {
        Shared left = transform(*e.left);
        Shared right = transform(*e.right);
        auto l = dynamic_cast<const Number*>(left.get());
        auto r = dynamic_cast<const Number*>(right.get());
        if (l != nullptr && r != nullptr) {
            result = std::make_shared<Number>(l->value + r->value);
        } else if (isNumber(left, 0.0)) {
            result = right;
        } else if (isNumber(right, 0.0)) {
            result = left;
        } else {
            result = std::make_shared<Sum>(left, right);
        }
    }

    void visitProduct(const Product& e) override {
        Shared left = transform(*e.left);
        Shared right = transform(*e.right);
        auto l = dynamic_cast<const Number*>(left.get());
        auto r = dynamic_cast<const Number*>(right.get());
        if (l != nullptr && r != nullptr) {
            result = std::make_shared<Number>(l->value * r->value);
        } else if (isNumber(left, 0.0) || isNumber(right, 0.0)) {
            result = std::make_shared<Number>(0.0);
        } else if (isNumber(left, 1.0)) {
            result = right;
        } else if (isNumber(right, 1.0)) {
            result = left;
        } else {
            result = std::make_shared<Product>(left, right);
        }
    }

    void visitPower(const Power& e) override {
        Shared base = transform(*e.base);
        result = e.exponent == 1 ? base : std::make_shared<Power>(base, e.exponent);
    }

private:
    static bool isNumber(const Shared& e, double value) {
        auto number = dynamic_cast<const Number*>(e.get());
        return number != nullptr && number->value == value;
    }
};

Shared example() {
    Shared x = std::make_shared<Variable>();
    Shared scaled = std::make_shared<Product>(std::make_shared<Number>(2.0), x);
    Shared first = std::make_shared<Power>(std::make_shared<Sum>(scaled, std::make_shared<Number>(1.0)), 3);
    Shared tripled = std::make_shared<Product>(std::make_shared<Number>(3.0), x);
    Shared second = std::make_shared<Sum>(std::make_shared<Power>(x, 2), tripled);
    return std::make_shared<Product>(first, second);
}

void work(int64_t rounds) {
    Printer printer;
    Counter counter;
    Shared f = example();
    std::cout << "f   = " << printer.print(*f) << '\n';
    Shared derivative = f;
    for (int order = 1; order <= 4; order++) {
        Shared raw = Differentiator().transform(*derivative);
        derivative = Simplifier().transform(*raw);
        if (order == 1) std::cout << "f'  = " << printer.print(*derivative) << '\n';
        double value = Evaluator(2.0).evaluate(*derivative);
        int64_t rawNodes = counter.count(*raw);
        std::cout << "derivative " << order << ": " << rawNodes << " nodes, " << counter.count(*derivative)
                  << " simplified, at 2: " << shortest(value) << '\n';
    }

    double sum = 0.0;
    Evaluator evaluator(0.0);
    for (int64_t i = 0; i < rounds; i++) {
        evaluator.x = static_cast<double>(i % 10);
        sum += evaluator.evaluate(*derivative);
    }
    std::cout << "sum " << shortest(sum) << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 20)); });
}
