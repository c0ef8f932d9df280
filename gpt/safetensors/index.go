package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"tilec/gpt/internal/strictjson"
	"tilec/jit/file"
)

// shardIndex is the content of an index.
type shardIndex struct {
	shards map[string]string // the file of each tensor
	// total is the bytes of all tensors, -1 where the index does not say.
	total float64
}

// OpenIndex opens the files that an index names ("model.safetensors.index.json", whose weight_map has the file of each tensor) as if
// they were one. Each tensor is in the file that the index says, and the files have no other tensors.
func OpenIndex(path string) (*File, error) {
	data, err := file.Read(path, file.MaxText)
	if err != nil {
		return nil, err
	}
	index, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := &File{name: path, byName: map[string]int{}}
	if err := f.addShards(filepath.Dir(path), index); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// addShards opens the files of an index, which are in a folder.
func (f *File) addShards(dir string, index shardIndex) error {
	opened := map[string]*File{}
	for _, name := range slices.Sorted(maps.Keys(index.shards)) {
		shard := index.shards[name]
		s := opened[shard]
		if s == nil {
			var err error
			if s, err = Open(filepath.Join(dir, shard)); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the file %s, which has tensor %q, is missing: fetch all files of the checkpoint", shard, name)
			} else if err != nil {
				return err
			}
			opened[shard] = s
			f.parts = append(f.parts, s.parts...)
		}
		if _, ok := s.byName[name]; !ok {
			return fmt.Errorf("weight_map has tensor %q in %s, which lacks it: the files are of different versions, fetch all of them again", name, shard)
		}
	}
	total := 0
	for _, p := range f.parts {
		s := opened[filepath.Base(p.name)]
		for _, e := range s.entries {
			if index.shards[e.name] != filepath.Base(p.name) {
				return fmt.Errorf("%s has tensor %q, which weight_map has not there: the files are of different versions, fetch all of them again", filepath.Base(p.name), e.name)
			}
			f.byName[e.name] = len(f.entries)
			f.entries = append(f.entries, e)
			total += e.end - e.begin
		}
	}
	if index.total >= 0 && index.total != float64(total) {
		return fmt.Errorf("metadata: total_size is %.0f, and the tensors have %d bytes: the files are of different versions, fetch all of them again", index.total, total)
	}
	return nil
}

func parseIndex(data []byte) (shardIndex, error) {
	index := shardIndex{shards: map[string]string{}, total: -1}
	err := strictjson.Document(data, func(dec *json.Decoder, field string) error {
		switch field {
		case "weight_map":
			return strictjson.Object(dec, func(name string) error {
				var shard string
				if err := dec.Decode(&shard); err != nil {
					return fmt.Errorf("weight_map: tensor %q: %w", name, strictjson.Explain(dec, err))
				}
				if shard != filepath.Base(shard) || !filepath.IsLocal(shard) {
					return fmt.Errorf("weight_map: tensor %q is in %q, required the name of a file beside the index", name, shard)
				}
				index.shards[name] = shard
				return nil
			})
		case "metadata":
			var metadata struct {
				Total *float64 `json:"total_size"`
			}
			if err := dec.Decode(&metadata); err != nil {
				return fmt.Errorf("metadata: %w", strictjson.Explain(dec, err))
			}
			if metadata.Total != nil {
				index.total = *metadata.Total
			}
			return nil
		}
		return strictjson.Explain(dec, dec.Decode(new(json.RawMessage)))
	})
	if err == nil && len(index.shards) == 0 {
		err = errors.New("weight_map is missing or empty, required the file of each tensor")
	}
	return index, err
}
