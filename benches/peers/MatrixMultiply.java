/** Twin of lang-samples/matrix_multiply.lang. */
public final class MatrixMultiply {
    static final class Matrix {
        final int rows, columns;
        final double[] cells;

        Matrix(int rows, int columns) {
            this.rows = rows;
            this.columns = columns;
            cells = new double[rows * columns];
        }

        double get(int row, int column) {
            return cells[row * columns + column];
        }

        void set(int row, int column, double value) {
            cells[row * columns + column] = value;
        }

        Matrix transposed() {
            Matrix result = new Matrix(columns, rows);
            for (int row = 0; row < rows; row++) {
                for (int column = 0; column < columns; column++) result.set(column, row, get(row, column));
            }
            return result;
        }

        Matrix times(Matrix other) {
            if (columns != other.rows) throw new IllegalArgumentException(columns + " columns cannot meet " + other.rows + " rows");
            Matrix result = new Matrix(rows, other.columns);
            Matrix turned = other.transposed();
            for (int row = 0; row < rows; row++) {
                for (int column = 0; column < other.columns; column++) {
                    double sum = 0.0;
                    for (int k = 0; k < columns; k++) sum += get(row, k) * turned.get(column, k);
                    result.set(row, column, sum);
                }
            }
            return result;
        }

        double sum() {
            double total = 0.0;
            for (double cell : cells) total += cell;
            return total;
        }
    }

    static Matrix filled(int n, Xoshiro random) {
        Matrix matrix = new Matrix(n, n);
        for (int row = 0; row < n; row++) {
            for (int column = 0; column < n; column++) matrix.set(row, column, random.nextBelow(19) - 9);
        }
        return matrix;
    }

    static void work(int n) {
        Xoshiro random = new Xoshiro(1);
        Matrix a = filled(n, random);
        Matrix b = filled(n, random);
        Matrix c = a.times(b);
        System.out.println("sum " + Bench.shortest(c.sum()) + ", corner " + Bench.shortest(c.get(n - 1, n - 1)));
        try {
            a.times(new Matrix(n + 1, 2));
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work((int) bench.argument(0, 60)));
    }
}
