import java.util.ArrayList;
import java.util.List;

/** Twin of lang-samples/deltablue.lang. */
public final class DeltaBlue {
    static final class Strength {
        static final long REQUIRED = 0;
        static final long PREFERRED = 2;
        static final long STRONG_DEFAULT = 3;
        static final long NORMAL = 4;
        static final long WEAKEST = 6;
    }

    static final class Variable {
        long value;
        final List<Constraint> constraints = new ArrayList<>();
        Constraint determinedBy;
        long mark = 0;
        long walkStrength = Strength.WEAKEST;
        boolean stay = true;

        Variable(long value) {
            this.value = value;
        }
    }

    abstract static class Constraint {
        final long strength;

        Constraint(long strength) {
            this.strength = strength;
        }

        abstract boolean isSatisfied();

        abstract void chooseMethod(long mark);

        abstract void markUnsatisfied();

        abstract void addToGraph();

        abstract void removeFromGraph();

        abstract Variable output();

        abstract void markInputs(long mark);

        abstract boolean inputsKnown(long mark);

        abstract void recalculate();

        abstract void execute();

        boolean isInput() {
            return false;
        }

        void add(Planner planner) {
            addToGraph();
            planner.incrementalAdd(this);
        }

        void destroy(Planner planner) {
            if (isSatisfied()) planner.incrementalRemove(this);
            else removeFromGraph();
        }

        Constraint satisfy(long mark, Planner planner) {
            chooseMethod(mark);
            if (!isSatisfied()) {
                if (strength == Strength.REQUIRED) throw new IllegalStateException("could not satisfy a required constraint");
                return null;
            }
            markInputs(mark);
            Variable out = output();
            Constraint overridden = out.determinedBy;
            if (overridden != null) overridden.markUnsatisfied();
            out.determinedBy = this;
            if (!planner.propagate(this, mark)) throw new IllegalStateException("the constraints form a cycle");
            out.mark = mark;
            return overridden;
        }
    }

    abstract static class UnaryConstraint extends Constraint {
        final Variable variable;
        boolean satisfied = false;

        UnaryConstraint(Variable variable, long strength) {
            super(strength);
            this.variable = variable;
        }

        @Override
        boolean isSatisfied() {
            return satisfied;
        }

        @Override
        void chooseMethod(long mark) {
            satisfied = variable.mark != mark && strength < variable.walkStrength;
        }

        @Override
        void markUnsatisfied() {
            satisfied = false;
        }

        @Override
        void addToGraph() {
            variable.constraints.add(this);
            satisfied = false;
        }

        @Override
        void removeFromGraph() {
            removeConstraint(variable, this);
            satisfied = false;
        }

        @Override
        Variable output() {
            return variable;
        }

        @Override
        void markInputs(long mark) {}

        @Override
        boolean inputsKnown(long mark) {
            return true;
        }

        @Override
        void recalculate() {
            variable.walkStrength = strength;
            variable.stay = !isInput();
            if (variable.stay) execute();
        }
    }

    static final class StayConstraint extends UnaryConstraint {
        StayConstraint(Variable variable, long strength) {
            super(variable, strength);
        }

        @Override
        void execute() {}
    }

    static final class EditConstraint extends UnaryConstraint {
        EditConstraint(Variable variable, long strength) {
            super(variable, strength);
        }

        @Override
        boolean isInput() {
            return true;
        }

        @Override
        void execute() {}
    }

    static final long NONE = 0;
    static final long FORWARD = 1;
    static final long BACKWARD = -1;

    abstract static class BinaryConstraint extends Constraint {
        final Variable first;
        final Variable second;
        long direction = NONE;

        BinaryConstraint(Variable first, Variable second, long strength) {
            super(strength);
            this.first = first;
            this.second = second;
        }

        @Override
        boolean isSatisfied() {
            return direction != NONE;
        }

        @Override
        void chooseMethod(long mark) {
            if (first.mark == mark) {
                direction = second.mark != mark && strength < second.walkStrength ? FORWARD : NONE;
            } else if (second.mark == mark) {
                direction = strength < first.walkStrength ? BACKWARD : NONE;
            } else if (first.walkStrength > second.walkStrength) {
                direction = strength < first.walkStrength ? BACKWARD : NONE;
            } else {
                direction = strength < second.walkStrength ? FORWARD : NONE;
            }
        }

