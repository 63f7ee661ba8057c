// Twin of lang-samples/deltablue.lang. Memory: whoever sets up a network owns its variables (values in a vector) and its constraints (unique_ptr, or on the stack);
// inside the network they know each other by plain pointers.
#include "bench.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace Strength {
constexpr int64_t REQUIRED = 0;
constexpr int64_t PREFERRED = 2;
constexpr int64_t STRONG_DEFAULT = 3;
constexpr int64_t NORMAL = 4;
constexpr int64_t WEAKEST = 6;
}  // namespace Strength

class Constraint;
class Planner;

struct Variable {
    int64_t value;
    std::vector<Constraint*> constraints;
    Constraint* determinedBy = nullptr;
    int64_t mark = 0;
    int64_t walkStrength = Strength::WEAKEST;
    bool stay = true;

    explicit Variable(int64_t value) : value(value) {}
};

class Constraint {
public:
    const int64_t strength;

    explicit Constraint(int64_t strength) : strength(strength) {}
    virtual ~Constraint() = default;

    virtual bool isSatisfied() const = 0;
    virtual void chooseMethod(int64_t mark) = 0;
    virtual void markUnsatisfied() = 0;
    virtual void addToGraph() = 0;
    virtual void removeFromGraph() = 0;
    virtual Variable& output() const = 0;
    virtual void markInputs(int64_t mark) = 0;
    virtual bool inputsKnown(int64_t mark) const = 0;
    virtual void recalculate() = 0;
    virtual void execute() = 0;
    virtual bool isInput() const { return false; }

    void add(Planner& planner);
    void destroy(Planner& planner);
    Constraint* satisfy(int64_t mark, Planner& planner);
};

void removeConstraint(Variable& variable, Constraint* constraint) {
    auto at = std::find(variable.constraints.begin(), variable.constraints.end(), constraint);
    if (at != variable.constraints.end()) variable.constraints.erase(at);
    if (variable.determinedBy == constraint) variable.determinedBy = nullptr;
}

class UnaryConstraint : public Constraint {
public:
    UnaryConstraint(Variable& variable, int64_t strength) : Constraint(strength), variable(variable) {}

    bool isSatisfied() const override { return satisfied; }

    void chooseMethod(int64_t mark) override { satisfied = variable.mark != mark && strength < variable.walkStrength; }

    void markUnsatisfied() override { satisfied = false; }

    void addToGraph() override {
        variable.constraints.push_back(this);
        satisfied = false;
    }

    void removeFromGraph() override {
        removeConstraint(variable, this);
        satisfied = false;
    }

    Variable& output() const override { return variable; }

    void markInputs(int64_t) override {}

    bool inputsKnown(int64_t) const override { return true; }

    void recalculate() override {
        variable.walkStrength = strength;
        variable.stay = !isInput();
        if (variable.stay) execute();
    }

private:
    Variable& variable;
    bool satisfied = false;
};

class StayConstraint final : public UnaryConstraint {
public:
    using UnaryConstraint::UnaryConstraint;

    void execute() override {}
};

class EditConstraint final : public UnaryConstraint {
public:
    using UnaryConstraint::UnaryConstraint;

    bool isInput() const override { return true; }

    void execute() override {}
};

enum class Direction { NONE, FORWARD, BACKWARD };

class BinaryConstraint : public Constraint {
public:
    BinaryConstraint(Variable& first, Variable& second, int64_t strength) : Constraint(strength), first(first), second(second) {}

    bool isSatisfied() const override { return direction != Direction::NONE; }

    void chooseMethod(int64_t mark) override {
        if (first.mark == mark) {
            direction = second.mark != mark && strength < second.walkStrength ? Direction::FORWARD : Direction::NONE;
        } else if (second.mark == mark) {
            direction = strength < first.walkStrength ? Direction::BACKWARD : Direction::NONE;
        } else if (first.walkStrength > second.walkStrength) {
            direction = strength < first.walkStrength ? Direction::BACKWARD : Direction::NONE;
        } else {
            direction = strength < second.walkStrength ? Direction::FORWARD : Direction::NONE;
        }
    }

    void markUnsatisfied() override { direction = Direction::NONE; }

    void addToGraph() override {
        first.constraints.push_back(this);
        second.constraints.push_back(this);
        direction = Direction::NONE;
    }

    void removeFromGraph() override {
        removeConstraint(first, this);
        removeConstraint(second, this);
        direction = Direction::NONE;
    }

    Variable& output() const override { return direction == Direction::FORWARD ? second : first; }

    Variable& input() const { return direction == Direction::FORWARD ? first : second; }

