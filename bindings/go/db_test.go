package sepal_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sepal"
)

func open(t *testing.T, options sepal.Options) (*sepal.DB, string) {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "db")
	options.CreateIfMissing = true
	db, err := sepal.Open(directory, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, directory
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, code sepal.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("%v is not %v", err, code)
	}
}

func value(t *testing.T, family *sepal.ColumnFamily, key string) string {
	t.Helper()
	found, err := family.Get([]byte(key))
	must(t, err)
	if found == nil {
		return "-"
	}
	return string(found)
}

func keys(t *testing.T, it *sepal.Iterator) string {
	t.Helper()
	defer it.Close()
	var all []string
	for it.Next() {
		all = append(all, string(it.Key()))
	}
	must(t, it.Err())
	return strings.Join(all, " ")
}

func TestPutsGetsAndDeletes(t *testing.T) {
	db, directory := open(t, sepal.Options{})
	must(t, db.Put([]byte("a"), []byte("1")))
	must(t, db.PutWith([]byte("b"), []byte{0, 255}, sepal.WriteOptions{Sync: true}))
	must(t, db.Put(nil, nil))
	if value(t, &db.ColumnFamily, "a") != "1" || value(t, &db.ColumnFamily, "") != "" || value(t, &db.ColumnFamily, "x") != "-" {
		t.Error("wrong values")
	}
	must(t, db.Delete([]byte("a")))
	many, err := db.MultiGet([][]byte{[]byte("a"), []byte("b"), nil})
	must(t, err)
	if !reflect.DeepEqual(many, [][]byte{nil, {0, 255}, {}}) {
		t.Errorf("%q", many)
	}
	must(t, db.Close())
	must(t, db.Close())
	again, err := sepal.Open(directory, sepal.Options{})
	must(t, err)
	defer again.Close()
	if got := keys(t, again.Iterate(sepal.ReadOptions{})); got != " b" {
		t.Errorf("%q", got)
	}
}

func TestBatchesRangesAndExpiry(t *testing.T) {
	db, _ := open(t, sepal.Options{})
	batch := sepal.NewBatch()
	for i := 0; i < 10; i++ {
		batch.Put([]byte(fmt.Sprint("k", i)), []byte("v"))
	}
	batch.Delete([]byte("k0"))
	batch.DeleteRange([]byte("k7"), nil)
	batch.PutExpiring([]byte("later"), []byte("v"), time.Now().Add(time.Hour))
	other := sepal.NewBatch()
	other.Put([]byte("z"), []byte("v"))
	batch.Append(other)
	if batch.Len() != 14 {
		t.Error(batch.Len())
	}
	must(t, db.Write(batch))
	must(t, db.DeleteRange([]byte("k2"), []byte("k4")))
	if got := keys(t, db.Iterate(sepal.ReadOptions{})); got != "k1 k4 k5 k6 later z" {
		t.Error(got)
	}
	batch.Clear()
	must(t, db.WriteWith(batch, sepal.WriteOptions{Sync: true}))
	must(t, db.PutWith([]byte("k1"), nil, sepal.WriteOptions{TTL: time.Millisecond}))
	time.Sleep(10 * time.Millisecond)
	if got := value(t, &db.ColumnFamily, "k1"); got != "-" {
		t.Error(got)
	}
	refused(t, db.PutWith([]byte("k"), nil, sepal.WriteOptions{TTL: -time.Second}), sepal.InvalidArgument)
}