        @Override
        void markUnsatisfied() {
            direction = NONE;
        }

        @Override
        void addToGraph() {
            first.constraints.add(this);
            second.constraints.add(this);
            direction = NONE;
        }

        @Override
        void removeFromGraph() {
            removeConstraint(first, this);
            removeConstraint(second, this);
            direction = NONE;
        }

        @Override
        Variable output() {
            return direction == FORWARD ? second : first;
        }

        Variable input() {
            return direction == FORWARD ? first : second;
        }

        @Override
        void markInputs(long mark) {
            input().mark = mark;
        }

        @Override
        boolean inputsKnown(long mark) {
            Variable source = input();
            return source.mark == mark || source.stay || source.determinedBy == null;
        }

        @Override
        void recalculate() {
            Variable source = input();
            Variable target = output();
            target.walkStrength = Math.max(strength, source.walkStrength);
            target.stay = source.stay;
            if (target.stay) execute();
        }
    }

    static final class EqualityConstraint extends BinaryConstraint {
        EqualityConstraint(Variable first, Variable second, long strength) {
            super(first, second, strength);
        }

        @Override
        void execute() {
            output().value = input().value;
        }
    }

    static final class ScaleConstraint extends BinaryConstraint {
        final Variable scale;
        final Variable offset;

        ScaleConstraint(Variable first, Variable scale, Variable offset, Variable second, long strength) {
            super(first, second, strength);
            this.scale = scale;
            this.offset = offset;
        }

        @Override
        void addToGraph() {
            super.addToGraph();
            scale.constraints.add(this);
            offset.constraints.add(this);
        }

        @Override
        void removeFromGraph() {
            super.removeFromGraph();
            removeConstraint(scale, this);
            removeConstraint(offset, this);
        }

        @Override
        void markInputs(long mark) {
            super.markInputs(mark);
            scale.mark = mark;
            offset.mark = mark;
        }

        @Override
        void execute() {
            if (direction == FORWARD) {
                second.value = first.value * scale.value + offset.value;
            } else {
                first.value = (second.value - offset.value) / scale.value;
            }
        }

        @Override
        void recalculate() {
            Variable source = input();
            Variable target = output();
            target.walkStrength = Math.max(strength, source.walkStrength);
            target.stay = source.stay && scale.stay && offset.stay;
            if (target.stay) execute();
        }
    }

    static void removeConstraint(Variable variable, Constraint constraint) {
        int at = variable.constraints.indexOf(constraint);
        if (at >= 0) variable.constraints.remove(at);
        if (variable.determinedBy == constraint) variable.determinedBy = null;
    }

    static <T> T pop(List<T> list) {
        return list.remove(list.size() - 1);
    }

    static final class Planner {
        long lastMark = 0;

        long newMark() {
            lastMark++;
            return lastMark;
        }

        void incrementalAdd(Constraint constraint) {
            long mark = newMark();
            Constraint overridden = constraint.satisfy(mark, this);
            while (overridden != null) overridden = overridden.satisfy(mark, this);
        }

        void incrementalRemove(Constraint constraint) {
            Variable out = constraint.output();
            constraint.markUnsatisfied();
            constraint.removeFromGraph();
            List<Constraint> unsatisfied = unsatisfiedBelow(out);
            unsatisfied.sort((a, b) -> Long.compare(a.strength, b.strength));
            for (Constraint candidate : unsatisfied) incrementalAdd(candidate);
        }

        boolean propagate(Constraint constraint, long mark) {
            List<Constraint> todo = new ArrayList<>();
            todo.add(constraint);
            while (!todo.isEmpty()) {
                Constraint current = pop(todo);
                if (current.output().mark == mark) {
                    incrementalRemove(constraint);
                    return false;
                }
                current.recalculate();
                addConsumers(current.output(), todo);
            }
            return true;
        }

