// Healthcheck asks a URL, and exits with 0 if the answer is 200, and with 1 otherwise.
// An image without a shell has nothing else to do that with.
//
//	healthcheck http://127.0.0.1:8080/readyz
package main

import (
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: healthcheck URL")
	}
	client := http.Client{Timeout: 9 * time.Second}
	answer, err := client.Get(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		log.Fatal(answer.Status)
	}
}
