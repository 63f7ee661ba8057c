import java.util.ArrayList;
import java.util.List;

/** Twin of lang-samples/raytrace.lang. */
public final class RayTrace {
    record Vector(double x, double y, double z) {
        Vector plus(Vector o) {
            return new Vector(x + o.x, y + o.y, z + o.z);
        }

        Vector minus(Vector o) {
            return new Vector(x - o.x, y - o.y, z - o.z);
        }

        Vector times(double k) {
            return new Vector(x * k, y * k, z * k);
        }

        double dot(Vector o) {
            return x * o.x + y * o.y + z * o.z;
        }

        Vector unit() {
            return times(1.0 / Math.sqrt(dot(this)));
        }

        Vector reflectedAt(Vector normal) {
            return minus(normal.times(2.0 * dot(normal)));
        }
    }

    record Ray(Vector origin, Vector direction) {
        Vector at(double distance) {
            return origin.plus(direction.times(distance));
        }
    }

    interface Texture {
        Vector colorAt(Vector point);
    }

    record Plain(Vector color) implements Texture {
        @Override
        public Vector colorAt(Vector point) {
            return color;
        }
    }

    record Chequers(Vector even, Vector odd) implements Texture {
        @Override
        public Vector colorAt(Vector point) {
            long squares = (long) Math.floor(point.x) + (long) Math.floor(point.z);
            return (squares & 1) == 0 ? even : odd;
        }
    }

    static final double NOTHING = 1.0e9;
    static final double NEAR = 1.0e-6;

    abstract static class Shape {
        final Texture texture;
        final double mirror;

        Shape(Texture texture, double mirror) {
            this.texture = texture;
            this.mirror = mirror;
        }

        abstract double distanceOn(Ray ray);

        abstract Vector normalAt(Vector point);
    }

    static final class Sphere extends Shape {
        final Vector center;
        final double radius;

        Sphere(Vector center, double radius, Texture texture, double mirror) {
            super(texture, mirror);
            this.center = center;
            this.radius = radius;
        }

        @Override
        double distanceOn(Ray ray) {
            Vector toCenter = center.minus(ray.origin);
            double along = toCenter.dot(ray.direction);
            double inside = along * along - toCenter.dot(toCenter) + radius * radius;
            if (inside < 0.0) return NOTHING;
            double half = Math.sqrt(inside);
            if (along - half > NEAR) return along - half;
            if (along + half > NEAR) return along + half;
            return NOTHING;
        }

        @Override
        Vector normalAt(Vector point) {
            return point.minus(center).times(1.0 / radius);
        }
    }

    static final class Floor extends Shape {
        final double height;

        Floor(double height, Texture texture, double mirror) {
            super(texture, mirror);
            this.height = height;
        }

        @Override
        double distanceOn(Ray ray) {
            if (ray.direction.y > -NEAR) return NOTHING;
            double distance = (height - ray.origin.y) / ray.direction.y;
            return distance > NEAR ? distance : NOTHING;
        }

        @Override
        Vector normalAt(Vector point) {
            return new Vector(0.0, 1.0, 0.0);
        }
    }

    record Scene(List<Shape> shapes, Vector light, Vector sky) {
        Vector trace(Ray ray, long depth) {
            Shape nearest = null;
            double distance = NOTHING;
            for (Shape shape : shapes) {
                double d = shape.distanceOn(ray);
                if (d < distance) {
                    distance = d;
                    nearest = shape;
                }
            }
            if (nearest == null) return sky;
            Vector point = ray.at(distance);
            Vector normal = nearest.normalAt(point);
            Vector own = nearest.texture.colorAt(point).times(brightness(point, normal));
            if (nearest.mirror == 0.0 || depth == 0) return own;
            Vector mirrored = trace(new Ray(point, ray.direction.reflectedAt(normal)), depth - 1);
            return own.times(1.0 - nearest.mirror).plus(mirrored.times(nearest.mirror));
        }

        double brightness(Vector point, Vector normal) {
            Vector toLight = light.minus(point);
            Vector direction = toLight.unit();
            double facing = normal.dot(direction);
            if (facing <= 0.0) return 0.15;
            double distance = Math.sqrt(toLight.dot(toLight));
            Ray ray = new Ray(point, direction);
            for (Shape shape : shapes) {
                if (shape.distanceOn(ray) < distance) return 0.15;
            }
            return 0.15 + 0.85 * facing;
        }
    }

    static Scene scene() {
        List<Shape> shapes = new ArrayList<>();
        shapes.add(new Floor(0.0, new Chequers(new Vector(0.9, 0.9, 0.9), new Vector(0.2, 0.2, 0.2)), 0.1));
        shapes.add(new Sphere(new Vector(0.0, 1.0, 5.0), 1.0, new Plain(new Vector(0.9, 0.2, 0.2)), 0.3));
        shapes.add(new Sphere(new Vector(2.0, 0.7, 4.0), 0.7, new Plain(new Vector(0.2, 0.9, 0.2)), 0.2));
        shapes.add(new Sphere(new Vector(-2.2, 1.3, 6.0), 1.3, new Plain(new Vector(0.3, 0.3, 0.9)), 0.5));
        shapes.add(new Sphere(new Vector(-0.8, 0.4, 3.4), 0.4, new Plain(new Vector(0.9, 0.8, 0.1)), 0.0));
        return new Scene(shapes, new Vector(5.0, 8.0, -2.0), new Vector(0.55, 0.7, 0.9));
    }

    static long level(double value) {
        return (long) (Math.min(value, 1.0) * 255.0);
    }

    static void work(long width) {
        long height = width * 3 / 8;
        Scene world = scene();
        Vector eye = new Vector(0.0, 1.5, -1.0);
        long red = 0;
        long green = 0;
        long blue = 0;
        for (long row = 0; row < height; row++) {
            StringBuilder line = new StringBuilder();
            for (long column = 0; column < width; column++) {
                double x = (column + 0.5) / width - 0.5;
                double y = 0.5 - (row + 0.5) / height;
                Vector color = world.trace(new Ray(eye, new Vector(x * 1.6, y * 1.2 - 0.1, 1.0).unit()), 3);
                red += level(color.x);
                green += level(color.y);
                blue += level(color.z);
                long gray = level(0.3 * color.x + 0.6 * color.y + 0.1 * color.z);
                line.append(" .:-=+*#%@".charAt((int) (gray * 10 / 256)));
            }
            if (width <= 100) System.out.println(line);
        }
        System.out.println("red " + red + ", green " + green + ", blue " + blue);
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 64)));
    }
}
