//! Medians, quartiles and geometric means of small samples.

/// Median with the quartiles around it.
#[derive(Clone, Copy)]
pub struct Spread {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

/// Quartiles by linear interpolation. The sample is not empty.
pub fn spread(mut sample: Vec<f64>) -> Spread {
    sample.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let x = q * (sample.len() - 1) as f64;
        let (i, part) = (x as usize, x.fract());
        sample[i] + part * (sample[(i + 1).min(sample.len() - 1)] - sample[i])
    };
    Spread { low: at(0.25), median: at(0.5), high: at(0.75) }
}

pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(3);
        write!(f, "{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate() {
        let s = spread(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((s.low, s.median, s.high), (1.75, 2.5, 3.25));
        assert_eq!(spread(vec![7.0]).high, 7.0);
    }

    #[test]
    fn geometric_mean_of_reciprocals_is_one() {
        assert!((geometric_mean(&[2.0, 0.5]) - 1.0).abs() < 1e-12);
    }
}
