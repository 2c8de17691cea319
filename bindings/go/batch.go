package sepal

/*
#include "sepal/c.h"
*/
import "C"

import (
	"runtime"
	"time"
)

// Batch is a list of updates that are written whole or not at all, in their order. The methods that end in CF are for
// column families other than the default one. It is used by one goroutine at a time.
type Batch struct {
	raw *C.sepal_writebatch_t
}

// NewBatch creates an empty batch. Its memory is freed when nothing refers to it.
func NewBatch() *Batch {
	batch := &Batch{C.sepal_writebatch_create()}
	runtime.SetFinalizer(batch, func(b *Batch) { C.sepal_writebatch_destroy(b.raw) })
	return batch
}

func familyOf(family *ColumnFamily) *C.sepal_column_family_t {
	if family == nil {
		return nil
	}
	return family.raw
}

func (b *Batch) Put(key, value []byte) { b.PutCF(nil, key, value) }

func (b *Batch) PutCF(family *ColumnFamily, key, value []byte) {
	at, size := pointer(key)
	valueAt, valueSize := pointer(value)
	C.sepal_writebatch_put_cf(b.raw, familyOf(family), at, size, valueAt, valueSize)
	runtime.KeepAlive(b)
}

// PutExpiring puts a key that expires at that time.
func (b *Batch) PutExpiring(key, value []byte, expires time.Time) {
	at, size := pointer(key)
	valueAt, valueSize := pointer(value)
	millis := expires.UnixMilli()
	if millis < 0 {
		millis = 0
	}
	C.sepal_writebatch_put_expiring(b.raw, nil, at, size, valueAt, valueSize, C.uint64_t(millis))
	runtime.KeepAlive(b)
}

func (b *Batch) Delete(key []byte) { b.DeleteCF(nil, key) }

func (b *Batch) DeleteCF(family *ColumnFamily, key []byte) {
	at, size := pointer(key)
	C.sepal_writebatch_delete_cf(b.raw, familyOf(family), at, size)
	runtime.KeepAlive(b)
}

func (b *Batch) Merge(key, operand []byte) { b.MergeCF(nil, key, operand) }

func (b *Batch) MergeCF(family *ColumnFamily, key, operand []byte) {
	at, size := pointer(key)
	operandAt, operandSize := pointer(operand)
	C.sepal_writebatch_merge_cf(b.raw, familyOf(family), at, size, operandAt, operandSize)
	runtime.KeepAlive(b)
}

// DeleteRange deletes the keys from begin up to, and without, end; nil: up to the last key.
func (b *Batch) DeleteRange(begin, end []byte) { b.DeleteRangeCF(nil, begin, end) }

func (b *Batch) DeleteRangeCF(family *ColumnFamily, begin, end []byte) {
	at, size := pointer(begin)
	endAt, endSize := optional(end)
	C.sepal_writebatch_delete_range_cf(b.raw, familyOf(family), at, size, endAt, endSize)
	runtime.KeepAlive(b)
}

// Append adds the updates of another batch.
func (b *Batch) Append(other *Batch) {
	C.sepal_writebatch_append(b.raw, other.raw)
	runtime.KeepAlive(b)
	runtime.KeepAlive(other)
}

func (b *Batch) Clear() {
	C.sepal_writebatch_clear(b.raw)
	runtime.KeepAlive(b)
}

// Len is the number of updates.
func (b *Batch) Len() int {
	count := int(C.sepal_writebatch_count(b.raw))
	runtime.KeepAlive(b)
	return count
}
