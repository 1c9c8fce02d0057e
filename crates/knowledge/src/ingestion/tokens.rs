//! Estimates and shares of the tokens of texts that are embedded together.
//!
//! `estimate` is reserved before a call, so it errs upwards; `share` charges each
//! chunk its part of the total that the provider reports afterwards.

/// Minimum number of bytes of a token.
const BYTES_PER_TOKEN: usize = 2;
/// Tokens that a model may add to each text.
const TOKENS_PER_TEXT: i64 = 8;

/// Returns an upper estimate of the tokens of texts of these lengths in bytes.
pub(super) fn estimate(lengths: &[usize]) -> i64 {
    lengths.iter().map(|it| to_i64(it.div_ceil(BYTES_PER_TOKEN)) + TOKENS_PER_TEXT).sum()
}

/// Divides tokens among texts in proportion to their lengths. The sum of the
/// shares is the number of tokens: the first text gets what rounding leaves.
pub(super) fn share(tokens: i64, lengths: &[usize]) -> Vec<i64> {
    let total = to_i64(lengths.iter().sum()).max(1);
    let mut remaining = tokens.max(0);
    let mut shares: Vec<i64> = Vec::with_capacity(lengths.len());

    for length in lengths {
        let exact_share =
            i128::from(tokens.max(0)) * i128::from(to_i64(*length)) / i128::from(total);
        let share = i64::try_from(exact_share).unwrap_or(i64::MAX).min(remaining);
        remaining -= share;
        shares.push(share);
    }

    if let Some(first) = shares.first_mut() {
        *first += remaining;
    }

    shares
}

fn to_i64(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_tokens() {
        assert_eq!(share(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(share(7, &[0, 0]), [7, 0]);
        assert_eq!(share(-1, &[5]), [0]);
        assert!(share(7, &[]).is_empty());
    }

    #[test]
    fn an_estimate_is_above_what_models_count() {
        assert!(estimate(&["hello world".len()]) >= 4);
    }
}
