package main

import (
	"unsafe"

	"github.com/obstat/obstat/internal/face/inprocess"
)

// instance is this module's memory: exported functions have no receiver.
var instance struct {
	engine inprocess.Engine
	buffer []byte
	reply  []byte
}

// maxMessage bounds a host's message.
const maxMessage = 32 << 20

//go:wasmexport obstat_buffer
func buffer(n int32) unsafe.Pointer {
	if n < 0 || n > maxMessage {
		return nil
	}
	if int(n) > cap(instance.buffer) {
		instance.buffer = make([]byte, max(int(n), 64<<10))
	}
	return unsafe.Pointer(unsafe.SliceData(instance.buffer))
}

//go:wasmexport obstat_load
func load(n int32) int32 { return answer(instance.engine.Load(message(n))) }

//go:wasmexport obstat_decide
func decide(policy, n int32) int32 { return answer(instance.engine.Decide(int(policy), message(n))) }

//go:wasmexport obstat_try
func try(n int32) int32 { return answer(instance.engine.Try(message(n))) }

//go:wasmexport obstat_reply
func reply() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(instance.reply)) }

func message(n int32) []byte {
	if n < 0 || int(n) > len(instance.buffer) {
		return nil
	}
	return instance.buffer[:n]
}

func answer(out []byte) int32 {
	instance.reply = out
	return int32(len(out))
}
