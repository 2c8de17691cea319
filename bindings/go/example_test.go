package sepal_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"sepal"
)

// The README's example.
func Example() {
	directory, _ := os.MkdirTemp("", "sepal-go-")
	defer os.RemoveAll(directory)

	db, err := sepal.Open(directory, sepal.Options{
		CreateIfMissing: true,
		FamilyOptions:   sepal.FamilyOptions{Merge: sepal.BuiltInMerge("sepal.Append:,")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	db.Put([]byte("apple"), []byte("red"))
	db.PutWith([]byte("lemon"), []byte("yellow"), sepal.WriteOptions{Sync: true})
	value, err := db.Get([]byte("apple"))
	fmt.Println(string(value), err)

	// Several updates, whole or not at all.
	batch := sepal.NewBatch()
	batch.Delete([]byte("apple"))
	batch.Merge([]byte("lemon"), []byte("green"))
	fmt.Println(db.Write(batch))

	// Entries in order.
	it := db.Iterate(sepal.ReadOptions{Prefix: []byte("l")})
	defer it.Close()
	for it.Next() {
		fmt.Printf("%s: %s\n", it.Key(), it.Value())
	}
	fmt.Println(it.Err())
	// Output:
	// red <nil>
	// <nil>
	// lemon: yellow,green
	// <nil>
}

func TestTheExampleIsTheREADMEs(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	example, _, _ := strings.Cut(rest, "```")
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if example == "" || !strings.Contains(strings.ReplaceAll(string(source), "\n\t", "\n"), example) {
		t.Error("the README has another example")
	}
}
