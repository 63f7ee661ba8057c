// Twin of lang-samples/raytrace.lang. Memory: vectors and rays are values, as C++ has them, where the sample allocates; shapes and textures are owned by unique_ptr.
#include "bench.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

struct Vector {
    double x, y, z;

    Vector plus(const Vector& o) const { return {x + o.x, y + o.y, z + o.z}; }

    Vector minus(const Vector& o) const { return {x - o.x, y - o.y, z - o.z}; }

    Vector times(double k) const { return {x * k, y * k, z * k}; }

    double dot(const Vector& o) const { return x * o.x + y * o.y + z * o.z; }

    Vector unit() const { return times(1.0 / std::sqrt(dot(*this))); }

    Vector reflectedAt(const Vector& normal) const { return minus(normal.times(2.0 * dot(normal))); }
};

struct Ray {
    Vector origin;
    Vector direction;

    Vector at(double distance) const { return origin.plus(direction.times(distance)); }
};

struct Texture {
    virtual ~Texture() = default;

    virtual Vector colorAt(const Vector& point) const = 0;
};

struct Plain : Texture {
    const Vector color;

    explicit Plain(Vector color) : color(color) {}

    Vector colorAt(const Vector&) const override { return color; }
};

struct Chequers : Texture {
    const Vector even;
    const Vector odd;

    Chequers(Vector even, Vector odd) : even(even), odd(odd) {}

    Vector colorAt(const Vector& point) const override {
        int64_t squares = static_cast<int64_t>(std::floor(point.x)) + static_cast<int64_t>(std::floor(point.z));
        return (squares & 1) == 0 ? even : odd;
    }
};

constexpr double NOTHING = 1.0e9;
constexpr double NEAR = 1.0e-6;

struct Shape {
    const std::unique_ptr<Texture> texture;
    const double mirror;

    Shape(std::unique_ptr<Texture> texture, double mirror) : texture(std::move(texture)), mirror(mirror) {}
    virtual ~Shape() = default;

    virtual double distanceOn(const Ray& ray) const = 0;

    virtual Vector normalAt(const Vector& point) const = 0;
};

struct Sphere : Shape {
    const Vector center;
    const double radius;

    Sphere(Vector center, double radius, std::unique_ptr<Texture> texture, double mirror)
        : Shape(std::move(texture), mirror), center(center), radius(radius) {}

    double distanceOn(const Ray& ray) const override {
        Vector toCenter = center.minus(ray.origin);
        double along = toCenter.dot(ray.direction);
        double inside = along * along - toCenter.dot(toCenter) + radius * radius;
        if (inside < 0.0) return NOTHING;
        double half = std::sqrt(inside);
        if (along - half > NEAR) return along - half;
        if (along + half > NEAR) return along + half;
        return NOTHING;
    }

    Vector normalAt(const Vector& point) const override { return point.minus(center).times(1.0 / radius); }
};

struct Floor : Shape {
    const double height;

    Floor(double height, std::unique_ptr<Texture> texture, double mirror) : Shape(std::move(texture), mirror), height(height) {}

    double distanceOn(const Ray& ray) const override {
        if (ray.direction.y > -NEAR) return NOTHING;
        double distance = (height - ray.origin.y) / ray.direction.y;
        return distance > NEAR ? distance : NOTHING;
    }

    Vector normalAt(const Vector&) const override { return {0.0, 1.0, 0.0}; }
};

struct Scene {
    std::vector<std::unique_ptr<Shape>> shapes;
    Vector light;
    Vector sky;

    Vector trace(const Ray& ray, int64_t depth) const {
        const Shape* nearest = nullptr;
        double distance = NOTHING;
        for (const auto& shape : shapes) {
            double d = shape->distanceOn(ray);
            if (d < distance) {
                distance = d;
                nearest = shape.get();
            }
        }
        if (nearest == nullptr) return sky;
        Vector point = ray.at(distance);
        Vector normal = nearest->normalAt(point);
        Vector own = nearest->texture->colorAt(point).times(brightness(point, normal));
        if (nearest->mirror == 0.0 || depth == 0) return own;
        Vector mirrored = trace(Ray{point, ray.direction.reflectedAt(normal)}, depth - 1);
        return own.times(1.0 - nearest->mirror).plus(mirrored.times(nearest->mirror));
    }

    double brightness(const Vector& point, const Vector& normal) const {
        Vector toLight = light.minus(point);
        Vector direction = toLight.unit();
        double facing = normal.dot(direction);
        if (facing <= 0.0) return 0.15;
        double distance = std::sqrt(toLight.dot(toLight));
        Ray ray{point, direction};
        for (const auto& shape : shapes) {
            if (shape->distanceOn(ray) < distance) return 0.15;
        }
        return 0.15 + 0.85 * facing;
    }
};

std::unique_ptr<Texture> plain(Vector color) {
    return std::make_unique<Plain>(color);
}

Scene makeScene() {
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Floor>(0.0, std::make_unique<Chequers>(Vector{0.9, 0.9, 0.9}, Vector{0.2, 0.2, 0.2}), 0.1));
    shapes.push_back(std::make_unique<Sphere>(Vector{0.0, 1.0, 5.0}, 1.0, plain({0.9, 0.2, 0.2}), 0.3));
    shapes.push_back(std::make_unique<Sphere>(Vector{2.0, 0.7, 4.0}, 0.7, plain({0.2, 0.9, 0.2}), 0.2));
    shapes.push_back(std::make_unique<Sphere>(Vector{-2.2, 1.3, 6.0}, 1.3, plain({0.3, 0.3, 0.9}), 0.5));
    shapes.push_back(std::make_unique<Sphere>(Vector{-0.8, 0.4, 3.4}, 0.4, plain({0.9, 0.8, 0.1}), 0.0));
    return {std::move(shapes), {5.0, 8.0, -2.0}, {0.55, 0.7, 0.9}};
}

int64_t level(double value) {
    return static_cast<int64_t>(std::min(value, 1.0) * 255.0);
}

void work(int64_t width) {
    int64_t height = width * 3 / 8;
    Scene world = makeScene();
    Vector eye{0.0, 1.5, -1.0};
    int64_t red = 0;
    int64_t green = 0;
    int64_t blue = 0;
    for (int64_t row = 0; row < height; row++) {
        std::string line;
        for (int64_t column = 0; column < width; column++) {
            double x = (column + 0.5) / width - 0.5;
            double y = 0.5 - (row + 0.5) / height;
            Vector color = world.trace(Ray{eye, Vector{x * 1.6, y * 1.2 - 0.1, 1.0}.unit()}, 3);
            red += level(color.x);
            green += level(color.y);
            blue += level(color.z);
            int64_t gray = level(0.3 * color.x + 0.6 * color.y + 0.1 * color.z);
            line += " .:-=+*#%@"[gray * 10 / 256];
        }
        if (width <= 100) std::cout << line << '\n';
    }
    std::cout << "red " << red << ", green " << green << ", blue " << blue << '\n';
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 64)); });
}