func TestIteratorsAndSnapshots(t *testing.T) {
	db, _ := open(t, sepal.Options{})
	for i := 0; i < 30; i++ {
		must(t, db.Put([]byte(fmt.Sprintf("%02d", i)), []byte(fmt.Sprint(i))))
	}
	snapshot, err := db.Snapshot()
	must(t, err)
	must(t, db.DeleteRange([]byte("0"), []byte("2")))
	at := sepal.ReadOptions{Snapshot: snapshot, Reverse: true, LowerBound: []byte("08"), UpperBound: []byte("11")}
	if got := keys(t, db.Iterate(at)); got != "10 09 08" {
		t.Error(got)
	}
	old, err := db.GetWith([]byte("05"), sepal.ReadOptions{Snapshot: snapshot, NoCache: true})
	must(t, err)
	if string(old) != "5" || value(t, &db.ColumnFamily, "05") != "-" {
		t.Error(old)
	}
	it := db.Iterate(sepal.ReadOptions{Prefix: []byte("2")})
	it.Seek([]byte("285"))
	if !it.Next() || string(it.Value()) != "29" || it.Next() || it.Key() != nil || it.Next() {
		t.Error("wrong entries")
	}
	it.Close()
	it.Close()
	it.Seek(nil)
	if it.Next() || it.Value() != nil {
		t.Error("a closed iterator moves")
	}
	refused(t, it.Err(), sepal.Closed)
	snapshot.Close()
	snapshot.Close()
	refused(t, db.Iterate(at).Err(), sepal.Closed)
	_, err = db.GetWith([]byte("05"), at)
	refused(t, err, sepal.Closed)
}

func TestMerges(t *testing.T) {
	longest := func(_, base []byte, operands [][]byte) ([]byte, bool) {
		for _, operand := range operands {
			if string(operand) == "panic" {
				panic("as asked")
			}
			if len(operand) > len(base) {
				base = operand
			}
		}
		return base, !bytes.Equal(base, []byte("refuse"))
	}
	db, _ := open(t, sepal.Options{
		FamilyOptions: sepal.FamilyOptions{Merge: sepal.NewMergeOperator("longest", longest)},
		Families:      map[string]sepal.FamilyOptions{"list": {Merge: sepal.BuiltInMerge("sepal.Append:,"), Compression: sepal.Zstd}},
	})
	must(t, db.Put([]byte("k"), []byte("ab")))
	must(t, db.Merge([]byte("k"), []byte("abc")))
	must(t, db.Merge([]byte("k"), []byte("a")))
	if got := value(t, &db.ColumnFamily, "k"); got != "abc" {
		t.Error(got)
	}
	for _, operand := range []string{"panic", "refuse"} {
		must(t, db.Merge([]byte(operand), []byte(operand)))
		if _, err := db.Get([]byte(operand)); err == nil {
			t.Error(operand)
		}
	}
	list, err := db.Family("list")
	must(t, err)
	batch := sepal.NewBatch()
	batch.MergeCF(list, []byte("k"), []byte("1"))
	batch.MergeCF(list, []byte("k"), []byte("2"))
	must(t, db.Write(batch))
	if got := value(t, list, "k"); got != "1,2" {
		t.Error(got)
	}
	if sepal.BuiltInMerge("sepal.Nothing") != nil {
		t.Error("there is no such operator")
	}
}

func TestColumnFamilies(t *testing.T) {
	db, _ := open(t, sepal.Options{})
	mail, err := db.CreateFamily("mail", sepal.FamilyOptions{BlockSize: 8192})
	must(t, err)
	must(t, mail.Put([]byte("1"), []byte("hello")))
	batch := sepal.NewBatch()
	batch.PutCF(mail, []byte("2"), []byte("x"))
	batch.DeleteCF(mail, []byte("1"))
	batch.DeleteRangeCF(mail, []byte("3"), []byte("4"))
	batch.Put([]byte("mails"), []byte("1"))
	must(t, db.Write(batch))
	must(t, mail.CompactRange(nil, []byte("9")))
	if got := keys(t, mail.Iterate(sepal.ReadOptions{})); got != "2" {
		t.Error(got)
	}
	names, err := db.FamilyNames()
	must(t, err)
	if !reflect.DeepEqual(names, []string{"default", "mail"}) {
		t.Error(names)
	}
	must(t, db.DropFamily(mail))
	refused(t, mail.Put([]byte("1"), nil), sepal.FailedPrecondition)
	_, err = db.Family("mail")
	refused(t, err, sepal.NotFound)
}