    void markInputs(int64_t mark) override { input().mark = mark; }

    bool inputsKnown(int64_t mark) const override {
        Variable& source = input();
        return source.mark == mark || source.stay || source.determinedBy == nullptr;
    }

    void recalculate() override {
        Variable& source = input();
        Variable& target = output();
        target.walkStrength = std::max(strength, source.walkStrength);
        target.stay = source.stay;
        if (target.stay) execute();
    }

protected:
    Variable& first;
    Variable& second;
    Direction direction = Direction::NONE;
};

class EqualityConstraint final : public BinaryConstraint {
public:
    using BinaryConstraint::BinaryConstraint;

    void execute() override { output().value = input().value; }
};

class ScaleConstraint final : public BinaryConstraint {
public:
    ScaleConstraint(Variable& first, Variable& scale, Variable& offset, Variable& second, int64_t strength)
        : BinaryConstraint(first, second, strength), scale(scale), offset(offset) {}

    void addToGraph() override {
        BinaryConstraint::addToGraph();
        scale.constraints.push_back(this);
        offset.constraints.push_back(this);
    }

    void removeFromGraph() override {
        BinaryConstraint::removeFromGraph();
        removeConstraint(scale, this);
        removeConstraint(offset, this);
    }

    void markInputs(int64_t mark) override {
        BinaryConstraint::markInputs(mark);
        scale.mark = mark;
        offset.mark = mark;
    }

    void execute() override {
        if (direction == Direction::FORWARD) {
            second.value = first.value * scale.value + offset.value;
        } else {
            first.value = (second.value - offset.value) / scale.value;
        }
    }

    void recalculate() override {
        Variable& source = input();
        Variable& target = output();
        target.walkStrength = std::max(strength, source.walkStrength);
        target.stay = source.stay && scale.stay && offset.stay;
        if (target.stay) execute();
    }

private:
    Variable& scale;
    Variable& offset;
};

struct Plan {
    std::vector<Constraint*> steps;

    void execute() const {
        for (Constraint* constraint : steps) constraint->execute();
    }
};

template <typename T>
T pop(std::vector<T>& list) {
    T last = list.back();
    list.pop_back();
    return last;
}

class Planner {
public:
    int64_t newMark() {
        lastMark++;
        return lastMark;
    }

    void incrementalAdd(Constraint* constraint) {
        int64_t mark = newMark();
        Constraint* overridden = constraint->satisfy(mark, *this);
        while (overridden != nullptr) overridden = overridden->satisfy(mark, *this);
    }

    void incrementalRemove(Constraint* constraint) {
        Variable& out = constraint->output();
        constraint->markUnsatisfied();
        constraint->removeFromGraph();
        std::vector<Constraint*> unsatisfied = unsatisfiedBelow(out);
        std::stable_sort(unsatisfied.begin(), unsatisfied.end(), [](auto a, auto b) { return a->strength < b->strength; });
        for (Constraint* candidate : unsatisfied) incrementalAdd(candidate);
    }

    bool propagate(Constraint* constraint, int64_t mark) {
        std::vector<Constraint*> todo = {constraint};
        while (!todo.empty()) {
            Constraint* current = pop(todo);
            if (current->output().mark == mark) {
                incrementalRemove(constraint);
                return false;
            }
            current->recalculate();
            addConsumers(current->output(), todo);
        }
        return true;
    }

    Plan planFor(Constraint* constraint) {
        std::vector<Constraint*> inputs;
        if (constraint->isInput() && constraint->isSatisfied()) inputs.push_back(constraint);
        return plan(inputs);
    }

private:
    int64_t lastMark = 0;

    std::vector<Constraint*> unsatisfiedBelow(Variable& out) {
        out.determinedBy = nullptr;
        out.walkStrength = Strength::WEAKEST;
        out.stay = true;
        std::vector<Constraint*> unsatisfied;
        std::vector<Variable*> todo = {&out};
        while (!todo.empty()) {
            Variable* variable = pop(todo);
            for (Constraint* constraint : variable->constraints) {
                if (!constraint->isSatisfied()) unsatisfied.push_back(constraint);
            }
            Constraint* determining = variable->determinedBy;
            for (Constraint* next : variable->constraints) {
                if (next != determining && next->isSatisfied()) {
                    next->recalculate();
                    todo.push_back(&next->output());
                }
            }
        }
        return unsatisfied;
    }

    void addConsumers(const Variable& variable, std::vector<Constraint*>& target) {
        Constraint* determining = variable.determinedBy;
        for (Constraint* constraint : variable.constraints) {
            if (constraint != determining && constraint->isSatisfied()) target.push_back(constraint);
        }
    }

