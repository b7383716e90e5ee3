package bench.lucene;

import bench.Jsonl;
import bench.Report;
import bench.Shapes;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntField;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.facet.FacetsCollector;
import org.apache.lucene.facet.FacetsCollectorManager;
import org.apache.lucene.facet.FacetsConfig;
import org.apache.lucene.facet.sortedset.DefaultSortedSetDocValuesReaderState;
import org.apache.lucene.facet.sortedset.SortedSetDocValuesFacetCounts;
import org.apache.lucene.facet.sortedset.SortedSetDocValuesFacetField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.NoMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.RegexpQuery;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.search.uhighlight.UnifiedHighlighter;
import org.apache.lucene.store.Directory;

/** The cases on large corpora and many segments: W5, W5t, W6, W7, W8, W9 and W11. Figures of queries are medians of three runs, of slow ones the better of two. */
final class Corpora {
  /** A search that takes longer is run twice a block, not three times. */
  private static final long SLOW = 5_000_000;
  /** How long each case works before it counts, besides what the process did before; set by the command warm. */
  static long warm = 20_000_000_000L;

  private Corpora() {}

  interface Step {
    long run() throws IOException;
  }

  private static long once(Step step) throws IOException {
    long t0 = System.nanoTime();
    step.run();
    return System.nanoTime() - t0;
  }

  private static long median(Step step) throws IOException {
    long[] t = new long[3];
    for (int i = 0; i < 3; i++) {
      t[i] = once(step);
      if (i == 1 && Math.min(t[0], t[1]) > SLOW) return Math.min(t[0], t[1]);
    }
    Arrays.sort(t);
    return t[1];
  }

  private static String list(List<Long> values) {
    return values.toString();
  }

  private static String answer(Map<String, List<Long>> series, int turns, String more) {
    StringBuilder b = new StringBuilder("{\"series\": {");
    String comma = "";
    for (var e : series.entrySet()) {
      b.append(comma).append('"').append(e.getKey()).append("\": ").append(list(e.getValue()));
      comma = ", ";
    }
    return b.append("}, \"turns\": ").append(turns).append(more).append('}').toString();
  }

  private static IndexWriterConfig large() {
    return Cycles.config(true).setRAMBufferSizeMB(256);
  }

  /** Of each corpus the names of the two texts; they become "title" and "body". */
  private static final Map<String, String[]> TEXTS = Map.of("wiki", new String[] {"title", "body"},
      "packages", new String[] {"summary", "description"}, "rfc", new String[] {"title", "text"});

  private static Document text(JsonNode n, String corpus, Field.Store store) {
    Document d = new Document();
    String[] names = TEXTS.get(corpus);
    d.add(new StringField("key", n.get("id").asText(), Field.Store.YES));
    d.add(new TextField("title", n.get(names[0]).asText(), store));
    d.add(new TextField("body", n.get(names[1]).asText(), store));
    return d;
  }

  /** W5 and W5t: all documents of a file, one commit, one merge. Parsing is outside the clock. */
  static final class Bulk implements Worker.Case {
    private final Path scratch;
    private final String corpus, file;
    private final int docs, threads;

    Bulk(Path scratch, String corpus, String file, int docs, int threads) {
      this.scratch = scratch;
      this.corpus = corpus;
      this.file = file;
      this.docs = docs;
      this.threads = threads;
    }

    /** Documents from..to of a chunk; rows are parsed already. */
    private void add(IndexWriter w, List<?> rows, int from, int to) throws IOException {
      for (Object r : rows.subList(from, to))
        w.addDocument(r instanceof Taxi.Row row ? Taxi.taxiDocument(row) : text((JsonNode) r, corpus, Field.Store.NO));
    }

