//! Free ports on loopback.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// Different free ports. They are held until all were found, and given back then: a program that finds its port taken in between is
/// started again with other ones.
pub(crate) fn free<const N: usize>() -> Result<[u16; N]> {
    let held: Vec<TcpListener> = (0..N)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("looking for a free port on loopback"))
        .collect::<Result<_>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr().context("reading a free port")?.port();
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ports_differ() {
        let mut ports: [u16; 20] = super::free().unwrap();
        ports.sort_unstable();
        assert!(ports.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
