//go:build flink

package flink

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// metrics asks Flink for the watermark of the step of a job that makes its rows.
type metrics struct {
	base   string // of the REST interface
	name   string // of the job
	metric string

	vertex string   // URL of the step, once it is known
	ids    []string // of the metric, of all its parts
}

const (
	// What a fold waits for holds its output watermark at the last millisecond before
	// it: that is the watermark of the script once all has been put out that is due by
	// then.
	ofFold = "currentOutputWatermark"

	// A join can hold its output watermark for longer, for rows without a partner. Its
	// input watermark is behind those of all gates.
	ofJoin = "currentInputWatermark"
)

// find finds the step: the one that the end of the output of rows waits for, apart
// from the source that this has.
func (m *metrics) find() error {
	j, err := jobNamed(m.base, m.name)
	if err != nil {
		return err
	}
	if j.ID == "" {
		return fmt.Errorf("no job %s", m.name)
	}
	job := m.base + "/jobs/" + j.ID
	var graph struct {
		Vertices []struct {
			ID, Name    string
			Parallelism int
		}
		Plan struct {
			Nodes []struct {
				ID     string
				Inputs []struct{ ID string }
			}
		}
	}
	if err := ask(job, &graph); err != nil {
		return err
	}
	names, parts, inputs := map[string]string{}, map[string]int{}, map[string][]string{}
	for _, v := range graph.Vertices {
		names[v.ID], parts[v.ID] = v.Name, v.Parallelism
	}
	for _, n := range graph.Plan.Nodes {
		for _, in := range n.Inputs {
			inputs[n.ID] = append(inputs[n.ID], in.ID)
		}
	}
	const output = "rows/sink.Write/"
	var steps []string
	for id, name := range names {
		if !strings.HasPrefix(name, output+"CoGBK") {
			continue
		}
		for _, in := range inputs[id] {
			if !strings.Contains(names[in], output) {
				steps = append(steps, in)
			}
		}
	}
	if len(steps) != 1 {
		return fmt.Errorf("%d steps make rows, want one: %v, %v", len(steps), names, inputs)
	}
	vertex := job + "/vertices/" + steps[0]
	ids, err := metricsOf(vertex, "."+m.metric)
	if err != nil {
		return err
	}
	for part := range parts[steps[0]] {
		if !slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, fmt.Sprint(part, ".")) }) {
			return fmt.Errorf("part %d of %s has no %s yet: %q", part, names[steps[0]], m.metric, ids)
		}
	}
	m.vertex, m.ids = vertex, ids
	return nil
}

// watermark is the lowest of all parts of the step, in ms.
func (m *metrics) watermark() (int64, error) {
	if m.vertex == "" {
		if err := m.find(); err != nil {
			return 0, err
		}
	}
	values, err := measure(m.vertex, m.ids)
	if err != nil {
		return 0, err
	}
	if len(values) != len(m.ids) {
		return 0, fmt.Errorf("%d of %d metrics", len(values), len(m.ids))
	}
	lowest := int64(math.MaxInt64)
	for _, v := range values {
		ms, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			return 0, err
		}
		lowest = min(lowest, ms)
	}
	return lowest, nil
}

// report is what Flink knows of the watermarks of the job, a step a line.
func (m *metrics) report() string {
	j, err := jobNamed(m.base, m.name)
	if err != nil {
		return err.Error()
	}
	job := m.base + "/jobs/" + j.ID
	var graph struct{ Vertices []struct{ ID, Name string } }
	if err := ask(job, &graph); err != nil {
		return err.Error()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "job %s: %s", j.ID, j.State)
	for _, v := range graph.Vertices {
		fmt.Fprintf(&text, "\n%s:", v.Name)
		var values []measured
		ids, err := metricsOf(job+"/vertices/"+v.ID, "Watermark")
		if err == nil {
			values, err = measure(job+"/vertices/"+v.ID, ids)
		}
		if err != nil {
			fmt.Fprintf(&text, " %v", err)
		}
		for _, value := range values {
			fmt.Fprintf(&text, " %s=%s", value.ID, value.Value)
		}
	}
	return text.String()
}

// measured is a metric, and what it says.
type measured struct{ ID, Value string }

// metricsOf are the names of metrics of a vertex that end so.
func metricsOf(vertex, end string) (ids []string, err error) {
	var known []measured
	err = ask(vertex+"/metrics", &known)
	for _, k := range known {
		if strings.HasSuffix(k.ID, end) {
			ids = append(ids, k.ID)
		}
	}
	return ids, err
}

// measure asks for metrics of a vertex; without names, for none.
func measure(vertex string, ids []string) (all []measured, err error) {
	if len(ids) > 0 {
		err = ask(vertex+"/metrics?get="+url.QueryEscape(strings.Join(ids, ",")), &all)
	}
	return all, err
}
