//! Prints the program of a seed: `progen 42`; without a seed, that of bytes from standard input.

use std::io::Read;

fn main() {
    let text = match std::env::args().nth(1).map(|seed| seed.parse()) {
        Some(Ok(seed)) => progen::generate(progen::Choices::from_seed(seed)),
        Some(Err(_)) => {
            eprintln!("usage: progen [SEED]");
            std::process::exit(2);
        }
        None => {
            let mut bytes = Vec::new();
            if let Err(error) = std::io::stdin().read_to_end(&mut bytes) {
                eprintln!("progen: cannot read standard input: {error}");
                std::process::exit(1);
            }
            progen::generate(progen::Choices::from_bytes(&bytes))
        }
    };
    print!("{text}");
}
