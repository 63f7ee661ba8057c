import java.util.HashMap;
import java.util.Map;

/** Twin of lang-samples/recursive_descent.lang. */
public final class RecursiveDescent {
    static final long MODULUS = 1_000_003;

    static final class SyntaxError extends RuntimeException {
        final int at;

        SyntaxError(String problem, int at) {
            super(problem + " at " + at);
            this.at = at;
        }
    }

    record Token(int kind, String text, int at) {}

    static final int END = 0;
    static final int NUMBER = 1;
    static final int NAME = 2;

    static final class Tokenizer {
        final String input;
        int at = 0;

        Tokenizer(String input) {
            this.input = input;
        }

        Token next() {
            while (at < input.length() && input.charAt(at) == ' ') at++;
            if (at == input.length()) return new Token(END, "", at);
            int start = at;
            char c = input.charAt(at);
            if (isDigit(c)) {
                while (at < input.length() && isDigit(input.charAt(at))) at++;
                return new Token(NUMBER, input.substring(start, at), start);
            }
            if (isLetter(c)) {
                while (at < input.length() && isLetter(input.charAt(at))) at++;
                return new Token(NAME, input.substring(start, at), start);
            }
            switch (c) {
                case '+', '-', '*', '%', '(', ')' -> at++;
                default -> throw new SyntaxError("unexpected character '" + c + "'", at);
            }
            return new Token(c, input.substring(start, at), start);
        }

        boolean isDigit(char c) {
            return c >= '0' && c <= '9';
        }

        boolean isLetter(char c) {
            return c >= 'a' && c <= 'z';
        }
    }

    abstract static class Node {
        abstract long value(Map<String, Long> variables);
    }

    static final class Literal extends Node {
        final long number;

        Literal(long number) {
            this.number = number;
        }

        @Override
        long value(Map<String, Long> variables) {
            return number;
        }
    }

    static final class Reference extends Node {
        final String name;

        Reference(String name) {
            this.name = name;
        }

        @Override
        long value(Map<String, Long> variables) {
            return variables.getOrDefault(name, 0L);
        }
    }

    static final class Negation extends Node {
        final Node operand;

        Negation(Node operand) {
            this.operand = operand;
        }

        @Override
        long value(Map<String, Long> variables) {
            return -operand.value(variables);
        }
    }

    static final class Operation extends Node {
        final int operator;
        final Node left;
        final Node right;

        Operation(int operator, Node left, Node right) {
            this.operator = operator;
            this.left = left;
            this.right = right;
        }

        @Override
        long value(Map<String, Long> variables) {
            long l = left.value(variables);
            long r = right.value(variables);
            return switch (operator) {
                case '+' -> (l + r) % MODULUS;
                case '-' -> (l - r) % MODULUS;
                case '*' -> l * r % MODULUS;
                default -> r == 0 ? 0 : l % r;
            };
        }
    }

    static final class Parser {
        final Tokenizer tokens;
        Token token;

        Parser(String input) {
            tokens = new Tokenizer(input);
            token = tokens.next();
        }

        Token advance() {
            Token last = token;
            token = tokens.next();
            return last;
        }

        Node parse() {
            Node result = sum();
            if (token.kind != END) throw unexpected();
            return result;
        }

        Node sum() {
            Node left = product();
            while (token.kind == '+' || token.kind == '-') {
                int operator = advance().kind;
                left = new Operation(operator, left, product());
            }
            return left;
        }

        Node product() {
            Node left = factor();
            while (token.kind == '*' || token.kind == '%') {
                int operator = advance().kind;
                left = new Operation(operator, left, factor());
            }
            return left;
        }

        Node factor() {
            return switch (token.kind) {
                case NUMBER -> new Literal(Long.parseLong(advance().text));
                case NAME -> new Reference(advance().text);
                case '-' -> {
                    advance();
                    yield new Negation(factor());
                }
                case '(' -> {
                    advance();
                    Node inner = sum();
                    if (token.kind != ')') throw unexpected();
                    advance();
                    yield inner;
                }
                default -> throw unexpected();
            };
        }

        SyntaxError unexpected() {
            if (token.kind == END) return new SyntaxError("unexpected end", token.at);
            return new SyntaxError("unexpected '" + token.text + "'", token.at);
        }
    }

    static final class Generator {
        final Xoshiro random;
        final StringBuilder text = new StringBuilder();

        Generator(Xoshiro random) {
            this.random = random;
        }

        String statement() {
            text.setLength(0);
            sum(3);
            if (random.nextBelow(50) == 0) text.append(random.nextBool() ? " +" : " )");
            return text.toString();
        }

        void sum(long depth) {
            product(depth);
            long more = random.nextBelow(3);
            for (long i = 0; i < more; i++) {
                text.append(random.nextBool() ? " + " : " - ");
                product(depth);
            }
        }

        void product(long depth) {
            factor(depth);
            long more = random.nextBelow(2);
            for (long i = 0; i < more; i++) {
                text.append(random.nextBelow(4) == 0 ? " % " : " * ");
                factor(depth);
            }
        }

        void factor(long depth) {
            long choice = random.nextBelow(10);
            if (choice < 3 && depth > 0) {
                text.append("(");
                sum(depth - 1);
                text.append(")");
            } else if (choice == 3) {
                text.append("-");
                factor(depth);
            } else if (choice < 7) {
                text.append(random.nextBelow(1_000));
            } else {
                text.append((char) ('a' + random.nextBelow(4)));
            }
        }
    }

    static void work(long statements) {
        Generator generator = new Generator(new Xoshiro(99));
        Map<String, Long> variables = new HashMap<>();
        long failures = 0;
        long bytes = 0;
        long checksum = 0;
        for (long i = 0; i < statements; i++) {
            String text = generator.statement();
            bytes += text.length();
            try {
                long value = new Parser(text).parse().value(variables);
                variables.put(String.valueOf((char) ('a' + i % 4)), value);
                checksum = (checksum * 31 + value) % MODULUS;
            } catch (SyntaxError e) {
                failures++;
                if (failures <= 2) System.out.println("statement " + i + ": " + e.getMessage());
            }
        }
        System.out.println(statements + " statements, " + bytes + " bytes, " + failures + " failures, checksum " + checksum);
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 200)));
    }
}
