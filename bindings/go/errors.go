package sepal

/*
#include <stdlib.h>
#include "sepal/c.h"
*/
import "C"

import (
	"strings"
	"unsafe"
)

// Code is the kind of an error; test for one with errors.Is(err, sepal.DataLoss). docs/reference/errors.md of Sepal
// says when each occurs. An absent key is not an error.
type Code string

const (
	NotFound           Code = "NOT_FOUND" // there is no such database or column family
	InvalidArgument    Code = "INVALID_ARGUMENT"
	AlreadyExists      Code = "ALREADY_EXISTS"
	FailedPrecondition Code = "FAILED_PRECONDITION"
	PermissionDenied   Code = "PERMISSION_DENIED"
	ResourceExhausted  Code = "RESOURCE_EXHAUSTED"
	Unavailable        Code = "UNAVAILABLE" // the database is open elsewhere, or a write would have to wait
	Cancelled          Code = "CANCELLED"
	Unimplemented      Code = "UNIMPLEMENTED"
	DataLoss           Code = "DATA_LOSS" // bytes of a file fail their checksum
	Internal           Code = "INTERNAL"  // a file operation failed
	Aborted            Code = "ABORTED"
	Closed             Code = "CLOSED" // the database, iterator, snapshot or batch is closed
)

func (c Code) Error() string { return string(c) }

// Error is the error of a failed call.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return "sepal: " + e.Message }

// Unwrap lets errors.Is find the code.
func (e *Error) Unwrap() error { return e.Code }

func closed(what string) error { return &Error{Closed, "the " + what + " is closed"} }

// takeText copies a string of the library's, and frees it.
func takeText(text *C.char) string {
	defer C.sepal_free(unsafe.Pointer(text))
	return C.GoString(text)
}

// takeError makes an error of "CODE: message"; nil of null.
func takeError(text *C.char) error {
	if text == nil {
		return nil
	}
	whole := takeText(text)
	if code, message, found := strings.Cut(whole, ": "); found {
		return &Error{Code(code), message}
	}
	return &Error{Internal, whole}
}

// pointer returns the bytes for a call; never null, which would mean "none".
func pointer(bytes []byte) (*C.char, C.size_t) {
	if len(bytes) == 0 {
		return (*C.char)(unsafe.Pointer(&empty[0])), 0
	}
	return (*C.char)(unsafe.Pointer(&bytes[0])), C.size_t(len(bytes))
}

// optional returns null for nil.
func optional(bytes []byte) (*C.char, C.size_t) {
	if bytes == nil {
		return nil, 0
	}
	return pointer(bytes)
}

var empty [1]byte

func flag(on bool) C.uchar {
	if on {
		return 1
	}
	return 0
}
