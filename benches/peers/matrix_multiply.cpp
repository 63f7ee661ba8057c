// Twin of lang-samples/matrix_multiply.lang. Memory: vectors.
#include "bench.hpp"
#include "xoshiro.hpp"

#include <stdexcept>

class Matrix {
public:
    const int64_t rows;
    const int64_t columns;

    Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), cells(rows * columns) {}

    double get(int64_t row, int64_t column) const { return cells[row * columns + column]; }

    void set(int64_t row, int64_t column, double value) { cells[row * columns + column] = value; }

    Matrix transposed() const {
        Matrix result(columns, rows);
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t column = 0; column < columns; column++) result.set(column, row, get(row, column));
        }
        return result;
    }

    Matrix times(const Matrix& other) const {
        if (columns != other.rows) {
            throw std::invalid_argument(std::to_string(columns) + " columns cannot meet " + std::to_string(other.rows) + " rows");
        }
        Matrix result(rows, other.columns);
        Matrix turned = other.transposed();
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t column = 0; column < other.columns; column++) {
                double sum = 0.0;
                for (int64_t k = 0; k < columns; k++) sum += get(row, k) * turned.get(column, k);
                result.set(row, column, sum);
            }
        }
        return result;
    }

    double sum() const {
        double total = 0.0;
        for (double cell : cells) total += cell;
        return total;
    }

private:
    std::vector<double> cells;
};

Matrix filled(int64_t n, Xoshiro& random) {
    Matrix matrix(n, n);
    for (int64_t row = 0; row < n; row++) {
        for (int64_t column = 0; column < n; column++) matrix.set(row, column, static_cast<double>(random.nextBelow(19) - 9));
    }
    return matrix;
}

void work(int64_t n) {
    Xoshiro random(1);
    Matrix a = filled(n, random);
    Matrix b = filled(n, random);
    Matrix c = a.times(b);
    std::cout << "sum " << shortest(c.sum()) << ", corner " << shortest(c.get(n - 1, n - 1)) << '\n';
    try {
        a.times(Matrix(n + 1, 2));
    } catch (const std::invalid_argument& e) {
        std::cout << e.what() << '\n';
    }
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    bench.repeat([&] { work(bench.argument(0, 60)); });
}
