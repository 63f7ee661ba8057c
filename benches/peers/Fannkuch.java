import java.util.Arrays;

/** Twin of lang-samples/fannkuch.lang. */
public final class Fannkuch {
    static final class Permutations {
        final int n;
        final long[] current;
        final long[] left;

        Permutations(int n) {
            this.n = n;
            current = new long[n];
            left = new long[n];
            Arrays.setAll(current, i -> i);
            Arrays.setAll(left, i -> i);
        }

        boolean advance() {
            for (int k = 1; k < n; k++) {
                rotate(k);
                if (left[k] > 0) {
                    left[k]--;
                    return true;
                }
                left[k] = k;
            }
            return false;
        }

        void rotate(int k) {
            long first = current[0];
            for (int i = 0; i < k; i++) current[i] = current[i + 1];
            current[k] = first;
        }
    }

    static void reverse(long[] cards, int last) {
        int i = 0;
        int j = last;
        while (i < j) {
            long card = cards[i];
            cards[i] = cards[j];
            cards[j] = card;
            i++;
            j--;
        }
    }

    static long countFlips(long[] cards) {
        long flips = 0;
        while (cards[0] != 0) {
            reverse(cards, (int) cards[0]);
            flips++;
        }
        return flips;
    }

    static void work(int n) {
        Permutations permutations = new Permutations(n);
        long[] cards = new long[n];
        long checksum = 0;
        long most = 0;
        boolean even = true;
        boolean more = true;
        while (more) {
            System.arraycopy(permutations.current, 0, cards, 0, n);
            long flips = countFlips(cards);
            checksum += even ? flips : -flips;
            most = Math.max(most, flips);
            even = !even;
            more = permutations.advance();
        }
        System.out.println(checksum + "\nPfannkuchen(" + n + ") = " + most);
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work((int) bench.argument(0, 7)));
    }
}