    // Uses `todo`, the inputs, up.
    Plan plan(std::vector<Constraint*>& todo) {
        int64_t mark = newMark();
        std::vector<Constraint*> steps;
        while (!todo.empty()) {
            Constraint* constraint = pop(todo);
            Variable& out = constraint->output();
            if (out.mark != mark && constraint->inputsKnown(mark)) {
                steps.push_back(constraint);
                out.mark = mark;
                addConsumers(out, todo);
            }
        }
        return Plan{std::move(steps)};
    }
};

void Constraint::add(Planner& planner) {
    addToGraph();
    planner.incrementalAdd(this);
}

void Constraint::destroy(Planner& planner) {
    if (isSatisfied()) {
        planner.incrementalRemove(this);
    } else {
        removeFromGraph();
    }
}

Constraint* Constraint::satisfy(int64_t mark, Planner& planner) {
    chooseMethod(mark);
    if (!isSatisfied()) {
        if (strength == Strength::REQUIRED) throw std::logic_error("could not satisfy a required constraint");
        return nullptr;
    }
    markInputs(mark);
    Variable& out = output();
    Constraint* overridden = out.determinedBy;
    if (overridden != nullptr) overridden->markUnsatisfied();
    out.determinedBy = this;
    if (!planner.propagate(this, mark)) throw std::logic_error("the constraints form a cycle");
    out.mark = mark;
    return overridden;
}

// The constraints of one network.
class Network {
public:
    explicit Network(Planner& planner) : planner(planner) {}

    template <typename C, typename... Args>
    void add(Args&&... args) {
        constraints.push_back(std::make_unique<C>(std::forward<Args>(args)...));
        constraints.back()->add(planner);
    }

private:
    Planner& planner;
    std::vector<std::unique_ptr<Constraint>> constraints;
};

int64_t chain(int64_t length) {
    Planner planner;
    Network network(planner);
    std::vector<Variable> variables(length + 1, Variable(0));
    for (int64_t i = 0; i < length; i++) network.add<EqualityConstraint>(variables[i], variables[i + 1], Strength::REQUIRED);
    Variable& head = variables[0];
    Variable& tail = variables[length];
    network.add<StayConstraint>(tail, Strength::STRONG_DEFAULT);
    EditConstraint edit(head, Strength::PREFERRED);
    edit.add(planner);
    Plan plan = planner.planFor(&edit);
    int64_t sum = 0;
    for (int64_t value = 0; value < 100; value++) {
        head.value = value;
        plan.execute();
        sum += tail.value;
    }
    edit.destroy(planner);
    return sum;
}

void change(Variable& variable, int64_t value, Planner& planner) {
    EditConstraint edit(variable, Strength::PREFERRED);
    edit.add(planner);
    Plan plan = planner.planFor(&edit);
    for (int i = 0; i < 10; i++) {
        variable.value = value;
        plan.execute();
    }
    edit.destroy(planner);
}

int64_t sumOf(const std::vector<Variable>& variables, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += variables[i].value;
    return sum;
}

std::vector<int64_t> projection(int64_t size) {
    Planner planner;
    Network network(planner);
    Variable scale(10);
    Variable offset(1000);
    std::vector<Variable> sources;
    std::vector<Variable> targets;
    for (int64_t i = 0; i < size; i++) sources.emplace_back(i);
    for (int64_t i = 0; i < size; i++) targets.emplace_back(i);
    for (int64_t i = 0; i < size; i++) {
        network.add<StayConstraint>(sources[i], Strength::NORMAL);
        network.add<ScaleConstraint>(sources[i], scale, offset, targets[i], Strength::REQUIRED);
    }
    std::vector<int64_t> found;
    change(sources[size - 1], 17, planner);
    found.push_back(targets[size - 1].value);
    change(targets[size - 1], 1050, planner);
    found.push_back(sources[size - 1].value);
    change(scale, 5, planner);
    found.push_back(sumOf(targets, size - 1));
    change(offset, 2000, planner);
    found.push_back(sumOf(targets, size - 1));
    return found;
}

void work(int64_t size, int64_t rounds) {
    int64_t sum = 0;
    std::vector<int64_t> found;
    for (int64_t round = 0; round < rounds; round++) {
        sum += chain(size);
        found = projection(size);
    }
    std::cout << "chain " << sum / rounds << ", projection [";
    for (size_t i = 0; i < found.size(); i++) std::cout << (i > 0 ? ", " : "") << found[i];
    std::cout << "]\n";
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 100), bench.argument(1, 1)); });
}
