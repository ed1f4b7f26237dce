package main

import (
	"unsafe"

	"github.com/obstat/obstat/internal/face/play"
)

// instance is this module's memory: exported functions have no receiver.
var instance struct{ buffer, reply []byte }

//go:wasmexport play_buffer
func buffer(n int32) unsafe.Pointer {
	if n < 0 || n > play.MaxQuestion {
		return nil
	}
	instance.buffer = make([]byte, max(n, 1))
	return unsafe.Pointer(unsafe.SliceData(instance.buffer))
}

//go:wasmexport play_answer
func answer(n int32) int32 {
	if n < 0 || int(n) > len(instance.buffer) {
		n = 0
	}
	instance.reply = play.Answer(instance.buffer[:n])
	return int32(len(instance.reply))
}

//go:wasmexport play_reply
func reply() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(instance.reply)) }
