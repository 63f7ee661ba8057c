/** Twin of lang-samples/merge_sort.lang. */
public final class MergeSort {
    record Person(long number, String name, long age) {}

    interface Order<T> {
        long compare(T a, T b);
    }

    static final class ByAge implements Order<Person> {
        @Override
        public long compare(Person a, Person b) {
            return a.age - b.age;
        }
    }

    static final class ByName implements Order<Person> {
        @Override
        public long compare(Person a, Person b) {
            return a.name.compareTo(b.name);
        }
    }

    record Reversed<T>(Order<T> order) implements Order<T> {
        @Override
        public long compare(T a, T b) {
            return order.compare(b, a);
        }
    }

    record Then<T>(Order<T> first, Order<T> second) implements Order<T> {
        @Override
        public long compare(T a, T b) {
            long result = first.compare(a, b);
            return result != 0 ? result : second.compare(a, b);
        }
    }

    static final class Sorter<T> {
        final Order<T> order;
        long comparisons = 0;

        Sorter(Order<T> order) {
            this.order = order;
        }

        void sort(T[] items) {
            sortRange(items.clone(), items, 0, items.length);
        }

        void sortRange(T[] source, T[] target, int from, int to) {
            if (to - from < 2) return;
            int middle = (from + to) / 2;
            sortRange(target, source, from, middle);
            sortRange(target, source, middle, to);
            int left = from;
            int right = middle;
            for (int at = from; at < to; at++) {
                if (right >= to || left < middle && inOrder(source[left], source[right])) {
                    target[at] = source[left];
                    left++;
                } else {
                    target[at] = source[right];
                    right++;
                }
            }
        }

        boolean inOrder(T a, T b) {
            comparisons++;
            return order.compare(a, b) <= 0;
        }
    }

    static String randomName(Xoshiro random) {
        StringBuilder name = new StringBuilder();
        long syllables = 2 + random.nextBelow(3);
        for (long i = 0; i < syllables; i++) {
            name.append("bdfgklmnprst".charAt((int) random.nextBelow(12)));
            name.append("aeiou".charAt((int) random.nextBelow(5)));
        }
        return name.toString();
    }

    static void report(Person[] people, String title, Order<Person> order) {
        Person[] sorted = people.clone();
        Sorter<Person> sorter = new Sorter<>(order);
        sorter.sort(sorted);
        long checksum = 0;
        for (Person person : sorted) checksum = checksum * 31 + person.number;
        Person first = sorted[0];
        System.out.println(title + ": first " + first.name + " (" + first.age + "), " + sorter.comparisons + " comparisons, checksum " + checksum);
    }

    static void work(int count) {
        Xoshiro random = new Xoshiro(42);
        Person[] people = new Person[count];
        for (int i = 0; i < count; i++) people[i] = new Person(i, randomName(random), 1 + random.nextBelow(99));
        report(people, "by age", new ByAge());
        report(people, "by name", new ByName());
        report(people, "oldest first, then by name", new Then<>(new Reversed<>(new ByAge()), new ByName()));
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work((int) bench.argument(0, 1_000)));
    }
}
