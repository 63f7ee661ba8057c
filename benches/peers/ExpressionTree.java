/** Twin of lang-samples/expression_tree.lang. */
public final class ExpressionTree {
    abstract static class Expression {
        abstract void accept(Visitor visitor);
    }

    static final class Number extends Expression {
        final double value;

        Number(double value) {
            this.value = value;
        }

        @Override
        void accept(Visitor visitor) {
            visitor.visitNumber(this);
        }
    }

    static final class Variable extends Expression {
        @Override
        void accept(Visitor visitor) {
            visitor.visitVariable(this);
        }
    }

    abstract static class Binary extends Expression {
        final Expression left;
        final Expression right;

        Binary(Expression left, Expression right) {
            this.left = left;
            this.right = right;
        }
    }

    static final class Sum extends Binary {
        Sum(Expression left, Expression right) {
            super(left, right);
        }

        @Override
        void accept(Visitor visitor) {
            visitor.visitSum(this);
        }
    }

    static final class Product extends Binary {
        Product(Expression left, Expression right) {
            super(left, right);
        }

        @Override
        void accept(Visitor visitor) {
            visitor.visitProduct(this);
        }
    }

    static final class Power extends Expression {
        final Expression base;
        final long exponent;

        Power(Expression base, long exponent) {
            this.base = base;
            this.exponent = exponent;
        }

        @Override
        void accept(Visitor visitor) {
            visitor.visitPower(this);
        }
    }

    interface Visitor {
        void visitNumber(Number e);

        void visitVariable(Variable e);

        void visitSum(Sum e);

        void visitProduct(Product e);

        void visitPower(Power e);
    }

    static final class Evaluator implements Visitor {
        double x;
        double result = 0.0;

        Evaluator(double x) {
            this.x = x;
        }

        double evaluate(Expression e) {
            e.accept(this);
            return result;
        }

        @Override
        public void visitNumber(Number e) {
            result = e.value;
        }

        @Override
        public void visitVariable(Variable e) {
            result = x;
        }

        @Override
        public void visitSum(Sum e) {
            double left = evaluate(e.left);
            result = left + evaluate(e.right);
        }

        @Override
        public void visitProduct(Product e) {
            double left = evaluate(e.left);
            result = left * evaluate(e.right);
        }

        @Override
        public void visitPower(Power e) {
            double base = evaluate(e.base);
            double power = base;
            for (long i = 1; i < e.exponent; i++) power *= base;
            result = power;
        }
    }

    static final class Printer implements Visitor {
        final StringBuilder text = new StringBuilder();

        String print(Expression e) {
            text.setLength(0);
            e.accept(this);
            return text.toString();
        }

        void printBinary(Binary e, String operator) {
            text.append("(");
            e.left.accept(this);
            text.append(operator);
            e.right.accept(this);
            text.append(")");
        }

        @Override
        public void visitNumber(Number e) {
            text.append(Bench.shortest(e.value));
        }

        @Override
        public void visitVariable(Variable e) {
            text.append("x");
        }

        @Override
        public void visitSum(Sum e) {
            printBinary(e, " + ");
        }

        @Override
        public void visitProduct(Product e) {
            printBinary(e, " * ");
        }

        @Override
        public void visitPower(Power e) {
            e.base.accept(this);
            text.append("^").append(e.exponent);
        }
    }

    static final class Counter implements Visitor {
        long nodes = 0;

        long count(Expression e) {
            nodes = 0;
            e.accept(this);
            return nodes;
        }

        void countBinary(Binary e) {
            nodes++;
            e.left.accept(this);
            e.right.accept(this);
        }

        @Override
        public void visitNumber(Number e) {
            nodes++;
        }

        @Override
        public void visitVariable(Variable e) {
            nodes++;
        }

        @Override
        public void visitSum(Sum e) {
            countBinary(e);
        }

        @Override
        public void visitProduct(Product e) {
            countBinary(e);
        }

        @Override
        public void visitPower(Power e) {
            nodes++;
            e.base.accept(this);
        }
    }

    abstract static class Transformer implements Visitor {
        Expression result = new Number(0.0);

        Expression transform(Expression e) {
            e.accept(this);
            return result;
        }
    }

    static final class Differentiator extends Transformer {
        @Override
        public void visitNumber(Number e) {
            result = new Number(0.0);
        }

        @Override
        public void visitVariable(Variable e) {
            result = new Number(1.0);
        }

        @Override
        public void visitSum(Sum e) {
            result = new Sum(transform(e.left), transform(e.right));
        }

        @Override
        public void visitProduct(Product e) {
            result = new Sum(new Product(transform(e.left), e.right), new Product(e.left, transform(e.right)));
        }

        @Override
        public void visitPower(Power e) {
            Expression outer = e.exponent == 1 ? new Number(1.0) : new Product(new Number(e.exponent), new Power(e.base, e.exponent - 1));
            result = new Product(outer, transform(e.base));
        }
    }

    static final class Simplifier extends Transformer {
        @Override
        public void visitNumber(Number e) {
            result = e;
        }

        @Override
        public void visitVariable(Variable e) {
            result = e;
        }

        @Override
        public void visitSum(Sum e) {
            Expression left = transform(e.left);
            Expression right = transform(e.right);
            if (left instanceof Number l && right instanceof Number r) {
                result = new Number(l.value + r.value);
            } else if (isNumber(left, 0.0)) {
                result = right;
            } else if (isNumber(right, 0.0)) {
                result = left;
            } else {
                result = new Sum(left, right);
            }
        }

        @Override
        public void visitProduct(Product e) {
            Expression left = transform(e.left);
            Expression right = transform(e.right);
            if (left instanceof Number l && right instanceof Number r) {
                result = new Number(l.value * r.value);
            } else if (isNumber(left, 0.0) || isNumber(right, 0.0)) {
                result = new Number(0.0);
            } else if (isNumber(left, 1.0)) {
                result = right;
            } else if (isNumber(right, 1.0)) {
                result = left;
            } else {
                result = new Product(left, right);
            }
        }

        @Override
        public void visitPower(Power e) {
            Expression base = transform(e.base);
            result = e.exponent == 1 ? base : new Power(base, e.exponent);
        }

        boolean isNumber(Expression e, double value) {
            return e instanceof Number n && n.value == value;
        }
    }

    static Expression example() {
        Variable x = new Variable();
        Expression first = new Power(new Sum(new Product(new Number(2.0), x), new Number(1.0)), 3);
        Expression second = new Sum(new Power(x, 2), new Product(new Number(3.0), x));
        return new Product(first, second);
    }

    static void work(long rounds) {
        Printer printer = new Printer();
        Counter counter = new Counter();
        Expression f = example();
        System.out.println("f   = " + printer.print(f));
        Expression derivative = f;
        for (int order = 1; order <= 4; order++) {
            Expression raw = new Differentiator().transform(derivative);
            derivative = new Simplifier().transform(raw);
            if (order == 1) System.out.println("f'  = " + printer.print(derivative));
            double value = new Evaluator(2.0).evaluate(derivative);
            System.out.println("derivative " + order + ": " + counter.count(raw) + " nodes, " + counter.count(derivative) + " simplified, at 2: "
                + Bench.shortest(value));
        }

        double sum = 0.0;
        Evaluator evaluator = new Evaluator(0.0);
        for (long i = 0; i < rounds; i++) {
            evaluator.x = i % 10;
            sum += evaluator.evaluate(derivative);
        }
        System.out.println("sum " + Bench.shortest(sum));
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 20)));
    }
}
