//go:build flink

package flink

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// rest is where Flink's REST interface is.
func (c *cluster) rest() string { return fmt.Sprintf("http://localhost:%d", c.restPort) }

// ask asks Flink for what is at a URL.
func ask(url string, into any) error {
	client := http.Client{Timeout: 10 * time.Second}
	reply, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, reply.Status)
	}
	return json.NewDecoder(reply.Body).Decode(into)
}

// job is what Flink says of a job.
type job struct {
	ID          string `json:"jid"`
	Name, State string
}

// jobNamed is the job of a name; zero if there is none.
func jobNamed(base, name string) (job, error) {
	var all struct{ Jobs []job }
	if err := ask(base+"/jobs/overview", &all); err != nil {
		return job{}, err
	}
	for _, j := range all.Jobs {
		if j.Name == name {
			return j, nil
		}
	}
	return job{}, nil
}

// job is the job of a name; zero if there is none.
func (c *cluster) job(t *testing.T, name string) job {
	t.Helper()
	j, err := jobNamed(c.rest(), name)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
