package sepal

/*
#include <stdlib.h>
#include "sepal/c_merge.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// Compression is the codec of data blocks; the zero value is the engine's default, snappy.
type Compression int

const (
	DefaultCompression Compression = iota
	NoCompression
	Snappy
	LZ4
	Zstd
)

// FamilyOptions are those of one column family.
type FamilyOptions struct {
	Compression Compression
	BlockSize   int           // bytes before compression; 0: 4096
	TTL         time.Duration // how long puts live that say nothing themselves; 0: they do not expire
	Merge       *MergeOperator
}

// Options are the options for opening a database. docs/reference/options.md of Sepal explains them.
type Options struct {
	CreateIfMissing bool
	ErrorIfExists   bool
	ReadOnly        bool          // a view as of the opening, also beside a process that writes
	Follow          time.Duration // with ReadOnly: call CatchUp by itself so long after each call; 0: never
	MemoryLimit     int64         // bytes of memory for everything; 0: 256 MiB
	LogDirectory    string
	Text            string // further options as text, as the sepal command takes them

	FamilyOptions                          // of the default column family, and of every one that is not named
	Families      map[string]FamilyOptions // by name
}

func (f FamilyOptions) set(raw *C.sepal_options_t) {
	if f.Compression != DefaultCompression {
		C.sepal_options_set_compression(raw, C.int(f.Compression-NoCompression))
	}
	if f.BlockSize != 0 {
		C.sepal_options_set_block_size(raw, C.size_t(f.BlockSize))
	}
	if f.TTL != 0 {
		C.sepal_options_set_ttl(raw, C.int64_t(f.TTL.Milliseconds()))
	}
	if f.Merge != nil {
		C.sepal_options_set_merge_operator(raw, f.Merge.raw)
	}
}

// raw creates the library's options, which the caller must destroy.
func (o Options) raw() (*C.sepal_options_t, error) {
	raw := C.sepal_options_create()
	C.sepal_options_set_create_if_missing(raw, flag(o.CreateIfMissing))
	C.sepal_options_set_error_if_exists(raw, flag(o.ErrorIfExists))
	C.sepal_options_set_read_only(raw, flag(o.ReadOnly))
	C.sepal_options_set_follow_milliseconds(raw, C.uint64_t(o.Follow.Milliseconds()))
	if o.MemoryLimit != 0 {
		C.sepal_options_set_memory_limit(raw, C.size_t(o.MemoryLimit))
	}
	if o.LogDirectory != "" {
		directory := C.CString(o.LogDirectory)
		defer C.free(unsafe.Pointer(directory))
		C.sepal_options_set_log_directory(raw, directory)
	}
	o.FamilyOptions.set(raw)
	for name, options := range o.Families {
		family, text := C.sepal_options_create(), C.CString(name)
		options.set(family)
		C.sepal_options_add_column_family(raw, text, family)
		C.sepal_options_destroy(family)
		C.free(unsafe.Pointer(text))
	}
	if o.Text != "" {
		text := C.CString(o.Text)
		defer C.free(unsafe.Pointer(text))
		var message *C.char
		C.sepal_options_from_text(raw, text, &message)
		if err := takeError(message); err != nil {
			C.sepal_options_destroy(raw)
			return nil, err
		}
	}
	return raw, nil
}

// WriteOptions are the options of a write. Without Sync it survives the death of the process, and with Sync a loss of
// power.
type WriteOptions struct {
	Sync       bool
	DisableWAL bool          // it is only in memory until it is flushed
	NoSlowdown bool          // fail with Unavailable instead of waiting
	TTL        time.Duration // for a put alone: how long the key lives; 0: for ever
}

func (w WriteOptions) raw() *C.sepal_writeoptions_t {
	raw := C.sepal_writeoptions_create()
	C.sepal_writeoptions_set_sync(raw, flag(w.Sync))
	C.sepal_writeoptions_set_disable_wal(raw, flag(w.DisableWAL))
	C.sepal_writeoptions_set_no_slowdown(raw, flag(w.NoSlowdown))
	if w.TTL != 0 {
		C.sepal_writeoptions_set_ttl(raw, C.int64_t(w.TTL.Milliseconds()))
	}
	return raw
}

// ReadOptions are the options of a read. The bounds, the prefix and Reverse are for iterators.
type ReadOptions struct {
	Snapshot   *Snapshot // read as of it instead of as of now
	NoCache    bool      // do not keep blocks that are read in the cache
	LowerBound []byte    // the first key; nil: unbounded
	UpperBound []byte    // the first key after the last one; nil: unbounded
	Prefix     []byte    // only keys that begin with it
	Reverse    bool
}

func (r ReadOptions) raw() (*C.sepal_readoptions_t, error) {
	if r.Snapshot != nil && r.Snapshot.raw == nil {
		return nil, closed("snapshot")
	}
	raw := C.sepal_readoptions_create()
	C.sepal_readoptions_set_fill_cache(raw, flag(!r.NoCache))
	if r.Snapshot != nil {
		C.sepal_readoptions_set_snapshot(raw, r.Snapshot.raw)
	}
	if r.Prefix != nil {
		at, size := pointer(r.Prefix)
		C.sepal_readoptions_set_prefix(raw, at, size)
	}
	if r.LowerBound != nil {
		at, size := pointer(r.LowerBound)
		C.sepal_readoptions_set_lower_bound(raw, at, size)
	}
	if r.UpperBound != nil {
		at, size := pointer(r.UpperBound)
		C.sepal_readoptions_set_upper_bound(raw, at, size)
	}
	return raw, nil
}
