/** Twin of lang-samples/richards.lang. */
public final class Richards {
    static final int IDLE = 0;
    static final int WORKER = 1;
    static final int HANDLER_A = 2;
    static final int HANDLER_B = 3;
    static final int DEVICE_A = 4;
    static final int DEVICE_B = 5;

    static final int PACKET_SIZE = 4;

    static final class Packet {
        Packet next;
        int owner;
        final boolean isWork;
        long position = 0;
        final long[] data = new long[PACKET_SIZE];

        Packet(Packet next, int owner, boolean isWork) {
            this.next = next;
            this.owner = owner;
            this.isWork = isWork;
        }
    }

    static final class PacketQueue {
        Packet first;
        Packet last;

        boolean isEmpty() {
            return first == null;
        }

        void add(Packet packet) {
            packet.next = null;
            if (last == null) {
                first = packet;
            } else {
                last.next = packet;
            }
            last = packet;
        }

        Packet take() {
            Packet packet = first;
            if (packet == null) return null;
            first = packet.next;
            if (first == null) last = null;
            packet.next = null;
            return packet;
        }
    }

    abstract static class Task {
        final Scheduler scheduler;
        final int id;
        final long priority;
        final PacketQueue inbox = new PacketQueue();
        Task next;
        boolean isHeld = false;
        boolean isWaiting = true;

        Task(Scheduler scheduler, int id, long priority) {
            this.scheduler = scheduler;
            this.id = id;
            this.priority = priority;
        }

        boolean canRun() {
            return !isHeld && (!isWaiting || !inbox.isEmpty());
        }

        Task step() {
            Packet packet = null;
            if (isWaiting) {
                packet = inbox.take();
                isWaiting = false;
            }
            return run(packet);
        }

        abstract Task run(Packet packet);

        Task receive(Packet packet, Task sender) {
            boolean wasEmpty = inbox.isEmpty();
            inbox.add(packet);
            return wasEmpty && priority > sender.priority ? this : sender;
        }

        Task hold() {
            scheduler.holds++;
            isHeld = true;
            return next;
        }

        Task waitForPacket() {
            isWaiting = true;
            return this;
        }

        Task release(int id) {
            Task task = scheduler.task(id);
            task.isHeld = false;
            return task.priority > priority ? task : this;
        }

        Task send(Packet packet) {
            Task receiver = scheduler.task(packet.owner);
            scheduler.sends++;
            packet.owner = id;
            return receiver.receive(packet, this);
        }
    }

    static final class IdleTask extends Task {
        long count;
        long register = 1;

        IdleTask(Scheduler scheduler, long count) {
            super(scheduler, IDLE, 0);
            this.count = count;
        }

        @Override
        Task run(Packet packet) {
            count--;
            if (count == 0) return hold();
            long bit = register & 1;
            register >>= 1;
            if (bit == 0) return release(DEVICE_A);
            register ^= 0xd008;
            return release(DEVICE_B);
        }
    }

    static final class WorkerTask extends Task {
        int handler = HANDLER_A;
        long letter = 0;

        WorkerTask(Scheduler scheduler) {
            super(scheduler, WORKER, 1000);
        }

        @Override
        Task run(Packet packet) {
            if (packet == null) return waitForPacket();
            handler = handler == HANDLER_A ? HANDLER_B : HANDLER_A;
            packet.owner = handler;
            packet.position = 0;
            for (int i = 0; i < PACKET_SIZE; i++) {
                letter = letter % 26 + 1;
                packet.data[i] = letter;
            }
            return send(packet);
        }
    }

    static final class HandlerTask extends Task {
        final PacketQueue work = new PacketQueue();
        final PacketQueue free = new PacketQueue();

        HandlerTask(Scheduler scheduler, int id, long priority) {
            super(scheduler, id, priority);
        }

        @Override
        Task run(Packet packet) {
            if (packet != null) {
                if (packet.isWork) work.add(packet);
                else free.add(packet);
            }
            Packet current = work.first;
            if (current == null) return waitForPacket();
            if (current.position == PACKET_SIZE) {
                work.take();
                return send(current);
            }
            Packet outgoing = free.take();
            if (outgoing == null) return waitForPacket();
            outgoing.position = current.data[(int) current.position];
            current.position++;
            return send(outgoing);
        }
    }

    static final class DeviceTask extends Task {
        Packet pending;

        DeviceTask(Scheduler scheduler, int id, long priority) {
            super(scheduler, id, priority);
        }

        @Override
        Task run(Packet packet) {
            if (packet != null) {
                pending = packet;
                return hold();
            }
            Packet done = pending;
            if (done == null) return waitForPacket();
            pending = null;
            return send(done);
        }
    }

    static final class Scheduler {
        final Task[] tasks = new Task[6];
        Task mostImportant;
        long sends = 0;
        long holds = 0;

        Task task(int id) {
            return tasks[id];
        }

        void add(Task task) {
            task.next = mostImportant;
            mostImportant = task;
            tasks[task.id] = task;
        }

        void run() {
            Task task = mostImportant;
            while (task != null) task = task.canRun() ? task.step() : task.next;
        }
    }

    static Scheduler simulate(long idleCount) {
        Scheduler scheduler = new Scheduler();
        IdleTask idle = new IdleTask(scheduler, idleCount);
        idle.isWaiting = false;
        scheduler.add(idle);

        WorkerTask worker = new WorkerTask(scheduler);
        for (int i = 0; i < 2; i++) worker.inbox.add(new Packet(null, HANDLER_A, true));
        scheduler.add(worker);

        for (int side = 0; side < 2; side++) {
            HandlerTask handler = new HandlerTask(scheduler, HANDLER_A + side, 2000 + 1000 * side);
            for (int i = 0; i < 3; i++) handler.inbox.add(new Packet(null, DEVICE_A + side, false));
            scheduler.add(handler);
        }
        for (int side = 0; side < 2; side++) scheduler.add(new DeviceTask(scheduler, DEVICE_A + side, 4000 + 1000 * side));
        scheduler.run();
        return scheduler;
    }

    static void work(long rounds, long idleCount) {
        long sends = 0;
        long holds = 0;
        for (long round = 0; round < rounds; round++) {
            Scheduler scheduler = simulate(idleCount);
            sends += scheduler.sends;
            holds += scheduler.holds;
        }
        System.out.println(sends / rounds + " packets queued, " + holds / rounds + " tasks held in each of " + rounds + " rounds");
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 5), bench.argument(1, 1_000)));
    }
}