    private long addAll(IndexWriter w, List<?> rows) throws Exception {
      long t = System.nanoTime();
      List<Thread> others = new ArrayList<>();
      List<Exception> faults = Collections.synchronizedList(new ArrayList<>());
      for (int i = 1; i < threads; i++) {
        int from = rows.size() * i / threads, to = rows.size() * (i + 1) / threads;
        others.add(new Thread(() -> {
          try {
            add(w, rows, from, to);
          } catch (IOException e) {
            faults.add(e);
          }
        }));
      }
      others.forEach(Thread::start);
      add(w, rows, 0, rows.size() / threads);
      for (Thread other : others) other.join();
      if (!faults.isEmpty()) throw faults.get(0);
      return System.nanoTime() - t;
    }

    @Override
    public String block(int n) throws Exception {
      List<Long> bulk = new ArrayList<>(), whole = new ArrayList<>();
      long done = 0;
      String figures = "";
      for (int i = 0; i < n; i++) {
        Path path = scratch.resolve("bulk");
        long written = Report.written(), spent = 0;
        double size;
        try (Directory dir = Cycles.open("mmap", path); Jsonl in = new Jsonl(file, docs); IndexWriter w = new IndexWriter(dir, large())) {
          for (List<JsonNode> chunk; !(chunk = in.chunk(10_000)).isEmpty(); ) {
            List<Taxi.Row> rows = new ArrayList<>();
            if (corpus.equals("taxi")) for (JsonNode r : chunk) rows.add(Taxi.taxi(r));
            spent += addAll(w, rows.isEmpty() ? chunk : rows);
            done += chunk.size();
          }
          spent += once(() -> w.commit());
          bulk.add(spent);
          size = Report.treeBytes(path) / 1e6;
          whole.add(spent + once(() -> {
            w.forceMerge(1);
            return w.commit();
          }));
        }
        figures = String.format(java.util.Locale.ROOT, ", \"figures\": {\"MB\": %.3f, \"MB merged\": %.3f, \"MB written\": %.3f, \"MiB peak\": %.1f}",
            size, Report.treeBytes(path) / 1e6, (Report.written() - written) / 1e6, Report.status("VmHWM") / 1024.);
      }
      Map<String, List<Long>> series = new LinkedHashMap<>();
      series.put("bulk", bulk);
      series.put("whole", whole);
      return answer(series, n, ", \"docs\": " + done + figures);
    }

    @Override
    public void close() {}
  }

  /** W6: one-term queries on keys over a number of segments without key ranges, and updates of existing keys. */
  static final class Lookup implements Worker.Case {
    private static final int KEYS = 100_000;
    private final Directory dir;
    private final DirectoryReader reader;
    private final IndexSearcher searcher;
    private final Shapes random = new Shapes(4);

    Lookup(Path scratch, String kind, int segments) throws Exception {
      dir = Cycles.open(kind, scratch.resolve("keys"));
      Shapes s = new Shapes(1);
      IndexWriterConfig c = Cycles.config(true).setMergePolicy(NoMergePolicy.INSTANCE).setRAMBufferSizeMB(256);
      try (IndexWriter w = new IndexWriter(dir, c)) {
        int per = (KEYS + segments - 1) / segments;
        for (int i = 0; i < KEYS; i++) {
          w.addDocument(Cycles.document(s.doc('A', key(i))));
          if ((i + 1) % per == 0) w.flush();
        }
      }
      reader = DirectoryReader.open(dir);
      if (reader.leaves().size() != segments) throw new IllegalStateException(reader.leaves().size() + " segments");
      searcher = new IndexSearcher(reader);
      block(20_000);
    }

    private static String key(int i) {
      return String.format("%016x", Shapes.mix(i + 1L));
    }

    @Override
    public String block(int n) throws Exception {
      Map<String, List<Long>> series = new LinkedHashMap<>();
      for (boolean hit : new boolean[] {true, false}) {
        List<Long> times = new ArrayList<>(n);
        series.put(hit ? "hit" : "miss", times);
        for (int i = 0; i < n; i++) {
          Term t = new Term("key", key(random.below(KEYS) + (hit ? 0 : 1_000_000)));
          long t0 = System.nanoTime();
          int found = searcher.search(new TermQuery(t), 1).scoreDocs.length;
          times.add(System.nanoTime() - t0);
          if (found != (hit ? 1 : 0)) throw new AssertionError(t + ": " + found);
        }
      }
      return answer(series, n, "");
    }

