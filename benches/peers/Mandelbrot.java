/** Twin of lang-samples/mandelbrot.lang. */
public final class Mandelbrot {
    static final long LIMIT = 50;

    static long escapeTime(double cx, double cy) {
        double x = 0.0;
        double y = 0.0;
        long steps = 0;
        while (steps < LIMIT && x * x + y * y <= 4.0) {
            double t = x * x - y * y + cx;
            y = 2.0 * x * y + cy;
            x = t;
            steps++;
        }
        return steps;
    }

    static void picture(long width, long height) {
        for (long row = 0; row < height; row++) {
            StringBuilder line = new StringBuilder();
            for (long column = 0; column < width; column++) {
                long steps = escapeTime(-2.0 + 3.0 * column / width, -1.0 + 2.0 * row / height);
                line.append(steps == LIMIT ? '#' : steps > 6 ? '+' : steps > 3 ? ':' : '.');
            }
            System.out.println(line);
        }
    }

    static void work(long n) {
        picture(60, 20);
        long inside = 0;
        long total = 0;
        for (long i = 0; i < n; i++) {
            double cy = 2.0 * i / n - 1.0;
            for (long j = 0; j < n; j++) {
                long steps = escapeTime(2.0 * j / n - 1.5, cy);
                total += steps;
                if (steps == LIMIT) inside++;
            }
        }
        System.out.println(inside + " of " + n * n + " points inside, " + total + " steps");
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 80)));
    }
}
