import java.util.ArrayList;
import java.util.List;

/** Twin of lang-samples/event_simulation.lang. */
public final class EventSimulation {
    interface Order<T> {
        long compare(T a, T b);
    }

    static final class PriorityQueue<T> {
        final Order<T> order;
        final List<T> heap = new ArrayList<>();

        PriorityQueue(Order<T> order) {
            this.order = order;
        }

        boolean isEmpty() {
            return heap.isEmpty();
        }

        void add(T item) {
            heap.add(item);
            int at = heap.size() - 1;
            while (at > 0 && order.compare(heap.get(at), heap.get((at - 1) / 2)) < 0) {
                swap(at, (at - 1) / 2);
                at = (at - 1) / 2;
            }
        }

        T take() {
            T first = heap.get(0);
            T last = heap.remove(heap.size() - 1);
            if (heap.isEmpty()) return first;
            heap.set(0, last);
            int at = 0;
            int smallest = smallestOfThree(at);
            while (smallest != at) {
                swap(at, smallest);
                at = smallest;
                smallest = smallestOfThree(at);
            }
            return first;
        }

        int smallestOfThree(int at) {
            int smallest = at;
            for (int child = at * 2 + 1; child <= at * 2 + 2; child++) {
                if (child < heap.size() && order.compare(heap.get(child), heap.get(smallest)) < 0) smallest = child;
            }
            return smallest;
        }

        void swap(int i, int j) {
            T item = heap.get(i);
            heap.set(i, heap.get(j));
            heap.set(j, item);
        }
    }

    abstract static class Event {
        final long time;
        long number = 0;

        Event(long time) {
            this.time = time;
        }

        abstract void happen(Bank bank);
    }

    static final class Arrival extends Event {
        final Customer customer;

        Arrival(long time, Customer customer) {
            super(time);
            this.customer = customer;
        }

        @Override
        void happen(Bank bank) {
            bank.arrive(customer);
        }
    }

    static final class Departure extends Event {
        final Customer customer;

        Departure(long time, Customer customer) {
            super(time);
            this.customer = customer;
        }

        @Override
        void happen(Bank bank) {
            bank.leave(customer);
        }
    }

    static final class Customer {
        final long arrived;
        final long serviceTime;
        Customer next;

        Customer(long arrived, long serviceTime) {
            this.arrived = arrived;
            this.serviceTime = serviceTime;
        }
    }

    static final class Bank {
        long idleClerks;
        long toCome;
        final Xoshiro random = new Xoshiro(1234);
        final PriorityQueue<Event> calendar =
            new PriorityQueue<>((a, b) -> a.time != b.time ? a.time - b.time : a.number - b.number);
        long planned = 0;
        long now = 0;

        Customer first;
        Customer last;
        long waiting = 0;

        long served = 0;
        long totalWait = 0;
        long longestWait = 0;
        long longestLine = 0;

        Bank(long idleClerks, long toCome) {
            this.idleClerks = idleClerks;
            this.toCome = toCome;
        }

        void plan(Event event) {
            event.number = planned;
            planned++;
            calendar.add(event);
        }

        void run() {
            planArrival();
            while (!calendar.isEmpty()) {
                Event event = calendar.take();
                now = event.time;
                event.happen(this);
            }
        }

        void planArrival() {
            if (toCome == 0) return;
            toCome--;
            long time = now + random.nextBelow(100);
            plan(new Arrival(time, new Customer(time, 30 + random.nextBelow(220))));
        }

        void arrive(Customer customer) {
            if (idleClerks > 0) {
                idleClerks--;
                serve(customer);
            } else {
                if (last == null) first = customer;
                else last.next = customer;
                last = customer;
                waiting++;
                longestLine = Math.max(longestLine, waiting);
            }
            planArrival();
        }

        void serve(Customer customer) {
            long wait = now - customer.arrived;
            totalWait += wait;
            longestWait = Math.max(longestWait, wait);
            plan(new Departure(now + customer.serviceTime, customer));
        }

        void leave(Customer customer) {
            served++;
            Customer next = first;
            if (next == null) {
                idleClerks++;
                return;
            }
            first = next.next;
            if (first == null) last = null;
            waiting--;
            serve(next);
        }
    }

    static void work(long customers, long clerks) {
        Bank bank = new Bank(clerks, customers);
        bank.run();
        System.out.println(bank.served + " served until " + bank.now + ", " + bank.planned + " events");
        System.out.println("waits: total " + bank.totalWait + ", longest " + bank.longestWait + "; longest line " + bank.longestLine);
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 1_000), bench.argument(1, 3)));
    }
}
