//! What the tests are made of: processes, a CA, raw HTTP/2, a scripted provider
