/** Twin of lang-samples/mutate_objects.lang. */
public final class MutateObjects {
    static final class Cell {
        final long number;
        Cell next;

        Cell(long number) {
            this.number = number;
        }
    }

    static void work(int objects, long changes) {
        Xoshiro random = new Xoshiro(7);
        Cell[] cells = new Cell[objects];
        for (int i = 0; i < objects; i++) cells[i] = new Cell(i);

        long replaced = 0;
        for (long i = 0; i < changes; i++) {
            int at = (int) random.nextBelow(objects);
            if (i % 4 == 3) {
                Cell fresh = new Cell(objects + replaced);
                fresh.next = cells[at].next;
                cells[at] = fresh;
                replaced++;
            } else {
                cells[at].next = cells[(int) random.nextBelow(objects)];
            }
        }

        long linked = 0, checksum = 0;
        for (Cell cell : cells) {
            Cell next = cell.next;
            if (next != null) {
                linked++;
                checksum = checksum * 31 + cell.number * 17 + next.number;
            }
        }
        System.out.println(replaced + " replaced, " + linked + " linked, checksum " + checksum);
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work((int) bench.argument(0, 10_000), bench.argument(1, 100_000)));
    }
}
