//! The documents of examples/config, held against the systems they are modelled on.
