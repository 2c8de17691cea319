package sepal

/*
#include "sepal/c.h"
*/
import "C"

// Snapshot is a moment in the history of a database, for all its column families. Close it, so that overwritten
// versions that it sees can be dropped.
type Snapshot struct {
	db  *DB
	raw *C.sepal_snapshot_t
}

// Snapshot returns a snapshot of the database as of now.
func (db *DB) Snapshot() (*Snapshot, error) {
	snapshot := &Snapshot{db: db}
	err := db.call(func(raw *C.sepal_t, _ **C.char) { snapshot.raw = C.sepal_create_snapshot(raw) })
	if err != nil {
		return nil, err
	}
	return snapshot, nil
}

// Close releases the snapshot. No read with it may be running.
func (s *Snapshot) Close() {
	if s.raw == nil {
		return
	}
	// The library looks at the snapshot alone, so that the database may be closed.
	C.sepal_release_snapshot(nil, s.raw)
	s.raw = nil
}

// Iterator visits entries in order, and sees the database as it was when the iterator was created. It is used by one
// goroutine at a time, and must be closed.
//
//	for it.Next() {
//		use(it.Key(), it.Value())
//	}
//	err := it.Err()
type Iterator struct {
	raw     *C.sepal_iterator_t
	reverse bool
	moved   bool // it stands where Next would move
	err     error
}

// Iterate creates an iterator that stands before the first entry, or, in reverse, after the last one.
func (f *ColumnFamily) Iterate(options ReadOptions) *Iterator {
	it := &Iterator{reverse: options.Reverse}
	reading, err := options.raw()
	if err != nil {
		it.err = err
		return it
	}
	defer C.sepal_readoptions_destroy(reading)
	it.err = f.db.call(func(raw *C.sepal_t, _ **C.char) { it.raw = C.sepal_create_iterator_cf(raw, reading, f.raw) })
	if it.raw != nil {
		it.toFirst()
	}
	return it
}

func (it *Iterator) toFirst() {
	if it.reverse {
		C.sepal_iter_seek_to_last(it.raw)
	} else {
		C.sepal_iter_seek_to_first(it.raw)
	}
	it.moved = true
}

// Seek makes Next move to the first entry at or after the key; of an iterator in reverse, to the last one at or before it.
func (it *Iterator) Seek(key []byte) {
	if it.raw == nil {
		return
	}
	at, size := pointer(key)
	if it.reverse {
		C.sepal_iter_seek_for_prev(it.raw, at, size)
	} else {
		C.sepal_iter_seek(it.raw, at, size)
	}
	it.moved = true
}

// Next moves to the next entry. It returns false if there is none, or after an error.
func (it *Iterator) Next() bool {
	if it.raw == nil {
		return false
	}
	if !it.moved && C.sepal_iter_valid(it.raw) != 0 {
		if it.reverse {
			C.sepal_iter_prev(it.raw)
		} else {
			C.sepal_iter_next(it.raw)
		}
	}
	it.moved = false
	return C.sepal_iter_valid(it.raw) != 0
}

// Key copies the key of the entry; nil at no entry.
func (it *Iterator) Key() []byte {
	if it.raw == nil || C.sepal_iter_valid(it.raw) == 0 {
		return nil
	}
	var size C.size_t
	data := C.sepal_iter_key(it.raw, &size)
	return goBytes(data, size)
}

// Value copies the value of the entry; nil at no entry.
func (it *Iterator) Value() []byte {
	if it.raw == nil || C.sepal_iter_valid(it.raw) == 0 {
		return nil
	}
	var size C.size_t
	data := C.sepal_iter_value(it.raw, &size)
	return goBytes(data, size)
}

// Err is the error that ended the iteration, if any.
func (it *Iterator) Err() error {
	if it.raw == nil {
		return it.err
	}
	var message *C.char
	C.sepal_iter_get_error(it.raw, &message)
	return takeError(message)
}

// Close releases the iterator.
func (it *Iterator) Close() {
	if it.raw == nil {
		return
	}
	C.sepal_iter_destroy(it.raw)
	it.raw, it.err = nil, closed("iterator")
}