    @Override
    public void close() throws IOException {
      reader.close();
      dir.close();
    }
  }

  private static final Map<String, Long> FACETS = new TreeMap<>(Map.of("f50", 50L, "f10k", 10_000L, "f1m", 1_000_000L));

  /** An index of the wiki's first documents, merged to one segment, with the columns of W8 if asked for. */
  private abstract static class Wiki implements Worker.Case {
    final Directory dir;
    final IndexWriter writer;
    final FacetsConfig facets = new FacetsConfig();
    final List<String> keys = new ArrayList<>();
    DirectoryReader reader;
    IndexSearcher searcher;

    Wiki(Path scratch, String file, int docs, boolean kinds) throws Exception {
      for (String name : FACETS.keySet()) facets.setIndexFieldName(name, name);
      dir = Cycles.open("mmap", scratch.resolve("wiki"));
      writer = new IndexWriter(dir, large());
      try (Jsonl in = new Jsonl(file, docs)) {
        for (List<JsonNode> chunk; !(chunk = in.chunk(10_000)).isEmpty(); )
          for (JsonNode n : chunk) {
            Document d = text(n, "wiki", kinds ? Field.Store.YES : Field.Store.NO);
            if (kinds) columns(d, n);
            keys.add(n.get("id").asText());
            writer.addDocument(kinds ? facets.build(d) : d);
          }
      }
      writer.forceMerge(1);
      writer.commit();
      open();
    }

    private void columns(Document d, JsonNode n) {
      long z = Shapes.mix(keys.size() + 1L);
      d.add(new IntField("time_sec", n.get("time_sec").asInt(), Field.Store.NO));
      d.add(new NumericDocValuesField("views", n.get("views").asInt()));
      d.add(new StringField("filter", "v" + Long.remainderUnsigned(z, 50), Field.Store.NO));
      FACETS.forEach((name, values) -> d.add(new SortedSetDocValuesFacetField(name, "v" + Long.remainderUnsigned(z, values))));
    }

    final void open() throws IOException {
      if (reader != null) reader.close();
      reader = DirectoryReader.open(dir);
      searcher = new IndexSearcher(reader);
      searcher.setQueryCache(null);
    }

    final void work(Step step) throws IOException {
      long until = System.nanoTime() + warm;
      do step.run();
      while (System.nanoTime() < until);
    }

    @Override
    public void close() throws IOException {
      reader.close();
      writer.close();
      dir.close();
    }
  }

  /** The queries of a file of [class, text] lines written by bench/corpora.py. */
  private abstract static class Searched extends Wiki {
    record Asked(String kind, String text, Query query) {}

    final List<Asked> queries = new ArrayList<>();

    Searched(Path scratch, String file, int docs, String queryFile) throws Exception {
      super(scratch, file, docs, false);
      try (Jsonl in = new Jsonl(queryFile)) {
        for (JsonNode n : in.chunk(Integer.MAX_VALUE)) queries.add(new Asked(n.get(0).asText(), n.get(1).asText(), Queries.parse(n.get(1).asText())));
      }
      work(() -> {
        for (Asked q : queries) for (Queries.Mode m : Queries.Mode.values()) Queries.run(searcher, q.query(), m);
        return 0;
      });
    }

    @Override
    public String answers() throws Exception {
      Map<String, List<Object>> tops = new TreeMap<>();
      for (Asked q : queries) {
        List<Object> top = new ArrayList<>(List.of((long) searcher.count(q.query())));
        for (ScoreDoc d : searcher.search(q.query(), 10).scoreDocs) top.add(List.of(searcher.storedFields().document(d.doc).get("key"), d.score));
        tops.put(q.text(), top);
      }
      return new ObjectMapper().writeValueAsString(Map.of("tops", tops));
    }
  }

