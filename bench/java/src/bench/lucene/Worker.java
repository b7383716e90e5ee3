package bench.lucene;

import bench.RawSync;
import bench.Report;
import bench.Shapes;
import bench.Suite;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.lucene.document.Document;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.Directory;
import org.apache.lucene.util.Version;

/**
 * Lucene at work in the same turns as the other engines: reads commands, answers each with a line of JSON
 * (bench/workers.py is the other end).
 *
 *   warm SECONDS CASE                                                cycles, terms and openings on throw-away indexes;
 *                                                                    each case of Corpora works for CASE seconds more
 *   open cycle ram|mmap|nrtcaching SHAPE BASE BATCH soft|hard
 *   open term ram|mmap RANK
 *   open opening ram|mmap
 *   open replay ram|nrtcaching soft|hard DATA
 *   open bulk CORPUS FILE DOCS - THREADS; open lookup ram|mmap SEGMENTS; open queries|deleted|first FILE DOCS - QUERIES;
 *   open kinds FILE DOCS - TERMS; open busy ram|mmap DOCS            see Corpora
 *   block N, answers, close (ends the case, not the process)
 *
 * Settings are Lucene's best for this work (Cycles.config(true)): merges in the caller, no wait for merges on a flush.
 */
public final class Worker {
  interface Case extends AutoCloseable {
    String block(int n) throws Exception;

    default String answers() throws Exception {
      return "{}";
    }
  }

  private final Path scratch;
  private Case open;

  private Worker(Path scratch) {
    this.scratch = scratch;
  }

