//! Documents in force, on real sockets.
