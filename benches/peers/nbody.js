// Twin of lang-samples/nbody.lang.
"use strict";

const { argument, repeat } = require("./bench.js");

const SOLAR_MASS = 4.0 * Math.PI * Math.PI;
const DAYS_PER_YEAR = 365.24;

class Body {
  constructor(x, y, z, vx, vy, vz, mass) {
    this.x = x;
    this.y = y;
    this.z = z;
    this.vx = vx;
    this.vy = vy;
    this.vz = vz;
    this.mass = mass;
  }

  move(dt) {
    this.x += dt * this.vx;
    this.y += dt * this.vy;
    this.z += dt * this.vz;
  }

  push(dx, dy, dz, amount) {
    this.vx += dx * amount;
    this.vy += dy * amount;
    this.vz += dz * amount;
  }

  kineticEnergy() {
    return 0.5 * this.mass * (this.vx * this.vx + this.vy * this.vy + this.vz * this.vz);
  }
}

function planet(x, y, z, vx, vy, vz, mass) {
  return new Body(x, y, z, vx * DAYS_PER_YEAR, vy * DAYS_PER_YEAR, vz * DAYS_PER_YEAR, mass * SOLAR_MASS);
}

class SolarSystem {
  constructor() {
    this.bodies = [
      // Sun
      new Body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, SOLAR_MASS),
      // Jupiter
      planet(4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
        0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023, 0.000954791938424326609),
      // Saturn
      planet(8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
        -0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929, 0.000285885980666130812),
      // Uranus
      planet(12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
        0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556, 0.0000436624404335156298),
      // Neptune
      planet(15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
        0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870, 0.0000515138902046611451),
    ];
    let px = 0.0, py = 0.0, pz = 0.0;
    for (const body of this.bodies) {
      px += body.vx * body.mass;
      py += body.vy * body.mass;
      pz += body.vz * body.mass;
    }
    this.bodies[0].push(px, py, pz, -1.0 / SOLAR_MASS);
  }

  advance(dt) {
    const bodies = this.bodies;
    for (let i = 0; i < bodies.length; i++) {
      const a = bodies[i];
      for (let j = i + 1; j < bodies.length; j++) {
        const b = bodies[j];
        const dx = a.x - b.x;
        const dy = a.y - b.y;
        const dz = a.z - b.z;
        const distance2 = dx * dx + dy * dy + dz * dz;
        const pull = dt / (distance2 * Math.sqrt(distance2));
        a.push(dx, dy, dz, -b.mass * pull);
        b.push(dx, dy, dz, a.mass * pull);
      }
    }
    for (const body of bodies) body.move(dt);
  }

  energy() {
    const bodies = this.bodies;
    let sum = 0.0;
    for (let i = 0; i < bodies.length; i++) {
      const a = bodies[i];
      sum += a.kineticEnergy();
      for (let j = i + 1; j < bodies.length; j++) {
        const b = bodies[j];
        const dx = a.x - b.x;
        const dy = a.y - b.y;
        const dz = a.z - b.z;
        sum -= a.mass * b.mass / Math.sqrt(dx * dx + dy * dy + dz * dz);
      }
    }
    return sum;
  }
}

function work() {
  const steps = argument(0, 1_000);
  const system = new SolarSystem();
  console.log(system.energy().toFixed(9));
  for (let step = 0; step < steps; step++) system.advance(0.01);
  console.log(system.energy().toFixed(9));
}

repeat(work);