  /** W7. */
  static final class Classes extends Searched {
    Classes(Path scratch, String file, int docs, String queryFile) throws Exception {
      super(scratch, file, docs, queryFile);
    }

    @Override
    public String block(int n) throws Exception {
      Map<String, List<Long>> series = new LinkedHashMap<>();
      for (Queries.Mode mode : Queries.Mode.values())
        for (Asked q : queries)
          series.computeIfAbsent(mode + " " + q.kind(), k -> new ArrayList<>()).add(median(() -> Queries.run(searcher, q.query(), mode)));
      return answer(series, n, "");
    }
  }

  /** W11: after the first block's deletes a searcher of before them and one of after take turns. */
  static final class Deleted extends Searched {
    private IndexSearcher before;

    Deleted(Path scratch, String file, int docs, String queryFile) throws Exception {
      super(scratch, file, docs, queryFile);
    }

    private void delete() throws IOException {
      for (int i = 0; i < keys.size(); i++)
        if (Long.remainderUnsigned(Shapes.mix(i + 11L), 10) < 3) writer.deleteDocuments(new Term("key", keys.get(i)));
      writer.commit();
      before = searcher;
      reader = DirectoryReader.open(dir);
      searcher = new IndexSearcher(reader);
      searcher.setQueryCache(null);
    }

    private double slower(Queries.Mode mode) throws IOException {
      double[] sums = new double[2];
      for (Asked q : queries) {
        long[] least = {Long.MAX_VALUE, Long.MAX_VALUE};
        for (int run = 0; run < 6; run++) {
          IndexSearcher one = run % 2 == 0 ? before : searcher;
          least[run % 2] = Math.min(least[run % 2], once(() -> Queries.run(one, q.query(), mode)));
        }
        for (int i = 0; i < 2; i++) sums[i] += least[i];
      }
      return sums[1] / sums[0];
    }

    @Override
    public String block(int n) throws Exception {
      if (before == null) {
        delete();
        work(() -> (long) (slower(Queries.Mode.TOP_10) + slower(Queries.Mode.COUNT)));
      }
      return String.format(java.util.Locale.ROOT, "{\"series\": {}, \"turns\": %d, \"figures\": {\"slower TOP_10\": %.4f, \"slower COUNT\": %.4f}}", n,
          slower(Queries.Mode.TOP_10), slower(Queries.Mode.COUNT));
    }

    @Override
    public void close() throws IOException {
      if (before != null) before.getIndexReader().close();
      super.close();
    }
  }

  /** W10: opens the folder, runs one query and closes it. */
  static final class First extends Searched {
    private int turn;

    First(Path scratch, String file, int docs, String queryFile) throws Exception {
      super(scratch, file, docs, queryFile);
    }

    @Override
    public String block(int n) throws Exception {
      Map<String, List<Long>> series = new LinkedHashMap<>();
      for (String name : new String[] {"open", "first", "both"}) series.put(name, new ArrayList<>());
      for (int i = 0; i < n; i++) {
        Query q = queries.get(turn++ % queries.size()).query();
        long t0 = System.nanoTime();
        try (DirectoryReader r = DirectoryReader.open(dir)) {
          long t1 = System.nanoTime();
          Queries.run(new IndexSearcher(r), q, Queries.Mode.TOP_10);
          long t2 = System.nanoTime();
          series.get("open").add(t1 - t0);
          series.get("first").add(t2 - t1);
          series.get("both").add(t2 - t0);
        }
      }
      return answer(series, n, "");
    }
  }

  /** W8. The terms are those of bench/corpora.py: {"high": [...], "med": [...]}. */
  static final class Kinds extends Wiki {
    private final Map<String, List<Step>> steps = new LinkedHashMap<>();

