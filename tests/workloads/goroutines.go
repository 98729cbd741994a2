// SPDX-License-Identifier: MIT

// Goroutines that are parked in known ways, of each as many as it is told to have; and Go's own dump of them, once all are parked.
package main

import (
	"bytes"
	"net"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

var mutex sync.Mutex
var group sync.WaitGroup

//go:noinline
func receives(c chan int) { <-c }

//go:noinline
func sends(c chan int) { c <- 1 }

//go:noinline
func selects(a, b chan int) {
	select {
	case <-a:
	case <-b:
	}
}

//go:noinline
func sleeps() { time.Sleep(time.Hour) }

//go:noinline
func locks() { mutex.Lock() }

//go:noinline
func waits() { group.Wait() }

//go:noinline
func conditions(c *sync.Cond) {
	c.L.Lock()
	c.Wait()
}

//go:noinline
func reads(address string) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	var one [1]byte
	connection.Read(one[:])
}

// How many the dump has in one of these.
func parked(dump []byte) int {
	nr := 0
	for _, name := range []string{"receives", "sends", "selects", "sleeps", "locks", "waits", "conditions"} {
		nr += bytes.Count(dump, []byte("\nmain."+name+"("))
	}
	// One that has not begun yet has its function, too.
	return nr - bytes.Count(dump, []byte("[runnable]"))
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	a, b, full := make(chan int), make(chan int), make(chan int)
	condition := sync.NewCond(&sync.Mutex{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	mutex.Lock()
	group.Add(1)
	for i := 0; i < n; i++ {
		go receives(a)
		go sends(full)
		go selects(a, b)
		go sleeps()
		go locks()
		go waits()
		go conditions(condition)
		if i < 20 {
			go reads(listener.Addr().String())
		}
	}
	var dump bytes.Buffer
	for parked(dump.Bytes()) < 7*n {
		time.Sleep(100 * time.Millisecond)
		dump.Reset()
		pprof.Lookup("goroutine").WriteTo(&dump, 2)
	}
	os.WriteFile(os.Args[2]+".new", dump.Bytes(), 0600)
	os.Rename(os.Args[2]+".new", os.Args[2])
	if len(os.Args) > 3 {
		seconds, _ := strconv.Atoi(os.Args[3])
		time.Sleep(time.Duration(seconds) * time.Second)
		return
	}
	time.Sleep(time.Hour)
}
