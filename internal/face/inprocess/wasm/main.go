// Command wasm is the engine as a WebAssembly module (wasip1, a reactor) for hosts
// such as Node. The host writes a message to the memory that obstat_buffer returns,
// calls obstat_load, obstat_decide or obstat_try, which return the length of the reply, and reads
// that at obstat_reply. One instance is for one thread.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o obstat.wasm ./internal/face/inprocess/wasm
package main

// main is not called: the module is a library. On other systems there is nothing to it.
func main() {}
