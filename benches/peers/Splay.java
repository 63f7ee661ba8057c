import java.util.function.Consumer;

/** Twin of lang-samples/splay.lang. Texts of numbers go through `Bench.shortest`, which costs more than Java's own. */
public final class Splay {
    static final class Node {
        final double key;
        final Payload payload;
        Node left;
        Node right;

        Node(double key, Payload payload) {
            this.key = key;
            this.payload = payload;
        }
    }

    static final class Payload {
        final long[] numbers;
        final String text;
        final Payload left;
        final Payload right;

        Payload(long depth, String tag) {
            numbers = depth == 0 ? new long[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9} : null;
            text = depth == 0 ? "text for " + tag : null;
            left = depth == 0 ? null : new Payload(depth - 1, tag);
            right = depth == 0 ? null : new Payload(depth - 1, tag);
        }

        long bytes() {
            if (text != null) return text.length();
            return left.bytes() + right.bytes();
        }
    }

    static final class SplayTree {
        Node root;

        void splay(double key) {
            if (root == null) return;
            Node current = root;
            Node header = new Node(0.0, null);
            Node smaller = header;
            Node larger = header;
            while (current.key != key) {
                if (key < current.key) {
                    Node child = current.left;
                    if (child == null) break;
                    if (key < child.key) {
                        current.left = child.right;
                        child.right = current;
                        current = child;
                        child = current.left;
                        if (child == null) break;
                    }
                    larger.left = current;
                    larger = current;
                    current = child;
                } else {
                    Node child = current.right;
                    if (child == null) break;
                    if (key > child.key) {
                        current.right = child.left;
                        child.left = current;
                        current = child;
                        child = current.right;
                        if (child == null) break;
                    }
                    smaller.right = current;
                    smaller = current;
                    current = child;
                }
            }
            smaller.right = current.left;
            larger.left = current.right;
            current.left = header.right;
            current.right = header.left;
            root = current;
        }

        boolean contains(double key) {
            splay(key);
            return root != null && root.key == key;
        }

        void insert(double key, Payload payload) {
            Node node = new Node(key, payload);
            splay(key);
            Node top = root;
            if (top != null) {
                if (key > top.key) {
                    node.left = top;
                    node.right = top.right;
                    top.right = null;
                } else {
                    node.right = top;
                    node.left = top.left;
                    top.left = null;
                }
            }
            root = node;
        }

        Node remove(double key) {
            splay(key);
            Node top = root;
            if (top.key != key) throw new IllegalArgumentException("no such key");
            if (top.left == null) {
                root = top.right;
            } else {
                root = top.left;
                splay(key);
                root.right = top.right;
            }
            return top;
        }

        Double greatestBelow(double key) {
            splay(key);
            if (root == null) return null;
            if (root.key < key) return root.key;
            return root.left == null ? null : (Double) rightmost(root.left).key;
        }

        double greatest() {
            return rightmost(root).key;
        }

        Node rightmost(Node start) {
            Node node = start;
            while (node.right != null) node = node.right;
            return node;
        }
    }

    static void walk(Node node, Consumer<Node> visit) {
        if (node == null) return;
        walk(node.left, visit);
        visit.accept(node);
        walk(node.right, visit);
    }

    static double insertNew(SplayTree tree, Xoshiro random) {
        double key = random.nextFloat();
        while (tree.contains(key)) key = random.nextFloat();
        tree.insert(key, new Payload(3, Bench.shortest(key)));
        return key;
    }

    /** What the walk over the finished tree finds. */
    static final class Found {
        long count = 0;
        long bytes = 0;
        double sum = 0.0;
        double last = -1.0;
    }

    static void work(long nodes, long changes) {
        Xoshiro random = new Xoshiro(49734321);
        SplayTree tree = new SplayTree();
        for (long i = 0; i < nodes; i++) insertNew(tree, random);
        for (long i = 0; i < changes; i++) {
            double key = insertNew(tree, random);
            Double below = tree.greatestBelow(key);
            tree.remove(below != null ? below : tree.greatest());
        }

        Found found = new Found();
        walk(tree.root, node -> {
            if (node.key <= found.last) throw new IllegalStateException("the keys are out of order");
            found.last = node.key;
            found.count++;
            found.bytes += node.payload.bytes();
            found.sum += node.key;
        });
        System.out.println(found.count + " nodes, " + found.bytes + " bytes of text, keys sum to " + Bench.format(found.sum, 9));
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 300), bench.argument(1, 1_500)));
    }
}
