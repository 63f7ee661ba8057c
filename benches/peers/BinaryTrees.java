/** Twin of lang-samples/binary_trees.lang. */
public final class BinaryTrees {
    record Tree(Tree left, Tree right) {
        long count() {
            long nodes = 1;
            if (left != null) nodes += left.count();
            if (right != null) nodes += right.count();
            return nodes;
        }
    }

    static Tree build(long depth) {
        return depth == 0 ? new Tree(null, null) : new Tree(build(depth - 1), build(depth - 1));
    }

    static void work(long depthGiven) {
        long smallest = 4;
        long largest = Math.max(smallest + 2, depthGiven);
        System.out.println("stretch tree of depth " + (largest + 1) + "\t check: " + build(largest + 1).count());
        Tree longLived = build(largest);
        for (long depth = smallest; depth <= largest; depth++) {
            if ((depth - smallest) % 2 == 0) {
                long trees = 1L << (largest - depth + smallest);
                long check = 0;
                for (long i = 0; i < trees; i++) check += build(depth).count();
                System.out.println(trees + "\t trees of depth " + depth + "\t check: " + check);
            }
        }
        System.out.println("long lived tree of depth " + largest + "\t check: " + longLived.count());
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 8)));
    }
}