  public static void main(String[] args) throws Exception {
    Worker worker = new Worker(Path.of(args[0]));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      System.out.println(worker.command(line.split(" ")));
      System.out.flush();
    }
    System.exit(0);
  }

  private String command(String[] w) throws Exception {
    switch (w[0]) {
      case "warm" -> {
        Corpora.warm = Integer.parseInt(w[2]) * 1_000_000_000L;
        warm(Integer.parseInt(w[1]) * 1_000_000_000L);
        return "{}";
      }
      case "open" -> {
        open = make(w);
        return "{\"version\": \"" + Version.LATEST + "\"}";
      }
      case "block" -> {
        return open.block(Integer.parseInt(w[1]));
      }
      case "answers" -> {
        return open.answers();
      }
      case "close" -> {
        open.close();
        open = null;
        return "{\"rss_kib\": " + Report.status("VmRSS") + ", \"peak_kib\": " + Report.status("VmHWM") + "}";
      }
      default -> throw new IllegalArgumentException(w[0]);
    }
  }

  private Case make(String[] w) throws Exception {
    return switch (w[1]) {
      case "cycle" -> new Cycle(w[2], w[3].charAt(0), Integer.parseInt(w[4]), Integer.parseInt(w[5]), w[6].equals("hard"));
      case "term" -> new OneTerm(w[2], Integer.parseInt(w[3]));
      case "opening" -> new Opening(w[2]);
      case "replay" -> new Tests(w[2], w[3].equals("hard"), w[4]);
      case "bulk" -> new Corpora.Bulk(scratch, w[2], w[3], Integer.parseInt(w[4]), Integer.parseInt(w[6]));
      case "lookup" -> new Corpora.Lookup(scratch, w[2], Integer.parseInt(w[3]));
      case "queries" -> new Corpora.Classes(scratch, w[2], Integer.parseInt(w[3]), w[5]);
      case "deleted" -> new Corpora.Deleted(scratch, w[2], Integer.parseInt(w[3]), w[5]);
      case "first" -> new Corpora.First(scratch, w[2], Integer.parseInt(w[3]), w[5]);
      case "kinds" -> new Corpora.Kinds(scratch, w[2], Integer.parseInt(w[3]), w[5]);
      case "busy" -> new Corpora.Busy(scratch, w[2], Integer.parseInt(w[3]));
      default -> throw new IllegalArgumentException(w[1]);
    };
  }

  /** Until the process has had that much of the processors, on a busy machine for at most four times as long. */
  private void warm(long nanos) throws Exception {
    long cpu = Report.processCpu() + nanos, least = System.nanoTime() + nanos, most = System.nanoTime() + 4 * nanos;
    while (System.nanoTime() < most && (System.nanoTime() < least || Report.processCpu() < cpu)) {
      for (char shape : new char[] {'A', 'B', 'C'})
        try (Cycle c = new Cycle("ram", shape, 0, 1, false)) {
          c.block(1000);
        }
      try (OneTerm c = new OneTerm("ram", 100)) {
        c.block(20_000);
      }
      try (Opening c = new Opening("ram")) {
        c.block(200);
      }
    }
  }

  private static String series(Map<String, long[]> all, int turns, long cpu, String more) {
    return all.entrySet().stream()
        .map(e -> "\"" + e.getKey() + "\": " + Arrays.toString(e.getValue()))
        .collect(Collectors.joining(", ", "{\"series\": {", "}, \"turns\": " + turns + ", \"cpu_ns\": " + cpu + more + "}"));
  }

  /** W1, W2. */
  private final class Cycle implements Case {
    private final Directory dir;
    private final IndexWriter writer;
    private final SearcherManager manager;
    private final Shapes random = new Shapes(2);
    private final RawSync floor;
    private final char shape;
    private final int batch;
    private int next;

    Cycle(String kind, char shape, int base, int batch, boolean hard) throws Exception {
      this.shape = shape;
      this.batch = batch;
      dir = Cycles.open(kind, scratch.resolve("index"));
      writer = new IndexWriter(dir, Cycles.config(true));
      Shapes s = new Shapes(1);
      while (next < base) writer.addDocument(Cycles.document(s.doc('B', "k" + next++)));
      if (base > 0) writer.forceMerge(1);
      if (base > 0) writer.commit();
      manager = new SearcherManager(writer, null);
      floor = hard ? new RawSync(scratch.resolve("raw")) : null;
    }

    @Override
    public String block(int n) throws Exception {
      Map<String, long[]> t = new LinkedHashMap<>();
      for (String name : new String[] {"cycle", "commit", "find"}) t.put(name, new long[n]);
      if (floor != null) t.put("floor", new long[n]);
      Shapes.Doc[][] docs = new Shapes.Doc[n][batch];
      for (Shapes.Doc[] part : docs) for (int j = 0; j < batch; j++) part[j] = random.doc(shape, "k" + next++);
      long written = Report.written(), cpu = Report.processCpu();
      for (int i = 0; i < n; i++) turn(docs[i], t, i);
      cpu = Report.processCpu() - cpu;
      written = Report.written() - written - (floor == null ? 0 : 4096L * n);
      return series(t, n, cpu, ", \"bytes\": " + written);
    }

    private void turn(Shapes.Doc[] docs, Map<String, long[]> t, int i) throws Exception {
      Term last = new Term("key", docs[batch - 1].key);
      long t0 = System.nanoTime();
      for (Shapes.Doc d : docs) writer.updateDocument(new Term("key", d.key), Cycles.document(d));
      long t1 = System.nanoTime();
      if (floor != null) writer.commit();
      manager.maybeRefreshBlocking();
      long t2 = System.nanoTime();
      IndexSearcher searcher = manager.acquire();
      long hits = searcher.search(new TermQuery(last), 1).totalHits.value();
      manager.release(searcher);
      long t3 = System.nanoTime();
      if (hits != 1) throw new AssertionError(last + ": " + hits + " hits");
      t.get("cycle")[i] = t3 - t0;
      t.get("commit")[i] = t2 - t1;
      t.get("find")[i] = t3 - t2;
      if (floor != null) t.get("floor")[i] = floor.once();
    }

    @Override
    public void close() throws IOException {
      manager.close();
      writer.close();
      dir.close();
      if (floor != null) floor.close();
    }
  }

  /** W12. */
  private final class OneTerm implements Case {
    private final Directory dir;
    private final DirectoryReader reader;
    private final IndexSearcher searcher;
    private final Term term;

    OneTerm(String kind, int rank) throws Exception {
      dir = Cycles.open(kind, scratch.resolve("term"));
      try (IndexWriter w = new IndexWriter(dir, Cycles.config(true))) {
        Shapes s = new Shapes(1);
        for (int i = 0; i < 1000; i++) w.addDocument(Cycles.document(s.doc('B', "k" + i)));
        w.forceMerge(1);
      }
      reader = DirectoryReader.open(dir);
      searcher = new IndexSearcher(reader);
      term = new Term("t0", Shapes.word(rank));
    }

    private String keys(TopDocs top) throws IOException {
      StringBuilder b = new StringBuilder();
      for (ScoreDoc d : top.scoreDocs)
        b.append(b.isEmpty() ? "\"" : ", \"").append(searcher.storedFields().document(d.doc).get("key")).append('"');
      return b.toString();
    }

    @Override
    public String answers() throws Exception {
      return "{\"total\": " + searcher.count(new TermQuery(term)) + ", \"keys\": [" + keys(searcher.search(new TermQuery(term), 10)) + "]}";
    }

    @Override
    public String block(int n) throws Exception {
      Map<String, long[]> t = new LinkedHashMap<>();
      t.put("search", new long[n]);
      t.put("with keys", new long[n]);
      long cpu = Report.processCpu();
      long sink = 0;
      for (int i = 0; i < n; i++) {
        long t0 = System.nanoTime();
        sink += searcher.search(new TermQuery(term), 10).scoreDocs.length;
        t.get("search")[i] = System.nanoTime() - t0;
      }
      cpu = Report.processCpu() - cpu;
      for (int i = 0; i < n; i++) {
        long t0 = System.nanoTime();
        sink += keys(searcher.search(new TermQuery(term), 10)).length();
        t.get("with keys")[i] = System.nanoTime() - t0;
      }
      if (sink == 0) throw new AssertionError("no hits");
      return series(t, n, cpu, "");
    }

    @Override
    public void close() throws IOException {
      reader.close();
      dir.close();
    }
  }

  /** W10: a writer and a reader, made and closed; in a folder an index of one document. */
  private final class Opening implements Case {
    private final String kind;
    private Directory kept;

    Opening(String kind) throws Exception {
      this.kind = kind;
      if (kind.equals("ram")) return;
      kept = Cycles.open(kind, scratch.resolve("one"));
      try (IndexWriter w = new IndexWriter(kept, Cycles.config(true))) {
        Document d = Cycles.document(new Shapes(1).doc('B', "k0"));
        w.addDocument(d);
      }
    }

    @Override
    public String block(int n) throws Exception {
      Map<String, long[]> t = new LinkedHashMap<>();
      t.put("open and close", new long[n]);
      long cpu = Report.processCpu();
      for (int i = 0; i < n; i++) {
        long t0 = System.nanoTime();
        Directory dir = kept != null ? kept : new org.apache.lucene.store.ByteBuffersDirectory();
        IndexWriter w = new IndexWriter(dir, Cycles.config(true));
        DirectoryReader r = DirectoryReader.open(w);
        r.close();
        w.close();
        if (kept == null) dir.close();
        t.get("open and close")[i] = System.nanoTime() - t0;
      }
      return series(t, n, Report.processCpu() - cpu, "");
    }

    @Override
    public void close() throws IOException {
      if (kept != null) kept.close();
    }
  }

  /** W3: a turn is one pass of all tests. */
  private final class Tests implements Case {
    private final Suite suite;
    private final Replay engine;
    private final boolean hard;

    Tests(String kind, boolean hard, String data) throws Exception {
      engine = new Replay(kind, scratch);
      suite = new Suite(engine, data);
      this.hard = hard;
    }

    @Override
    public String block(int n) throws Exception {
      Map<String, long[]> t = new LinkedHashMap<>();
      t.put("total", new long[n]);
      t.put("cpu", new long[n]);
      long cpu = Report.processCpu();
      for (int i = 0; i < n; i++) {
        long before = Report.processCpu();
        t.get("total")[i] = (long) (suite.pass(hard) * 1e9);
        t.get("cpu")[i] = Report.processCpu() - before;
      }
      return series(t, n, Report.processCpu() - cpu, "");
    }

    @Override
    public void close() throws IOException {
      engine.close();
    }
  }
}
