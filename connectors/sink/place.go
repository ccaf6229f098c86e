package sink

import (
	"encoding/json"
	"fmt"
	"sync"

	"tidemark/internal/paths"
)

// Place is a receiver that workers open by themselves, in whatever process they are.
// The zero Place is none.
type Place struct {
	Opener string // of [RegisterOpener]
	Config string // for it, JSON
}

// IsZero reports whether p is no place.
func (p Place) IsZero() bool { return p.Opener == "" }

// An Opener opens the receiver that config describes. It stays open until the
// process ends.
type Opener func(config []byte) (Receiver, error)

// openers are filled before pipelines run.
var openers = map[string]Opener{
	"append": openAppender,
	"parts":  openPart,
}

// RegisterOpener makes an opener known, under a name. It is called in init
// functions.
func RegisterOpener(name string, open Opener) {
	if openers[name] != nil {
		panic(fmt.Errorf("sink.RegisterOpener: there is an opener %q already", name))
	}
	openers[name] = open
}

// PlaceOf is the place that an opener opens with a configuration, which JSON can
// hold.
func PlaceOf(opener string, config any) (Place, error) {
	doc, err := json.Marshal(config)
	return Place{Opener: opener, Config: string(doc)}, err
}

// opened holds the receivers of this process that were opened by place.
var opened = struct {
	sync.Mutex
	at map[string]Receiver
}{at: map[string]Receiver{}}

// open returns the receiver of this process at p. What could not be opened is tried
// again with the next bundle.
func (p Place) open() (Receiver, error) {
	opened.Lock()
	defer opened.Unlock()
	id := p.Opener + "\x00" + p.Config
	if r := opened.at[id]; r != nil {
		return r, nil
	}
	open := openers[p.Opener]
	if open == nil {
		return nil, fmt.Errorf("sink: no opener %q in this worker", p.Opener)
	}
	r, err := open([]byte(p.Config))
	if err != nil {
		return nil, err
	}
	opened.at[id] = r
	return r, nil
}

// appendConfig is what an [Appender] is opened with.
type appendConfig struct {
	URI    string
	Layout Layout
}

// AppendPlace is an [Appender] of the file of t in each process. Its path is that of
// this process, and has to lead workers on other machines to the same file.
func AppendPlace(t Target, l Layout) (Place, error) {
	if t.IsZero() || t.IsStdout() {
		return Place{}, fmt.Errorf("output %q, want a file: rows are written by workers in other processes", t.uri)
	}
	path, err := paths.Abs(t.uri)
	if err != nil {
		return Place{}, err
	}
	return PlaceOf("append", appendConfig{path, l})
}

func openAppender(config []byte) (Receiver, error) {
	var c appendConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	t, err := ParseTarget(c.URI)
	if err != nil {
		return nil, err
	}
	return NewAppender(t, c.Layout, nil)
}
