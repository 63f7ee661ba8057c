// Twin of lang-samples/nbody.lang. Memory: the bodies are values in the system's vector, as C++ has it.
#include "bench.hpp"

#include <cmath>
#include <numbers>

constexpr double SOLAR_MASS = 4.0 * std::numbers::pi * std::numbers::pi;
constexpr double DAYS_PER_YEAR = 365.24;

struct Body {
    double x, y, z, vx, vy, vz, mass;

    void move(double dt) {
        x += dt * vx;
        y += dt * vy;
        z += dt * vz;
    }

    void push(double dx, double dy, double dz, double amount) {
        vx += dx * amount;
        vy += dy * amount;
        vz += dz * amount;
    }

    double kineticEnergy() const { return 0.5 * mass * (vx * vx + vy * vy + vz * vz); }
};

Body planet(double x, double y, double z, double vx, double vy, double vz, double mass) {
    return {x, y, z, vx * DAYS_PER_YEAR, vy * DAYS_PER_YEAR, vz * DAYS_PER_YEAR, mass * SOLAR_MASS};
}

class SolarSystem {
public:
    SolarSystem() {
        double px = 0.0, py = 0.0, pz = 0.0;
        for (const Body& body : bodies) {
            px += body.vx * body.mass;
            py += body.vy * body.mass;
            pz += body.vz * body.mass;
        }
        bodies[0].push(px, py, pz, -1.0 / SOLAR_MASS);
    }

    void advance(double dt) {
        for (size_t i = 0; i < bodies.size(); i++) {
            Body& a = bodies[i];
            for (size_t j = i + 1; j < bodies.size(); j++) {
                Body& b = bodies[j];
                double dx = a.x - b.x;
                double dy = a.y - b.y;
                double dz = a.z - b.z;
                double distance2 = dx * dx + dy * dy + dz * dz;
                double pull = dt / (distance2 * std::sqrt(distance2));
                a.push(dx, dy, dz, -b.mass * pull);
                b.push(dx, dy, dz, a.mass * pull);
            }
        }
        for (Body& body : bodies) body.move(dt);
    }

    double energy() const {
        double sum = 0.0;
        for (size_t i = 0; i < bodies.size(); i++) {
            const Body& a = bodies[i];
            sum += a.kineticEnergy();
            for (size_t j = i + 1; j < bodies.size(); j++) {
                const Body& b = bodies[j];
                double dx = a.x - b.x;
                double dy = a.y - b.y;
                double dz = a.z - b.z;
                sum -= a.mass * b.mass / std::sqrt(dx * dx + dy * dy + dz * dz);
            }
        }
        return sum;
    }

private:
    std::vector<Body> bodies = {
        // Sun
        {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, SOLAR_MASS},
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
    };
};

void work(int64_t steps) {
    SolarSystem system;
    std::cout << formatted(system.energy(), 9) << '\n';
    for (int64_t step = 0; step < steps; step++) system.advance(0.01);
    std::cout << formatted(system.energy(), 9) << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 1'000)); });
}
