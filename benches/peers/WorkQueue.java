import java.util.ArrayList;
import java.util.List;

/** Twin of lang-samples/work_queue.lang. Mutexes are monitors; results are sorted before they are printed, since threads find them in any order. */
public final class WorkQueue {
    static final class BoundedQueue {
        private final long[] places;
        private int first = 0;
        private int count = 0;
        private boolean closed = false;

        BoundedQueue(int capacity) {
            places = new long[capacity];
        }

        synchronized void put(long value) throws InterruptedException {
            while (count == places.length) {
                wait();
            }
            places[(first + count) % places.length] = value;
            count++;
            notifyAll();
        }

        /** Null once the queue is closed and empty. */
        synchronized Long take() throws InterruptedException {
            while (count == 0) {
                if (closed) return null;
                wait();
            }
            long value = places[first];
            first = (first + 1) % places.length;
            count--;
            notifyAll();
            return value;
        }

        synchronized void close() {
            closed = true;
            notifyAll();
        }
    }

    static long sumOfDivisors(long n) {
        long sum = 0;
        for (long d = 1; d * d <= n; d++) {
            if (n % d == 0) {
                sum += d;
                if (d * d != n) sum += n / d;
            }
        }
        return sum;
    }

    static final class Results {
        private long taken = 0;
        private long total = 0;
        private final List<Long> perfect = new ArrayList<>();

        synchronized void add(long n, long divisors) {
            taken++;
            total += divisors;
            if (divisors == 2 * n) perfect.add(n);
        }
    }

    interface Task {
        void run() throws InterruptedException;
    }

    static Thread spawn(Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        return thread;
    }

    static void work(long numbers, long consumerCount) throws InterruptedException {
        BoundedQueue queue = new BoundedQueue(16);
        Results results = new Results();
        List<Thread> producers = new ArrayList<>();
        for (long parity = 0; parity < 2; parity++) {
            long least = 2 - parity;
            producers.add(spawn(() -> {
                for (long n = least; n <= numbers; n += 2) {
                    queue.put(n);
                }
            }));
        }
        List<Thread> consumers = new ArrayList<>();
        for (long i = 0; i < consumerCount; i++) {
            consumers.add(spawn(() -> {
                for (Long n = queue.take(); n != null; n = queue.take()) {
                    results.add(n, sumOfDivisors(n));
                }
            }));
        }
        for (Thread producer : producers) {
            producer.join();
        }
        queue.close();
        for (Thread consumer : consumers) {
            consumer.join();
        }
        results.perfect.sort(null);
        System.out.println(results.taken + " numbers, divisors sum to " + results.total + ", perfect: " + results.perfect);
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        long numbers = bench.argument(0, 500);
        long consumers = bench.argument(1, 3);
        bench.repeat(() -> {
            try {
                work(numbers, consumers);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }
}
