// Twin of lang-samples/bytecode_interpreter.lang. Memory: vectors and maps.
#include "bench.hpp"

#include <charconv>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

enum Operation : int64_t { HALT, PUSH, LOAD, STORE, ADD, SUB, MUL, DIV, REM, LESS, EQUAL, JUMP, JUMP_IF_ZERO, CALL, RETURN, PRINT };

const std::vector<std::string> NAMES = {"halt", "push", "load",  "store", "add",        "sub",  "mul",    "div",
                                        "rem",  "less", "equal", "jump",  "jumpIfZero", "call", "return", "print"};

bool hasOperand(int64_t operation) {
    switch (operation) {
        case PUSH:
        case LOAD:
        case STORE:
        case JUMP:
        case JUMP_IF_ZERO:
        case CALL:
            return true;
        default:
            return false;
    }
}

class Assembler {
public:
    Assembler() {
        for (size_t i = 0; i < NAMES.size(); i++) operations[NAMES[i]] = i;
    }

    void line(const std::string& text) {
        std::istringstream stream(text);
        std::vector<std::string> words(std::istream_iterator<std::string>(stream), {});
        std::string& first = words[0];
        if (first.ends_with(":")) {
            labels[first.substr(0, first.size() - 1)] = code.size();
            return;
        }
        auto operation = operations.find(first);
        if (operation == operations.end()) throw std::invalid_argument("no such operation: " + first);
        code.push_back(operation->second);
        if (hasOperand(operation->second)) operand(words.at(1));
    }

    std::vector<int64_t> finish() {
        for (const auto& [at, label] : holes) {
            auto target = labels.find(label);
            if (target == labels.end()) throw std::invalid_argument("no such label: " + label);
            code[at] = target->second;
        }
        return code;
    }

private:
    std::vector<int64_t> code;
    std::unordered_map<std::string, int64_t> labels;
    std::unordered_map<std::string, int64_t> operations;
    std::vector<std::pair<size_t, std::string>> holes;

    void operand(const std::string& word) {
        int64_t number = 0;
        auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
        if (parsed.ec != std::errc()) holes.emplace_back(code.size(), word);
        code.push_back(number);
    }
};

class Machine {
public:
    int64_t executed = 0;

    explicit Machine(std::vector<int64_t> code) : code(std::move(code)) {}

    void run() {
        int64_t pc = 0;
        int64_t sp = 0;
        int64_t calls = 0;
        while (true) {
            executed++;
            int64_t operation = code[pc];
            pc++;
            switch (operation) {
                case PUSH:
                    stack[sp] = code[pc];
                    sp++;
                    pc++;
                    break;
                case LOAD:
                    stack[sp] = memory[code[pc]];
                    sp++;
                    pc++;
                    break;
                case STORE:
                    sp--;
                    memory[code[pc]] = stack[sp];
                    pc++;
                    break;
                case ADD:
                    sp--;
                    stack[sp - 1] += stack[sp];
                    break;
                case SUB:
                    sp--;
                    stack[sp - 1] -= stack[sp];
                    break;
                case MUL:
                    sp--;
                    stack[sp - 1] *= stack[sp];
                    break;
                case DIV:
                    sp--;
                    stack[sp - 1] /= stack[sp];
                    break;
                case REM:
                    sp--;
                    stack[sp - 1] %= stack[sp];
                    break;
                case LESS:
                    sp--;
                    stack[sp - 1] = stack[sp - 1] < stack[sp];
                    break;
                case EQUAL:
                    sp--;
                    stack[sp - 1] = stack[sp - 1] == stack[sp];
                    break;
                case JUMP:
                    pc = code[pc];
                    break;
                case JUMP_IF_ZERO:
                    sp--;
                    pc = stack[sp] == 0 ? code[pc] : pc + 1;
                    break;
                case CALL:
                    returns[calls] = pc + 1;
                    calls++;
                    pc = code[pc];
                    break;
                case RETURN:
                    calls--;
                    pc = returns[calls];
                    break;
                case PRINT:
                    sp--;
                    std::cout << stack[sp] << '\n';
                    break;
                case HALT:
                    return;
                default:
                    throw std::logic_error("bad operation " + std::to_string(operation) + " at " + std::to_string(pc - 1));
            }
        }
    }

private:
    std::vector<int64_t> code;
    std::vector<int64_t> stack = std::vector<int64_t>(256);
    std::vector<int64_t> memory = std::vector<int64_t>(16);
    std::vector<int64_t> returns = std::vector<int64_t>(64);
};

std::vector<std::string> program(int64_t limit) {
    return {
        "push " + std::to_string(limit), "store 0",
        "push 1", "store 1",

        "nextNumber:",
        "load 1", "load 0", "less", "jumpIfZero done",
        "call collatz",
        "load 4", "load 2", "less", "jumpIfZero notLonger",
        "load 2", "store 4",
        "load 1", "store 5",
        "notLonger:",
        "load 1", "push 1", "add", "store 1",
        "jump nextNumber",

        "done:",
        "load 5", "print",
        "load 4", "print",
        "halt",

        "collatz:",
        "load 1", "store 3",
        "push 1", "store 2",
        "step:",
        "load 3", "push 1", "equal", "jumpIfZero notOne",
        "return",
        "notOne:",
        "load 2", "push 1", "add", "store 2",
        "load 3", "push 2", "rem", "jumpIfZero even",
        "load 3", "push 3", "mul", "push 1", "add", "store 3",
        "jump step",
        "even:",
        "load 3", "push 2", "div", "store 3",
        "jump step",
    };
}

void work(int64_t limit) {
    Assembler assembler;
    for (const std::string& line : program(limit)) assembler.line(line);
    Machine machine(assembler.finish());
    machine.run();
    std::cout << machine.executed << " instructions executed\n";
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 300)); });
}