        List<Constraint> unsatisfiedBelow(Variable out) {
            out.determinedBy = null;
            out.walkStrength = Strength.WEAKEST;
            out.stay = true;
            List<Constraint> unsatisfied = new ArrayList<>();
            List<Variable> todo = new ArrayList<>();
            todo.add(out);
            while (!todo.isEmpty()) {
                Variable variable = pop(todo);
                for (Constraint constraint : variable.constraints) {
                    if (!constraint.isSatisfied()) unsatisfied.add(constraint);
                }
                Constraint determining = variable.determinedBy;
                for (Constraint next : variable.constraints) {
                    if (next != determining && next.isSatisfied()) {
                        next.recalculate();
                        todo.add(next.output());
                    }
                }
            }
            return unsatisfied;
        }

        void addConsumers(Variable variable, List<Constraint> target) {
            Constraint determining = variable.determinedBy;
            for (Constraint constraint : variable.constraints) {
                if (constraint != determining && constraint.isSatisfied()) target.add(constraint);
            }
        }

        Plan plan(List<Constraint> inputs) {
            long mark = newMark();
            List<Constraint> steps = new ArrayList<>();
            List<Constraint> todo = inputs;
            while (!todo.isEmpty()) {
                Constraint constraint = pop(todo);
                Variable out = constraint.output();
                if (out.mark != mark && constraint.inputsKnown(mark)) {
                    steps.add(constraint);
                    out.mark = mark;
                    addConsumers(out, todo);
                }
            }
            return new Plan(steps);
        }

        Plan planFor(Constraint constraint) {
            List<Constraint> inputs = new ArrayList<>();
            if (constraint.isInput() && constraint.isSatisfied()) inputs.add(constraint);
            return plan(inputs);
        }
    }

    record Plan(List<Constraint> steps) {
        void execute() {
            for (Constraint constraint : steps) constraint.execute();
        }
    }

    static long chain(int length) {
        Planner planner = new Planner();
        Variable[] variables = new Variable[length + 1];
        for (int i = 0; i <= length; i++) variables[i] = new Variable(0);
        for (int i = 0; i < length; i++) new EqualityConstraint(variables[i], variables[i + 1], Strength.REQUIRED).add(planner);
        Variable head = variables[0];
        Variable tail = variables[length];
        new StayConstraint(tail, Strength.STRONG_DEFAULT).add(planner);
        EditConstraint edit = new EditConstraint(head, Strength.PREFERRED);
        edit.add(planner);
        Plan plan = planner.planFor(edit);
        long sum = 0;
        for (long value = 0; value < 100; value++) {
            head.value = value;
            plan.execute();
            sum += tail.value;
        }
        edit.destroy(planner);
        return sum;
    }

    static void change(Variable variable, long value, Planner planner) {
        EditConstraint edit = new EditConstraint(variable, Strength.PREFERRED);
        edit.add(planner);
        Plan plan = planner.planFor(edit);
        for (int i = 0; i < 10; i++) {
            variable.value = value;
            plan.execute();
        }
        edit.destroy(planner);
    }

    static List<Long> projection(int size) {
        Planner planner = new Planner();
        Variable scale = new Variable(10);
        Variable offset = new Variable(1000);
        Variable[] sources = new Variable[size];
        Variable[] targets = new Variable[size];
        for (int i = 0; i < size; i++) sources[i] = new Variable(i);
        for (int i = 0; i < size; i++) targets[i] = new Variable(i);
        for (int i = 0; i < size; i++) {
            new StayConstraint(sources[i], Strength.NORMAL).add(planner);
            new ScaleConstraint(sources[i], scale, offset, targets[i], Strength.REQUIRED).add(planner);
        }
        List<Long> found = new ArrayList<>();
        change(sources[size - 1], 17, planner);
        found.add(targets[size - 1].value);
        change(targets[size - 1], 1050, planner);
        found.add(sources[size - 1].value);
        change(scale, 5, planner);
        found.add(sumOf(targets, size - 1));
        change(offset, 2000, planner);
        found.add(sumOf(targets, size - 1));
        return found;
    }

    static long sumOf(Variable[] variables, int count) {
        long sum = 0;
        for (int i = 0; i < count; i++) sum += variables[i].value;
        return sum;
    }

    static void work(int size, long rounds) {
        long sum = 0;
        List<Long> found = new ArrayList<>();
        for (long round = 0; round < rounds; round++) {
            sum += chain(size);
            found = projection(size);
        }
        System.out.println("chain " + sum / rounds + ", projection " + found);
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work((int) bench.argument(0, 100), bench.argument(1, 1)));
    }
}
