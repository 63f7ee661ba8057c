import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Arrays;

/** What the Java twins share, as lang-samples/bench.lang: sizes from the command line, and the clock. Also numbers in the language's own format. */
final class Bench {
    private static final String ITERATIONS = "--iterations";

    private final String[] args;
    /** Where the option is, or else the number of arguments. */
    private final int sizes;

    Bench(String[] args) {
        this.args = args;
        int option = Arrays.asList(args).indexOf(ITERATIONS);
        sizes = option < 0 ? args.length : option;
    }

    long argument(int index, long fallback) {
        return index < sizes ? Long.parseLong(args[index]) : fallback;
    }

    void repeat(Runnable work) {
        if (sizes == args.length) {
            work.run();
            return;
        }
        long iterations = Long.parseLong(args[sizes + 1]);
        for (long iteration = 1; iteration <= iterations; iteration++) {
            long start = System.nanoTime();
            work.run();
            System.err.println("iteration " + iteration + ": " + (System.nanoTime() - start) + " ns");
        }
    }

    /** Float.format(decimals). */
    static String format(double value, int decimals) {
        return new BigDecimal(value).setScale(decimals, RoundingMode.HALF_EVEN).toPlainString();
    }

    /** Float.toString() for numbers from 1e-6 up to 1e21: the shortest digits that read back as the number (Java 17's own may have one too many), without an exponent. */
    static String shortest(double value) {
        BigDecimal digits = new BigDecimal(Double.toString(value)).stripTrailingZeros();
        while (digits.precision() > 15) {
            BigDecimal fewer = digits.round(new MathContext(digits.precision() - 1));
            if (fewer.doubleValue() != value) break;
            digits = fewer.stripTrailingZeros();
        }
        return digits.setScale(Math.max(1, digits.scale())).toPlainString();
    }
}
