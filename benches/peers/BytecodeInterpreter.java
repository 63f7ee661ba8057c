import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Twin of lang-samples/bytecode_interpreter.lang. */
public final class BytecodeInterpreter {
    static final int HALT = 0;
    static final int PUSH = 1;
    static final int LOAD = 2;
    static final int STORE = 3;
    static final int ADD = 4;
    static final int SUB = 5;
    static final int MUL = 6;
    static final int DIV = 7;
    static final int REM = 8;
    static final int LESS = 9;
    static final int EQUAL = 10;
    static final int JUMP = 11;
    static final int JUMP_IF_ZERO = 12;
    static final int CALL = 13;
    static final int RETURN = 14;
    static final int PRINT = 15;

    static final String[] NAMES = {
        "halt", "push", "load", "store", "add", "sub", "mul", "div", "rem", "less", "equal", "jump", "jumpIfZero", "call", "return", "print",
    };

    static boolean hasOperand(long operation) {
        return switch ((int) operation) {
            case PUSH, LOAD, STORE, JUMP, JUMP_IF_ZERO, CALL -> true;
            default -> false;
        };
    }

    record Hole(int at, String label) {}

    static final class Assembler {
        final List<Long> code = new ArrayList<>();
        final Map<String, Long> labels = new HashMap<>();
        final Map<String, Long> operations = new HashMap<>();
        final List<Hole> holes = new ArrayList<>();

        Assembler() {
            for (int i = 0; i < NAMES.length; i++) operations.put(NAMES[i], (long) i);
        }

        void line(String text) {
            String[] words = text.trim().split(" ");
            String first = words[0];
            if (first.endsWith(":")) {
                labels.put(first.substring(0, first.length() - 1), (long) code.size());
                return;
            }
            Long operation = operations.get(first);
            if (operation == null) throw new IllegalArgumentException("no such operation: " + first);
            code.add(operation);
            if (hasOperand(operation)) operand(words[1]);
        }

        void operand(String word) {
            try {
                code.add(Long.parseLong(word));
            } catch (NumberFormatException e) {
                holes.add(new Hole(code.size(), word));
                code.add(0L);
            }
        }

        long[] finish() {
            for (Hole hole : holes) {
                Long target = labels.get(hole.label);
                if (target == null) throw new IllegalArgumentException("no such label: " + hole.label);
                code.set(hole.at, target);
            }
            return code.stream().mapToLong(Long::longValue).toArray();
        }
    }

    static final class Machine {
        final long[] code;
        final long[] stack = new long[256];
        final long[] memory = new long[16];
        final long[] returns = new long[64];
        long executed = 0;

        Machine(long[] code) {
            this.code = code;
        }

        void run() {
            int pc = 0;
            int sp = 0;
            int calls = 0;
            while (true) {
                executed++;
                long operation = code[pc];
                pc++;
                switch ((int) operation) {
                    case PUSH -> {
                        stack[sp] = code[pc];
                        sp++;
                        pc++;
                    }
                    case LOAD -> {
                        stack[sp] = memory[(int) code[pc]];
                        sp++;
                        pc++;
                    }
                    case STORE -> {
                        sp--;
                        memory[(int) code[pc]] = stack[sp];
                        pc++;
                    }
                    case ADD -> {
                        sp--;
                        stack[sp - 1] += stack[sp];
                    }
                    case SUB -> {
                        sp--;
                        stack[sp - 1] -= stack[sp];
                    }
                    case MUL -> {
                        sp--;
                        stack[sp - 1] *= stack[sp];
                    }
                    case DIV -> {
                        sp--;
                        stack[sp - 1] /= stack[sp];
                    }
                    case REM -> {
                        sp--;
                        stack[sp - 1] %= stack[sp];
                    }
                    case LESS -> {
                        sp--;
                        stack[sp - 1] = stack[sp - 1] < stack[sp] ? 1 : 0;
                    }
                    case EQUAL -> {
                        sp--;
                        stack[sp - 1] = stack[sp - 1] == stack[sp] ? 1 : 0;
                    }
                    case JUMP -> pc = (int) code[pc];
                    case JUMP_IF_ZERO -> {
                        sp--;
                        pc = stack[sp] == 0 ? (int) code[pc] : pc + 1;
                    }
                    case CALL -> {
                        returns[calls] = pc + 1;
                        calls++;
                        pc = (int) code[pc];
                    }
                    case RETURN -> {
                        calls--;
                        pc = (int) returns[calls];
                    }
                    case PRINT -> {
                        sp--;
                        System.out.println(stack[sp]);
                    }
                    case HALT -> {
                        return;
                    }
                    default -> throw new IllegalStateException("bad operation " + operation + " at " + (pc - 1));
                }
            }
        }
    }

    static String[] program(long limit) {
        return new String[] {
            "push " + limit, "store 0",
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

    static void work(long limit) {
        Assembler assembler = new Assembler();
        for (String line : program(limit)) assembler.line(line);
        Machine machine = new Machine(assembler.finish());
        machine.run();
        System.out.println(machine.executed + " instructions executed");
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 300)));
    }
}
