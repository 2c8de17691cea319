use std::{path::PathBuf, sync::atomic::{AtomicU32, Ordering}, thread, time::{Duration, SystemTime}};

use sepal::{Compression, Db, Error, MergeOperator, Options, ReadOptions, WriteBatch, WriteOptions};

struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sepal-rust-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Directory(std::env::temp_dir().join(name))
    }
    fn open(&self) -> Db {
        Db::open(&Options::new().create_if_missing(true), &self.0).unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn keys(db: &Db) -> Vec<String> {
    db.iter().map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect()
}

#[test]
fn puts_gets_and_deletes() {
    let directory = Directory::new();
    let db = directory.open();
    db.put("a", "1").unwrap();
    db.put_with(b"b", vec![0u8, 255], &WriteOptions::sync()).unwrap();
    db.put("", "").unwrap();
    assert_eq!(db.get("a").unwrap(), Some(b"1".to_vec()));
    assert_eq!(db.get("b").unwrap(), Some(vec![0, 255]));
    assert_eq!(db.get("").unwrap(), Some(vec![]));
    assert_eq!(&*db.get_pinned("a").unwrap().unwrap(), b"1");
    assert!(db.get("x").unwrap().is_none() && db.get_pinned("x").unwrap().is_none());
    db.delete("a").unwrap();
    let many = db.multi_get(&["a", "b", ""]);
    assert_eq!(many, [Ok(None), Ok(Some(vec![0, 255])), Ok(Some(vec![]))]);
    db.close().unwrap();
    assert_eq!(keys(&directory.open()), ["", "b"]);
}

#[test]
fn batches_ranges_and_expiry() {
    let directory = Directory::new();
    let db = directory.open();
    let mut batch = WriteBatch::new();
    for i in 0..10 {
        batch.put(format!("k{i}"), "v");
    }
    batch.delete("k0");
    batch.delete_range("k7", None);
    batch.put_expiring("later", "v", SystemTime::now() + Duration::from_secs(3600));
    let mut other = WriteBatch::new();
    other.put("z", "v");
    batch.append(&other);
    assert_eq!((batch.len(), batch.is_empty()), (14, false));
    db.write(&batch).unwrap();
    db.delete_range("k2", Some(b"k4")).unwrap();
    assert_eq!(keys(&db), ["k1", "k4", "k5", "k6", "later", "z"]);
    batch.clear();
    db.write_with(&batch, &WriteOptions::sync()).unwrap();
    let soon = WriteOptions { ttl: Some(Duration::from_millis(1)), ..WriteOptions::default() };
    db.put_with("k1", "gone", &soon).unwrap();
    thread::sleep(Duration::from_millis(10));
    assert_eq!(db.get("k1").unwrap(), None);
    let nothing = WriteOptions { ttl: Some(Duration::ZERO), ..WriteOptions::default() };
    assert!(matches!(db.put_with("k", "v", &nothing), Err(Error::InvalidArgument(_))));
}

#[test]
fn iterators() {
    let directory = Directory::new();
    let db = directory.open();
    for i in 0..100 {
        db.put(format!("{i:03}"), i.to_string()).unwrap();
    }
    let bounds = ReadOptions {
        lower_bound: Some(b"010".to_vec()), upper_bound: Some(b"013".to_vec()), reverse: true, ..ReadOptions::default()
    };
    let values: Vec<_> = db.iter_with(&bounds).map(|entry| entry.unwrap().1).collect();
    assert_eq!(values, [b"12", b"11", b"10"]);
    let prefix = ReadOptions { prefix: Some(b"09".to_vec()), no_cache: true, ..ReadOptions::default() };
    assert_eq!(db.iter_with(&prefix).count(), 10);
    let mut raw = db.raw_iter(&ReadOptions::default());
    assert_eq!(raw.entry(), None);
    raw.next();
    raw.seek("0505");
    assert_eq!(raw.entry(), Some((&b"051"[..], &b"51"[..])));
    raw.prev();
    assert_eq!(raw.key(), Some(&b"050"[..]));
    raw.seek_for_prev("0495");
    assert_eq!(raw.value(), Some(&b"49"[..]));
    raw.seek_to_last();
    raw.next();
    assert!(!raw.valid() && raw.key().is_none());
    raw.status().unwrap();
    raw.seek_to_first();
    assert_eq!(raw.key(), Some(&b"000"[..]));
}

#[test]
fn snapshots() {
    let directory = Directory::new();
    let db = directory.open();
    db.put("k", "old").unwrap();
    let snapshot = db.snapshot();
    db.put("k", "new").unwrap();
    let options = ReadOptions { snapshot: Some(&snapshot), ..ReadOptions::default() };
    assert_eq!(db.get_with("k", &options).unwrap(), Some(b"old".to_vec()));
    let mut entries = db.iter_with(&options);
    drop(snapshot);
    assert_eq!(entries.next().unwrap().unwrap().1, b"old");
    assert!(entries.next().is_none() && entries.next().is_none());
    let elsewhere = Directory::new();
    let other = elsewhere.open();
    let snapshot = other.snapshot();
    let options = ReadOptions { snapshot: Some(&snapshot), ..ReadOptions::default() };
    assert!(matches!(db.get_with("k", &options), Err(Error::InvalidArgument(_))));
    assert!(matches!(db.iter_with(&options).next(), Some(Err(Error::InvalidArgument(_)))));
}

#[test]
fn merges() {
    let directory = Directory::new();
    let longest = |_: &[u8], base: Option<&[u8]>, operands: &[&[u8]]| {
        if operands.iter().any(|operand| operand == b"panic") {
            panic!("as asked");
        }
        operands.iter().copied().chain(base).max_by_key(|value| value.len()).map(<[u8]>::to_vec)
    };
    let longest = MergeOperator::new("longest", longest).unwrap();
    let options = Options::new().create_if_missing(true).merge_operator(&longest);
    let options = options.column_family("sums", &Options::new().merge_operator(&MergeOperator::add64())).unwrap();
    let db = Db::open(&options, &directory.0).unwrap();
    drop((longest, options));
    db.put("k", "ab").unwrap();
    db.merge("k", "abc").unwrap();
    db.merge("k", "a").unwrap();
    assert_eq!(db.get("k").unwrap(), Some(b"abc".to_vec()));
    let sums = db.column_family("sums").unwrap();
    let mut batch = WriteBatch::new();
    for i in 1..=4i64 {
        batch.merge_cf(&sums, "s", i.to_le_bytes());
    }
    db.write(&batch).unwrap();
    sums.merge("s", (-20i64).to_le_bytes()).unwrap();
    assert_eq!(sums.get("s").unwrap(), Some((-10i64).to_le_bytes().to_vec()));
    std::panic::set_hook(Box::new(|_| ()));
    db.merge("bad", "panic").unwrap();
    let read = db.get("bad");
    let _ = std::panic::take_hook();
    assert!(read.is_err());
    assert!(MergeOperator::built_in("sepal.Nothing").is_none());
}

#[test]
fn column_families() {
    let directory = Directory::new();
    let db = directory.open();
    let mail = db.create_column_family("mail", &Options::new().compression(Compression::Zstd)).unwrap();
    mail.put("1", "hello").unwrap();
    let mut batch = WriteBatch::new();
    batch.put_cf(&mail, "2", "x");
    batch.delete_cf(&mail, "1");
    batch.put("mails", "1");
    db.write(&batch).unwrap();
    batch.clear();
    batch.delete_range_cf(&mail, "3", Some(b"4"));
    db.write(&batch).unwrap();
    assert_eq!(mail.iter().count(), 1);
    assert_eq!(mail.multi_get(&["2", "mails"]), [Ok(Some(b"x".to_vec())), Ok(None)]);
    assert_eq!(db.column_family_names(), ["default", "mail"]);
    mail.compact_range(None, Some(b"9")).unwrap();
    db.drop_column_family(&mail).unwrap();
    assert!(matches!(mail.put("1", "x"), Err(Error::FailedPrecondition(_))));
    assert!(matches!(db.column_family("mail"), Err(Error::NotFound(_))));
    assert!(matches!(db.column_family("m\0"), Err(Error::InvalidArgument(_))));
}

#[test]
fn errors() {
    let directory = Directory::new();
    assert!(matches!(Db::open(&Options::new(), &directory.0), Err(Error::NotFound(_))));
    let db = directory.open();
    let locked = Db::open(&Options::new(), &directory.0).err().unwrap();
    assert!(matches!(locked, Error::Unavailable(_)), "{locked}");
    assert!(!locked.message().is_empty() && !locked.to_string().starts_with("UNAVAILABLE"));
    assert!(matches!(db.put(vec![b'k'; 17_000_000], "v"), Err(Error::InvalidArgument(_))));
    assert!(matches!(db.merge("k", "v"), Err(Error::InvalidArgument(_))));
    assert!(matches!(db.delete_range("z", Some(b"a")), Err(Error::InvalidArgument(_))));
    let exists = Options::new().create_if_missing(true).error_if_exists(true);
    db.close().unwrap();
    assert!(matches!(Db::open(&exists, &directory.0), Err(Error::AlreadyExists(_))));
    assert!(Options::new().text("no_such_option=1").is_err());
    let reader = Db::open(&Options::new().read_only(true), &directory.0).unwrap();
    assert!(matches!(reader.put("k", "v"), Err(Error::FailedPrecondition(_))));
}

#[test]
fn a_view_catches_up_by_a_call_and_by_itself() {
    let directory = Directory::new();
    let db = directory.open();
    let view = Db::open(&Options::new().read_only(true), &directory.0).unwrap();
    let follower = Db::open(&Options::new().read_only(true).follow(Duration::from_millis(1)), &directory.0).unwrap();
    db.put("k", "v").unwrap();
    assert_eq!(view.get("k").unwrap(), None);
    view.catch_up().unwrap();
    assert_eq!(view.get("k").unwrap().as_deref(), Some(&b"v"[..]));
    while follower.get("k").unwrap().is_none() {
        thread::yield_now();
    }
    assert!(matches!(db.catch_up(), Err(Error::FailedPrecondition(_))));
}

#[test]
fn threads() {
    let directory = Directory::new();
    let db = directory.open();
    thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let db = &db;
            scope.spawn(move || {
                for i in 0..500 {
                    db.put(format!("{name}{i}"), name).unwrap();
                    assert!(db.get(format!("{name}{i}")).unwrap().is_some());
                }
            });
        }
    });
    assert_eq!(db.iter().count(), 2000);
}

#[test]
fn maintenance() {
    let directory = Directory::new();
    let copy = Directory::new();
    let db = directory.open();
    for i in 0..1000 {
        db.put(format!("{i}"), "v").unwrap();
    }
    db.flush().unwrap();
    db.sync().unwrap();
    db.compact_range(None, None).unwrap();
    db.verify_checksums().unwrap();
    assert_eq!(db.property("sepal.num-entries").as_deref(), Some("1000"));
    assert_eq!(db.property("sepal.nothing"), None);
    db.checkpoint(&copy.0).unwrap();
    assert!(matches!(db.checkpoint(&copy.0), Err(Error::AlreadyExists(_))));
    assert_eq!(copy.open().iter().count(), 1000);
    drop(db);
    assert!(Db::repair(&Options::new(), &directory.0).unwrap().contains("nothing was wrong"));
    Db::destroy(&Options::new(), &directory.0).unwrap();
    assert!(!directory.0.exists());
    assert!(!sepal::version().is_empty());
}
