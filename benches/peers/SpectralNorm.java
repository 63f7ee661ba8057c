import java.util.Arrays;

/** Twin of lang-samples/spectral_norm.lang. */
public final class SpectralNorm {
    static double element(long i, long j) {
        return 1.0 / (double) ((i + j) * (i + j + 1) / 2 + i + 1);
    }

    static void multiply(double[] v, double[] result) {
        for (int i = 0; i < v.length; i++) {
            double sum = 0.0;
            for (int j = 0; j < v.length; j++) sum += element(i, j) * v[j];
            result[i] = sum;
        }
    }

    static void multiplyTransposed(double[] v, double[] result) {
        for (int i = 0; i < v.length; i++) {
            double sum = 0.0;
            for (int j = 0; j < v.length; j++) sum += element(j, i) * v[j];
            result[i] = sum;
        }
    }

    static double dot(double[] a, double[] b) {
        double sum = 0.0;
        for (int i = 0; i < a.length; i++) sum += a[i] * b[i];
        return sum;
    }

    static void work(int n) {
        double[] u = new double[n];
        Arrays.fill(u, 1.0);
        double[] v = new double[n];
        double[] between = new double[n];
        for (int round = 0; round < 10; round++) {
            multiply(u, between);
            multiplyTransposed(between, v);
            multiply(v, between);
            multiplyTransposed(between, u);
        }
        System.out.println(Bench.format(Math.sqrt(dot(u, v) / dot(v, v)), 9));
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work((int) bench.argument(0, 100)));
    }
}