func TestErrors(t *testing.T) {
	_, err := sepal.Open(filepath.Join(t.TempDir(), "none"), sepal.Options{})
	refused(t, err, sepal.NotFound)
	db, directory := open(t, sepal.Options{})
	_, err = sepal.Open(directory, sepal.Options{})
	refused(t, err, sepal.Unavailable)
	var whole *sepal.Error
	if !errors.As(err, &whole) || whole.Message == "" || strings.HasPrefix(whole.Message, "UNAVAILABLE") {
		t.Error(err)
	}
	refused(t, db.Put(make([]byte, 17_000_000), nil), sepal.InvalidArgument)
	refused(t, db.Merge([]byte("k"), nil), sepal.InvalidArgument)
	_, err = sepal.Open(directory, sepal.Options{Text: "no_such_option=1"})
	refused(t, err, sepal.InvalidArgument)
	snapshot, err := db.Snapshot()
	must(t, err)
	it := db.Iterate(sepal.ReadOptions{})
	must(t, db.Close())
	refused(t, db.Put([]byte("k"), nil), sepal.Closed)
	_, err = db.Get([]byte("k"))
	refused(t, err, sepal.Closed)
	_, err = db.MultiGet([][]byte{[]byte("k")})
	refused(t, err, sepal.Closed)
	_, err = db.Snapshot()
	refused(t, err, sepal.Closed)
	if it.Next() {
		t.Error("an entry of a closed database")
	}
	refused(t, it.Err(), sepal.FailedPrecondition)
	it.Close()
	snapshot.Close()
	reader, err := sepal.Open(directory, sepal.Options{ReadOnly: true})
	must(t, err)
	refused(t, reader.Put([]byte("k"), nil), sepal.FailedPrecondition)
	must(t, reader.Close())
}

func TestAViewCatchesUpByACallAndByItself(t *testing.T) {
	db, directory := open(t, sepal.Options{})
	view, err := sepal.Open(directory, sepal.Options{ReadOnly: true})
	must(t, err)
	defer view.Close()
	follower, err := sepal.Open(directory, sepal.Options{ReadOnly: true, Follow: time.Millisecond})
	must(t, err)
	defer follower.Close()
	must(t, db.Put([]byte("k"), []byte("v")))
	if _, err = view.Get([]byte("k")); !errors.Is(err, sepal.NotFound) {
		t.Error("a view does not move by itself", err)
	}
	must(t, view.CatchUp())
	value, err := view.Get([]byte("k"))
	must(t, err)
	if string(value) != "v" {
		t.Error(value)
	}
	for value = nil; string(value) != "v"; {
		value, _ = follower.Get([]byte("k"))
	}
	refused(t, db.CatchUp(), sepal.FailedPrecondition)
}

func TestGoroutines(t *testing.T) {
	db, _ := open(t, sepal.Options{})
	var group sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for i := 0; i < 500; i++ {
				key := []byte(fmt.Sprint(worker, "-", i))
				if err := db.Put(key, key); err != nil && !errors.Is(err, sepal.Closed) {
					t.Error(err)
				}
				if worker == 3 && i == 400 {
					db.Close()
				}
			}
		}(worker)
	}
	group.Wait()
}

func TestMaintenance(t *testing.T) {
	db, directory := open(t, sepal.Options{})
	for i := 0; i < 1000; i++ {
		must(t, db.Put([]byte(fmt.Sprint(i)), nil))
	}
	must(t, db.Flush())
	must(t, db.Sync())
	must(t, db.VerifyChecksums())
	property, err := db.Property("sepal.num-entries")
	must(t, err)
	if property != "1000" {
		t.Error(property)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	must(t, db.Checkpoint(copied))
	refused(t, db.Checkpoint(copied), sepal.AlreadyExists)
	must(t, db.Close())
	report, err := sepal.Repair(directory)
	must(t, err)
	if !strings.Contains(report, "nothing was wrong") || sepal.Version() == "" {
		t.Error(report)
	}
	must(t, sepal.Destroy(directory))
}
