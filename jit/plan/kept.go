package plan

import "encoding/json"

// kept is a plan as a cache keeps it: with what the planner predicts of it, and maps without anything told from those that are not there.
type kept struct {
	*Plan
	Extents  map[string]int64 `json:"extents"`
	Forms    map[string]int64 `json:"forms"`
	Time     float64          `json:"time"`
	Estimate *Estimate        `json:"estimate"`
	Next     *Estimate        `json:"next"`
	Shared   int64            `json:"shared"`
}

// Keep is the plan as data, from which Kept makes it again.
func (p *Plan) Keep() ([]byte, error) {
	return json.Marshal(kept{p, p.Extents, p.Forms, p.Time, p.Estimate, p.Next, p.shared})
}

// Kept is the plan of which Keep gave the data.
func Kept(data []byte) (*Plan, error) {
	k := kept{Plan: &Plan{}}
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, err
	}
	p := k.Plan
	p.Extents, p.Forms, p.Time, p.Estimate, p.Next, p.shared = k.Extents, k.Forms, k.Time, k.Estimate, k.Next, k.Shared
	return p, nil
}
