// Twin of lang-samples/richards.lang. Memory: the scheduler owns tasks and packets; queues and tasks refer to them by plain pointers.
#include "bench.hpp"

#include <array>
#include <memory>

constexpr int64_t IDLE = 0;
constexpr int64_t WORKER = 1;
constexpr int64_t HANDLER_A = 2;
constexpr int64_t HANDLER_B = 3;
constexpr int64_t DEVICE_A = 4;
constexpr int64_t DEVICE_B = 5;

constexpr int64_t PACKET_SIZE = 4;

struct Packet {
    Packet* next;
    int64_t owner;
    const bool isWork;
    int64_t position = 0;
    std::vector<int64_t> data = std::vector<int64_t>(PACKET_SIZE);

    Packet(Packet* next, int64_t owner, bool isWork) : next(next), owner(owner), isWork(isWork) {}
};

struct PacketQueue {
    Packet* first = nullptr;
    Packet* last = nullptr;

    bool isEmpty() const { return first == nullptr; }

    void add(Packet* packet) {
        packet->next = nullptr;
        if (last == nullptr) {
            first = packet;
        } else {
            last->next = packet;
        }
        last = packet;
    }

    Packet* take() {
        Packet* packet = first;
        if (packet == nullptr) return nullptr;
        first = packet->next;
        if (first == nullptr) last = nullptr;
        packet->next = nullptr;
        return packet;
    }
};

struct Scheduler;

struct Task {
    Scheduler& scheduler;
    const int64_t id;
    const int64_t priority;
    PacketQueue inbox;
    Task* next = nullptr;
    bool isHeld = false;
    bool isWaiting = true;

    Task(Scheduler& scheduler, int64_t id, int64_t priority) : scheduler(scheduler), id(id), priority(priority) {}
    virtual ~Task() = default;

    bool canRun() const { return !isHeld && (!isWaiting || !inbox.isEmpty()); }

    Task* step() {
        Packet* packet = nullptr;
        if (isWaiting) {
            packet = inbox.take();
            isWaiting = false;
        }
        return run(packet);
    }

    virtual Task* run(Packet* packet) = 0;

    Task* receive(Packet* packet, Task* sender) {
        bool wasEmpty = inbox.isEmpty();
        inbox.add(packet);
        return wasEmpty && priority > sender->priority ? this : sender;
    }

    Task* hold();

    Task* waitForPacket() {
        isWaiting = true;
        return this;
    }

    Task* release(int64_t id);

    Task* send(Packet* packet);
};

struct Scheduler {
    std::array<std::unique_ptr<Task>, 6> tasks;
    std::vector<std::unique_ptr<Packet>> packets;
    Task* mostImportant = nullptr;
    int64_t sends = 0;
    int64_t holds = 0;

    Task* task(int64_t id) const { return tasks[id].get(); }

    void add(std::unique_ptr<Task> task) {
        task->next = mostImportant;
        mostImportant = task.get();
        tasks[task->id] = std::move(task);
    }

    Packet* packet(int64_t owner, bool isWork) {
        packets.push_back(std::make_unique<Packet>(nullptr, owner, isWork));
        return packets.back().get();
    }

    void run() {
        Task* task = mostImportant;
        while (task != nullptr) task = task->canRun() ? task->step() : task->next;
    }
};

Task* Task::hold() {
    scheduler.holds++;
    isHeld = true;
    return next;
}

Task* Task::release(int64_t id) {
    Task* task = scheduler.task(id);
    task->isHeld = false;
    return task->priority > priority ? task : this;
}

Task* Task::send(Packet* packet) {
    Task* receiver = scheduler.task(packet->owner);
    scheduler.sends++;
    packet->owner = id;
    return receiver->receive(packet, this);
}

struct IdleTask : Task {
    int64_t count;
    int64_t shift = 1;

    IdleTask(Scheduler& scheduler, int64_t count) : Task(scheduler, IDLE, 0), count(count) {}

    Task* run(Packet*) override {
        count--;
        if (count == 0) return hold();
        int64_t bit = shift & 1;
        shift >>= 1;
        if (bit == 0) return release(DEVICE_A);
        shift ^= 0xd008;
        return release(DEVICE_B);
    }
};

struct WorkerTask : Task {
    int64_t handler = HANDLER_A;
    int64_t letter = 0;

    explicit WorkerTask(Scheduler& scheduler) : Task(scheduler, WORKER, 1000) {}

    Task* run(Packet* packet) override {
        if (packet == nullptr) return waitForPacket();
        handler = handler == HANDLER_A ? HANDLER_B : HANDLER_A;
        packet->owner = handler;
        packet->position = 0;
        for (int64_t i = 0; i < PACKET_SIZE; i++) {
            letter = letter % 26 + 1;
            packet->data[i] = letter;
        }
        return send(packet);
    }
};

struct HandlerTask : Task {
    PacketQueue work;
    PacketQueue free;

    using Task::Task;

    Task* run(Packet* packet) override {
        if (packet != nullptr) {
            if (packet->isWork) {
                work.add(packet);
            } else {
                free.add(packet);
            }
        }
        Packet* current = work.first;
        if (current == nullptr) return waitForPacket();
        if (current->position == PACKET_SIZE) {
            work.take();
            return send(current);
        }
        Packet* outgoing = free.take();
        if (outgoing == nullptr) return waitForPacket();
        outgoing->position = current->data[current->position];
        current->position++;
        return send(outgoing);
    }
};

struct DeviceTask : Task {
    Packet* pending = nullptr;

    using Task::Task;

    Task* run(Packet* packet) override {
        if (packet != nullptr) {
            pending = packet;
            return hold();
        }
        Packet* done = pending;
        if (done == nullptr) return waitForPacket();
        pending = nullptr;
        return send(done);
    }
};

std::unique_ptr<Scheduler> simulate(int64_t idleCount) {
    auto scheduler = std::make_unique<Scheduler>();
    auto idle = std::make_unique<IdleTask>(*scheduler, idleCount);
    idle->isWaiting = false;
    scheduler->add(std::move(idle));

    auto worker = std::make_unique<WorkerTask>(*scheduler);
    for (int i = 0; i < 2; i++) worker->inbox.add(scheduler->packet(HANDLER_A, true));
    scheduler->add(std::move(worker));

    for (int side = 0; side < 2; side++) {
        auto handler = std::make_unique<HandlerTask>(*scheduler, HANDLER_A + side, 2000 + 1000 * side);
        for (int i = 0; i < 3; i++) handler->inbox.add(scheduler->packet(DEVICE_A + side, false));
        scheduler->add(std::move(handler));
    }
    for (int side = 0; side < 2; side++) scheduler->add(std::make_unique<DeviceTask>(*scheduler, DEVICE_A + side, 4000 + 1000 * side));
    scheduler->run();
    return scheduler;
}

void work(int64_t rounds, int64_t idleCount) {
    int64_t sends = 0;
    int64_t holds = 0;
    for (int64_t round = 0; round < rounds; round++) {
        auto scheduler = simulate(idleCount);
        sends += scheduler->sends;
        holds += scheduler->holds;
    }
    std::cout << sends / rounds << " packets queued, " << holds / rounds << " tasks held in each of " << rounds << " rounds\n";
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 5), bench.argument(1, 1'000)); });
}
