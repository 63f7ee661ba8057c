// Twin of lang-samples/richards.lang.
"use strict";

const { argument, repeat } = require("./bench.js");

const IDLE = 0;
const WORKER = 1;
const HANDLER_A = 2;
const HANDLER_B = 3;
const DEVICE_A = 4;
const DEVICE_B = 5;

const PACKET_SIZE = 4;

class Packet {
  constructor(next, owner, isWork) {
    this.next = next;
    this.owner = owner;
    this.isWork = isWork;
    this.position = 0;
    this.data = [0, 0, 0, 0];
  }
}

class PacketQueue {
  constructor() {
    this.first = null;
    this.last = null;
  }

  isEmpty() {
    return this.first === null;
  }

  add(packet) {
    packet.next = null;
    if (this.last === null) {
      this.first = packet;
    } else {
      this.last.next = packet;
    }
    this.last = packet;
  }

  take() {
    const packet = this.first;
    if (packet === null) return null;
    this.first = packet.next;
    if (this.first === null) this.last = null;
    packet.next = null;
    return packet;
  }
}

class Task {
  constructor(scheduler, id, priority) {
    this.scheduler = scheduler;
    this.id = id;
    this.priority = priority;
    this.inbox = new PacketQueue();
    this.next = null;
    this.isHeld = false;
    this.isWaiting = true;
  }

  canRun() {
    return !this.isHeld && (!this.isWaiting || !this.inbox.isEmpty());
  }

  step() {
    let packet = null;
    if (this.isWaiting) {
      packet = this.inbox.take();
      this.isWaiting = false;
    }
    return this.run(packet);
  }

  receive(packet, sender) {
    const wasEmpty = this.inbox.isEmpty();
    this.inbox.add(packet);
    return wasEmpty && this.priority > sender.priority ? this : sender;
  }

  hold() {
    this.scheduler.holds++;
    this.isHeld = true;
    return this.next;
  }

  waitForPacket() {
    this.isWaiting = true;
    return this;
  }

  release(id) {
    const task = this.scheduler.task(id);
    task.isHeld = false;
    return task.priority > this.priority ? task : this;
  }

  send(packet) {
    const receiver = this.scheduler.task(packet.owner);
    this.scheduler.sends++;
    packet.owner = this.id;
    return receiver.receive(packet, this);
  }
}

class IdleTask extends Task {
  constructor(scheduler, count) {
    super(scheduler, IDLE, 0);
    this.count = count;
    this.register = 1;
  }

  run(packet) {
    this.count--;
    if (this.count === 0) return this.hold();
    const bit = this.register & 1;
    this.register >>= 1;
    if (bit === 0) return this.release(DEVICE_A);
    this.register ^= 0xd008;
    return this.release(DEVICE_B);
  }
}

class WorkerTask extends Task {
  constructor(scheduler) {
    super(scheduler, WORKER, 1000);
    this.handler = HANDLER_A;
    this.letter = 0;
  }

  run(packet) {
    if (packet === null) return this.waitForPacket();
    this.handler = this.handler === HANDLER_A ? HANDLER_B : HANDLER_A;
    packet.owner = this.handler;
    packet.position = 0;
    for (let i = 0; i < PACKET_SIZE; i++) {
      this.letter = this.letter % 26 + 1;
      packet.data[i] = this.letter;
    }
    return this.send(packet);
  }
}

class HandlerTask extends Task {
  constructor(scheduler, id, priority) {
    super(scheduler, id, priority);
    this.work = new PacketQueue();
    this.free = new PacketQueue();
  }

  run(packet) {
    if (packet !== null) {
      if (packet.isWork) this.work.add(packet);
      else this.free.add(packet);
    }
    const current = this.work.first;
    if (current === null) return this.waitForPacket();
    if (current.position === PACKET_SIZE) {
      this.work.take();
      return this.send(current);
    }
    const outgoing = this.free.take();
    if (outgoing === null) return this.waitForPacket();
    outgoing.position = current.data[current.position];
    current.position++;
    return this.send(outgoing);
  }
}

class DeviceTask extends Task {
  constructor(scheduler, id, priority) {
    super(scheduler, id, priority);
    this.pending = null;
  }

  run(packet) {
    if (packet !== null) {
      this.pending = packet;
      return this.hold();
    }
    const done = this.pending;
    if (done === null) return this.waitForPacket();
    this.pending = null;
    return this.send(done);
  }
}

class Scheduler {
  constructor() {
    this.tasks = new Array(6).fill(null);
    this.mostImportant = null;
    this.sends = 0;
    this.holds = 0;
  }

  task(id) {
    return this.tasks[id];
  }

  add(task) {
    task.next = this.mostImportant;
    this.mostImportant = task;
    this.tasks[task.id] = task;
  }

  run() {
    let task = this.mostImportant;
    while (task !== null) task = task.canRun() ? task.step() : task.next;
  }
}

function simulate(idleCount) {
  const scheduler = new Scheduler();
  const idle = new IdleTask(scheduler, idleCount);
  idle.isWaiting = false;
  scheduler.add(idle);

  const worker = new WorkerTask(scheduler);
  for (let i = 0; i < 2; i++) worker.inbox.add(new Packet(null, HANDLER_A, true));
  scheduler.add(worker);

  for (let side = 0; side < 2; side++) {
    const handler = new HandlerTask(scheduler, HANDLER_A + side, 2000 + 1000 * side);
    for (let i = 0; i < 3; i++) handler.inbox.add(new Packet(null, DEVICE_A + side, false));
    scheduler.add(handler);
  }
  for (let side = 0; side < 2; side++) scheduler.add(new DeviceTask(scheduler, DEVICE_A + side, 4000 + 1000 * side));
  scheduler.run();
  return scheduler;
}

function work() {
  const rounds = argument(0, 5);
  const idleCount = argument(1, 1_000);
  let sends = 0;
  let holds = 0;
  for (let round = 0; round < rounds; round++) {
    const scheduler = simulate(idleCount);
    sends += scheduler.sends;
    holds += scheduler.holds;
  }
  console.log(`${Math.trunc(sends / rounds)} packets queued, ${Math.trunc(holds / rounds)} tasks held in each of ${rounds} rounds`);
}

repeat(work);
