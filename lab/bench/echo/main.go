// Command echo is what the SDKs' round trips are put beside: a net/http server on a Unix
// socket that sends back the body it got, bare at /echo and at /durable after it has
// appended the body to a file and waited for the disk.
//
//	go run ./echo SOCKET FILE
package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: echo SOCKET FILE")
	}
	file, err := os.OpenFile(os.Args[2], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Chmod(os.Args[1], 0o600); err != nil {
		log.Fatal(err)
	}
	var mu sync.Mutex
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.URL.Path == "/durable" {
			mu.Lock()
			if _, err = file.Write(append(body, '\n')); err == nil {
				err = unix.Fdatasync(int(file.Fd()))
			}
			mu.Unlock()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Obstat-Api", "1")
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})))
}
