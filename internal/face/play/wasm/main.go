// Command wasm is the playground's engine as a WebAssembly module (wasip1, a reactor) for browsers. The page
// writes a question to the memory that play_buffer returns, calls play_answer, which returns the length of the
// answer, and reads that at play_reply.
package main

// main is not called: the module is a library. On other systems there is nothing to it.
func main() {}