    Kinds(Path scratch, String file, int docs, String termFile) throws Exception {
      super(scratch, file, docs, true);
      JsonNode terms = new ObjectMapper().readTree(new File(termFile));
      List<String> high = new ArrayList<>(), med = new ArrayList<>();
      terms.get("high").forEach(t -> high.add(t.asText()));
      terms.get("med").forEach(t -> med.add(t.asText()));
      List<String> both = new ArrayList<>(high);
      both.addAll(med);
      for (String t : both) {
        int e = t.length() - 1;
        Query prefix = new PrefixQuery(term(t.substring(0, 3)));
        top("prefix, top 10", prefix);
        step("prefix, count", () -> searcher.count(prefix));
        top("wildcard, top 10", new WildcardQuery(term(t.substring(0, 2) + "*" + t.charAt(e - 1) + "?")));
        top("fuzzy 1, top 10", new FuzzyQuery(term(t), 1));
        top("fuzzy 2, top 10", new FuzzyQuery(term(t), 2));
        top("regexp, top 10", new RegexpQuery(term(t.substring(0, 2) + "[a-m]+" + t.charAt(e))));
      }
      for (int a = 0; a < 75000; a += 7500) {
        Query range = IntField.newRangeQuery("time_sec", a, a + 8639);
        step("range, count", () -> searcher.count(range));
        top("range, top 10", range);
      }
      Sort byViews = new Sort(new SortField("views", SortField.Type.INT, true));
      for (String t : high) step("frequent term by views, top 10", () -> searcher.search(new TermQuery(term(t)), 10, byViews).totalHits.value());
      facets(high);
      for (String t : high) filtered("frequent term, filter, top 10", t);
      Shapes random = new Shapes(6);
      for (int i = 0; i < 500; i++) {
        String key = keys.get(random.below(keys.size()));
        step("get by key, stored fields",
            () -> reader.storedFields().document(searcher.search(new TermQuery(new Term("key", key)), 1).scoreDocs[0].doc).getFields().size());
      }
      for (String t : high) {
        ScoreDoc[] ten = searcher.search(new TermQuery(term(t)), 10).scoreDocs;
        step("stored fields of ten hits", () -> {
          long fields = 0;
          for (ScoreDoc d : ten) fields += reader.storedFields().document(d.doc).getFields().size();
          return fields;
        });
      }
      UnifiedHighlighter highlighter = UnifiedHighlighter.builder(searcher, new StandardAnalyzer()).build();
      for (int i = 0; i < Math.min(high.size(), med.size()); i++) {
        Query q = Queries.parse("+" + high.get(i) + " +" + med.get(i));
        TopDocs found = searcher.search(q, 10);
        step("ten passages", () -> highlighter.highlight("body", q, found, 1).length);
      }
      work(() -> {
        for (List<Step> all : steps.values()) for (Step s : all) s.run();
        return 0;
      });
    }

    private static Term term(String t) {
      return new Term("body", t);
    }

    private void step(String name, Step step) {
      steps.computeIfAbsent(name, k -> new ArrayList<>()).add(step);
    }

    private void top(String name, Query q) {
      step(name, () -> Queries.top(searcher, q, 10, 10).scoreDocs.length);
    }

    private void filtered(String name, String t) {
      Query q = new BooleanQuery.Builder().add(new TermQuery(term(t)), BooleanClause.Occur.MUST)
          .add(new TermQuery(new Term("filter", "v7")), BooleanClause.Occur.FILTER).build();
      step(name, () -> Queries.top(searcher, q, 10, Integer.MAX_VALUE).totalHits.value());
    }

    private void facets(List<String> high) throws IOException {
      for (String f : FACETS.keySet()) {
        String values = String.format(java.util.Locale.ROOT, "facet of %,d", FACETS.get(f));
        var state = new DefaultSortedSetDocValuesReaderState(reader, f, facets);
        for (String t : high) step("frequent term, " + values, () -> count(state, f, new TermQuery(term(t))));
        step("all, " + values, () -> sum(new SortedSetDocValuesFacetCounts(state), f));
      }
    }

