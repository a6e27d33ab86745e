//! The clients against sockets that behave badly: what leaves on the wire, how often, and what is concluded from the
//! answer. The other side is a plain TCP listener, so that it can do what no HTTP server does.

mod http;
mod other_side;
mod sheets;
mod telegram;
