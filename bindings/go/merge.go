package sepal

/*
#include <stdlib.h>
#include <string.h>
#include "sepal/c_merge.h"

sepal_mergeoperator_t* sepal_go_merge_operator(uintptr_t handle, char* name);
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// MergeFunc returns the value for a key, its old value (nil: none) and the operands, oldest first; false if they cannot
// be merged. It must be deterministic, must not block, and is called by many threads at once.
type MergeFunc func(key, base []byte, operands [][]byte) ([]byte, bool)

// MergeOperator defines the effect of a merge on a value. Its name belongs to a column family for good. Operators live
// as long as the process, so create only a few.
type MergeOperator struct {
	raw *C.sepal_mergeoperator_t
}

// NewMergeOperator creates an operator from a function.
func NewMergeOperator(name string, merge MergeFunc) *MergeOperator {
	handle := cgo.NewHandle(merge)
	return &MergeOperator{C.sepal_go_merge_operator(C.uintptr_t(handle), C.CString(name))}
}

// BuiltInMerge returns an operator of the library: sepal.Add64, sepal.Append: and a separator, sepal.Max, sepal.Min,
// sepal.JsonMergePatch. Nil if there is no such operator.
func BuiltInMerge(name string) *MergeOperator {
	at, size := pointer([]byte(name))
	raw := C.sepal_mergeoperator_create_by_name(at, size)
	if raw == nil {
		return nil
	}
	return &MergeOperator{raw}
}

//export sepalGoMerge
func sepalGoMerge(handle C.uintptr_t, key *C.char, keySize C.size_t, base *C.char, baseSize C.size_t,
	operands **C.char, sizes *C.size_t, count C.size_t, size *C.size_t) (result *C.char) {
	// A panic must not reach the library.
	defer func() {
		if recover() != nil {
			result = nil
		}
	}()
	merge := cgo.Handle(handle).Value().(MergeFunc)
	list := make([][]byte, int(count))
	pointers, lengths := unsafe.Slice(operands, int(count)), unsafe.Slice(sizes, int(count))
	for i := range list {
		list[i] = goBytes(pointers[i], lengths[i])
	}
	var before []byte
	if base != nil {
		before = goBytes(base, baseSize)
	}
	value, merged := merge(goBytes(key, keySize), before, list)
	if !merged {
		return nil
	}
	*size = C.size_t(len(value))
	return (*C.char)(C.CBytes(append(value, 0)))
}

// goBytes copies; it is never nil.
func goBytes(data *C.char, size C.size_t) []byte {
	if size == 0 {
		return []byte{}
	}
	return C.GoBytes(unsafe.Pointer(data), C.int(size))
}