    private long count(DefaultSortedSetDocValuesReaderState state, String f, Query q) throws IOException {
      FacetsCollector c = searcher.search(q, new FacetsCollectorManager());
      return sum(new SortedSetDocValuesFacetCounts(state, c), f);
    }

    /** Of the counts of the ten most frequent values. */
    private static long sum(SortedSetDocValuesFacetCounts counts, String f) throws IOException {
      long total = 0;
      for (var value : counts.getTopChildren(10, f).labelValues) total += value.value.longValue();
      return total;
    }

    /** What each search found: hits, the exact count, or the sum of facet counts. */
    @Override
    public String answers() throws Exception {
      Map<String, List<Long>> found = new TreeMap<>();
      for (var e : steps.entrySet()) {
        List<Long> each = new ArrayList<>();
        for (Step s : e.getValue()) each.add(s.run());
        found.put(e.getKey(), each);
      }
      return new ObjectMapper().writeValueAsString(found);
    }

    @Override
    public String block(int n) throws Exception {
      Map<String, List<Long>> series = new LinkedHashMap<>();
      for (var e : steps.entrySet()) {
        List<Long> times = new ArrayList<>();
        for (Step s : e.getValue()) times.add(median(s));
        series.put(e.getKey(), times);
      }
      return answer(series, n, "");
    }
  }

  /** W9: one-term queries while a thread adds 1,000 documents a second and makes them visible ten at a time. */
  static final class Busy implements Worker.Case {
    /** Nanoseconds from search to search: the writer shall have its time. */
    private static final long PACE = 100_000;
    private final Directory dir;
    private final IndexWriter writer;
    private final SearcherManager manager;
    private final Shapes random = new Shapes(2);
    private volatile boolean stop;
    private int next;

    Busy(Path scratch, String kind, int docs) throws Exception {
      dir = Cycles.open(kind, scratch.resolve("busy"));
      writer = new IndexWriter(dir, Cycles.config(true));
      Shapes s = new Shapes(1);
      while (next < docs) writer.addDocument(Cycles.document(s.doc('B', "k" + next++)));
      writer.forceMerge(1);
      writer.commit();
      manager = new SearcherManager(writer, null);
      for (long until = System.nanoTime() + warm; System.nanoTime() < until; ) block(10_000);
    }

    @Override
    public String block(int n) throws Exception {
      Shapes.Doc[] docs = new Shapes.Doc[60_000];
      for (int i = 0; i < docs.length; i++) docs[i] = random.doc('B', "k" + next++);
      Term[] terms = new Term[n];
      for (int i = 0; i < n; i++) terms[i] = new Term("t0", Shapes.word(random.rank(Shapes.VOCABULARY)));
      Thread thread = new Thread(() -> write(docs));
      List<Long> times = new ArrayList<>(n);
      thread.start();
      long due = System.nanoTime();
      for (Term t : terms) {
        for (due += PACE; System.nanoTime() < due; ) Thread.onSpinWait();
        long t0 = System.nanoTime();
        IndexSearcher s = manager.acquire();
        s.search(new TermQuery(t), 10);
        manager.release(s);
        times.add(System.nanoTime() - t0);
      }
      stop = true;
      thread.join();
      stop = false;
      Map<String, List<Long>> series = new LinkedHashMap<>();
      series.put("search", times);
      return answer(series, n, "");
    }

    private void write(Shapes.Doc[] docs) {
      try {
        long began = System.nanoTime();
        for (int i = 0; i < docs.length && !stop; i += 10) {
          long wait = began + i * 1_000_000L - System.nanoTime();
          if (wait > 0) Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
          for (int j = i; j < i + 10; j++) writer.updateDocument(new Term("key", docs[j].key), Cycles.document(docs[j]));
          manager.maybeRefreshBlocking();
        }
      } catch (InterruptedException | IOException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void close() throws IOException {
      manager.close();
      writer.close();
      dir.close();
    }
  }
}
