// Package sepal opens databases of Sepal, an embedded ordered key-value store, over its C interface.
package sepal

/*
#cgo LDFLAGS: -lsepal
#include <stdlib.h>
#include "sepal/c.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// DB is an open database. All of its methods may be called by many goroutines at once. The methods for keys use the
// default column family; Family has them for others.
type DB struct {
	ColumnFamily
	mutex   sync.RWMutex // held exclusively while the database is closed
	raw     *C.sepal_t   // nil: it is closed
	reading *C.sepal_readoptions_t
	writing *C.sepal_writeoptions_t
}

// ColumnFamily is a key space of a database.
type ColumnFamily struct {
	db  *DB
	raw *C.sepal_column_family_t // nil: the default one
}

// Open opens the database in a directory. The caller must close it.
func Open(directory string, options Options) (*DB, error) {
	raw, err := options.raw()
	if err != nil {
		return nil, err
	}
	defer C.sepal_options_destroy(raw)
	name := C.CString(directory)
	defer C.free(unsafe.Pointer(name))
	var message *C.char
	opened := C.sepal_open(raw, name, &message)
	if err := takeError(message); err != nil {
		return nil, err
	}
	reading, _ := ReadOptions{}.raw()
	db := &DB{raw: opened, reading: reading, writing: WriteOptions{}.raw()}
	db.ColumnFamily.db = db
	return db, nil
}

// Close waits for running calls and closes the database; later calls fail with Closed. Close iterators and snapshots
// first.
func (db *DB) Close() error {
	db.mutex.Lock()
	defer db.mutex.Unlock()
	if db.raw == nil {
		return nil
	}
	var message *C.char
	C.sepal_close_with_error(db.raw, &message)
	C.sepal_readoptions_destroy(db.reading)
	C.sepal_writeoptions_destroy(db.writing)
	db.raw = nil
	return takeError(message)
}

// onLocation makes a call on a database that is not open.
func onLocation(directory string, call func(*C.sepal_options_t, *C.char, **C.char)) error {
	options := C.sepal_options_create()
	defer C.sepal_options_destroy(options)
	name := C.CString(directory)
	defer C.free(unsafe.Pointer(name))
	var message *C.char
	call(options, name, &message)
	return takeError(message)
}

// Destroy deletes a database that is not open; other files in its directory stay.
func Destroy(directory string) error {
	return onLocation(directory, func(options *C.sepal_options_t, name *C.char, message **C.char) {
		C.sepal_destroy_db(options, name, message)
	})
}

// Repair restores a damaged database that is not open; it returns a report of what was done and dropped.
func Repair(directory string) (report string, err error) {
	err = onLocation(directory, func(options *C.sepal_options_t, name *C.char, message **C.char) {
		if text := C.sepal_repair_db(options, name, message); text != nil {
			report = takeText(text)
		}
	})
	return report, err
}

// Version returns the version of the linked library.
func Version() string { return C.GoString(C.sepal_version_string()) }

// call makes a call that can fail; meanwhile the database cannot be closed.
func (db *DB) call(make func(db *C.sepal_t, message **C.char)) error {
	db.mutex.RLock()
	defer db.mutex.RUnlock()
	if db.raw == nil {
		return closed("database")
	}
	var message *C.char
	make(db.raw, &message)
	return takeError(message)
}

// Write writes a batch.
func (db *DB) Write(batch *Batch) error {
	defer runtime.KeepAlive(batch)
	return db.call(func(raw *C.sepal_t, message **C.char) { C.sepal_write(raw, db.writing, batch.raw, message) })
}

func (db *DB) WriteWith(batch *Batch, options WriteOptions) error {
	defer runtime.KeepAlive(batch)
	writing := options.raw()
	defer C.sepal_writeoptions_destroy(writing)
	return db.call(func(raw *C.sepal_t, message **C.char) { C.sepal_write(raw, writing, batch.raw, message) })
}

func (f *ColumnFamily) Put(key, value []byte) error { return f.put(key, value, nil) }

func (f *ColumnFamily) PutWith(key, value []byte, options WriteOptions) error {
	writing := options.raw()
	defer C.sepal_writeoptions_destroy(writing)
	return f.put(key, value, writing)
}

func (f *ColumnFamily) put(key, value []byte, writing *C.sepal_writeoptions_t) error {
	at, size := pointer(key)
	valueAt, valueSize := pointer(value)
	err := f.db.call(func(raw *C.sepal_t, message **C.char) {
		if writing == nil {
			writing = f.db.writing
		}
		C.sepal_put_cf(raw, writing, f.raw, at, size, valueAt, valueSize, message)
	})
	runtime.KeepAlive(key)
	runtime.KeepAlive(value)
	return err
}

func (f *ColumnFamily) Delete(key []byte) error {
	at, size := pointer(key)
	err := f.db.call(func(raw *C.sepal_t, message **C.char) {
		C.sepal_delete_cf(raw, f.db.writing, f.raw, at, size, message)
	})
	runtime.KeepAlive(key)
	return err
}

// Merge merges an operand into the value of a key; InvalidArgument if the family has no merge operator.
func (f *ColumnFamily) Merge(key, operand []byte) error {
	at, size := pointer(key)
	operandAt, operandSize := pointer(operand)
	err := f.db.call(func(raw *C.sepal_t, message **C.char) {
		C.sepal_merge_cf(raw, f.db.writing, f.raw, at, size, operandAt, operandSize, message)
	})
	runtime.KeepAlive(key)
	runtime.KeepAlive(operand)
	return err
}

// DeleteRange deletes the keys from begin up to, and without, end as one update; nil: up to the last key.
func (f *ColumnFamily) DeleteRange(begin, end []byte) error {
	at, size := pointer(begin)
	endAt, endSize := optional(end)
	err := f.db.call(func(raw *C.sepal_t, message **C.char) {
		C.sepal_delete_range_cf(raw, f.db.writing, f.raw, at, size, endAt, endSize, message)
	})
	runtime.KeepAlive(begin)
	runtime.KeepAlive(end)
	return err
}

// Get returns the value of a key; nil, and no error, if it does not exist.
func (f *ColumnFamily) Get(key []byte) ([]byte, error) { return f.get(key, nil) }

func (f *ColumnFamily) GetWith(key []byte, options ReadOptions) ([]byte, error) {
	reading, err := options.raw()
	if err != nil {
		return nil, err
	}
	defer C.sepal_readoptions_destroy(reading)
	return f.get(key, reading)
}

func (f *ColumnFamily) get(key []byte, reading *C.sepal_readoptions_t) (value []byte, err error) {
	at, size := pointer(key)
	err = f.db.call(func(raw *C.sepal_t, message **C.char) {
		if reading == nil {
			reading = f.db.reading
		}
		pinned := C.sepal_get_pinned(raw, reading, f.raw, at, size, message)
		if pinned == nil {
			return
		}
		var valueSize C.size_t
		valueAt := C.sepal_pinned_value(pinned, &valueSize)
		value = goBytes(valueAt, valueSize)
		C.sepal_pinned_value_destroy(pinned)
	})
	runtime.KeepAlive(key)
	return value, err
}

// MultiGet reads many keys as of one moment, and overlaps reads from the disk. Values of absent keys are nil.
func (f *ColumnFamily) MultiGet(keys [][]byte) ([][]byte, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	count := len(keys)
	// Memory of Go's must not hold pointers to memory of Go's when C gets it.
	table := C.calloc(C.size_t(3*count), C.size_t(unsafe.Sizeof(uintptr(0))))
	defer C.free(table)
	starts := unsafe.Slice((**C.char)(table), 3*count)
	pointers, values, messages := starts[:count], starts[count:2*count], starts[2*count:]
	sizes := make([]C.size_t, 2*count)
	for i, key := range keys {
		pointers[i], sizes[i] = (*C.char)(C.CBytes(key)), C.size_t(len(key))
		defer C.free(unsafe.Pointer(pointers[i]))
	}
	err := f.db.call(func(raw *C.sepal_t, _ **C.char) {
		C.sepal_multi_get(raw, f.db.reading, f.raw, C.size_t(count), &pointers[0], &sizes[0], &values[0],
			&sizes[count], &messages[0])
	})
	result := make([][]byte, count)
	for i := range keys {
		if failed := takeError(messages[i]); err == nil {
			err = failed
		}
		if values[i] != nil {
			result[i] = goBytes(values[i], sizes[count+i])
			C.sepal_free(unsafe.Pointer(values[i]))
		}
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// CompactRange drops overwritten and deleted entries from begin through end; nil: from the first key, or to the last.
func (f *ColumnFamily) CompactRange(begin, end []byte) error {
	at, size := optional(begin)
	endAt, endSize := optional(end)
	err := f.db.call(func(raw *C.sepal_t, message **C.char) {
		C.sepal_compact_range_cf(raw, f.raw, at, size, endAt, endSize, message)
	})
	runtime.KeepAlive(begin)
	runtime.KeepAlive(end)
	return err
}

// Family finds a column family; NotFound if there is none with that name.
func (db *DB) Family(name string) (*ColumnFamily, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return db.family(func(raw *C.sepal_t, message **C.char) *C.sepal_column_family_t {
		return C.sepal_find_column_family(raw, text, message)
	})
}

// CreateFamily creates a column family.
func (db *DB) CreateFamily(name string, options FamilyOptions) (*ColumnFamily, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	given := C.sepal_options_create()
	defer C.sepal_options_destroy(given)
	options.set(given)
	return db.family(func(raw *C.sepal_t, message **C.char) *C.sepal_column_family_t {
		return C.sepal_create_column_family(raw, given, text, message)
	})
}

func (db *DB) family(find func(*C.sepal_t, **C.char) *C.sepal_column_family_t) (*ColumnFamily, error) {
	family := &ColumnFamily{db: db}
	if err := db.call(func(raw *C.sepal_t, message **C.char) { family.raw = find(raw, message) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(family, func(f *ColumnFamily) { C.sepal_column_family_handle_destroy(f.raw) })
	return family, nil
}

// DropFamily drops a column family with all of its keys.
func (db *DB) DropFamily(family *ColumnFamily) error {
	defer runtime.KeepAlive(family)
	return db.call(func(raw *C.sepal_t, message **C.char) { C.sepal_drop_column_family(raw, family.raw, message) })
}

// FamilyNames lists the column families, the default one first.
func (db *DB) FamilyNames() (names []string, err error) {
	err = db.call(func(raw *C.sepal_t, _ **C.char) {
		var count C.size_t
		list := C.sepal_column_family_names(raw, &count)
		if list == nil {
			return
		}
		for _, name := range unsafe.Slice(list, int(count)) {
			names = append(names, C.GoString(name))
		}
		C.sepal_list_column_families_destroy(list, count)
	})
	return names, err
}

// Property returns a property of the engine as text; "" for an unknown one.
func (db *DB) Property(name string) (value string, err error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	err = db.call(func(raw *C.sepal_t, _ **C.char) {
		if found := C.sepal_property_value(raw, text); found != nil {
			value = takeText(found)
		}
	})
	return value, err
}

// Flush writes the memtable to tables.
func (db *DB) Flush() error {
	return db.call(func(raw *C.sepal_t, message **C.char) { C.sepal_flush(raw, nil, 1, message) })
}

// Sync makes all earlier writes durable.
func (db *DB) Sync() error {
	return db.call(func(raw *C.sepal_t, message **C.char) { C.sepal_sync(raw, message) })
}

// CatchUp brings a read-only database up to date with its writer.
func (db *DB) CatchUp() error {
	return db.call(func(raw *C.sepal_t, message **C.char) { C.sepal_catch_up(raw, message) })
}

// VerifyChecksums reads and checks every byte of every table.
func (db *DB) VerifyChecksums() error {
	return db.call(func(raw *C.sepal_t, message **C.char) { C.sepal_verify_checksums(raw, message) })
}

// Checkpoint makes a copy in a directory that is missing or empty.
func (db *DB) Checkpoint(directory string) error {
	name := C.CString(directory)
	defer C.free(unsafe.Pointer(name))
	return db.call(func(raw *C.sepal_t, message **C.char) { C.sepal_checkpoint(raw, name, message) })
}
