//! The distribution of one duration, exact.

use serde::Serialize;

/// Summary of a duration, in nanoseconds. Quantiles are of the nearest rank: each is a value that occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

impl Distribution {
    /// Summarises values in any order; without values everything but the count is absent.
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let sum: u128 = values.iter().map(|v| u128::from(*v)).sum();
        let quantile = |q| nearest_rank(&values, q);
        Distribution {
            count: values.len() as u64,
            mean_ns: (!values.is_empty()).then(|| sum as f64 / values.len() as f64),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: values.last().copied(),
        }
    }
}

/// The smallest value that at least a share `q` of all values do not exceed.
fn nearest_rank(sorted: &[u64], q: f64) -> Option<u64> {
    let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let d = Distribution::of((1..=1000).rev().collect());
        assert_eq!(
            (d.p50_ns, d.p90_ns, d.p99_ns, d.p999_ns, d.max_ns),
            (Some(500), Some(900), Some(990), Some(999), Some(1000))
        );
        assert_eq!(d.mean_ns, Some(500.5));
        let one = Distribution::of(vec![7]);
        assert_eq!((one.p50_ns, one.p999_ns, one.count), (Some(7), Some(7), 1));
        let none = Distribution::of(vec![]);
        assert_eq!((none.count, none.p50_ns, none.mean_ns, none.max_ns), (0, None, None, None));
        assert_eq!(Distribution::of(vec![u64::MAX; 3]).mean_ns, Some(u64::MAX as f64));
    }
}
