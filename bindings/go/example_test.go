package sepal_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"time"

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

// The guide's example.
func Example_families() {
	directory, _ := os.MkdirTemp("", "sepal-go-")
	defer os.RemoveAll(directory)
	db, err := sepal.Open(directory, sepal.Options{CreateIfMissing: true})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	mail, err := db.CreateFamily("mail", sepal.FamilyOptions{Compression: sepal.Zstd})
	if err != nil {
		log.Fatal(err)
	}
	batch := sepal.NewBatch()
	batch.PutCF(mail, []byte("1"), []byte("hello"))
	batch.Put([]byte("mails"), []byte("1"))
	db.WriteWith(batch, sepal.WriteOptions{Sync: true})
	db.PutWith([]byte("session"), []byte("of an hour"), sepal.WriteOptions{TTL: time.Hour})

	snapshot, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	mail.DeleteRange([]byte("0"), nil)
	was, err := mail.GetWith([]byte("1"), sepal.ReadOptions{Snapshot: snapshot})
	fmt.Println(string(was), err)

	_, err = db.Family("post")
	fmt.Println(errors.Is(err, sepal.NotFound))
	// Output:
	// hello <nil>
	// true
}

func TestTheExamplesAreThoseOfTheDocuments(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"README.md", "../../docs/guide/go.md"} {
		document, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(document), "```go\n")
		example, _, _ := strings.Cut(rest, "```")
		if example == "" || !strings.Contains(strings.ReplaceAll(string(source), "\n\t", "\n"), example) {
			t.Errorf("%s has another example", path)
		}
	}
}
