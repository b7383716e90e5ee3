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
import java.util.Random;
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
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.RegexpQuery;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.search.uhighlight.UnifiedHighlighter;
import org.apache.lucene.store.Directory;

/** The cases on large corpora and many segments: W5, W5t, W6, W7, W8, W9 and W11. Figures of queries are medians of three runs. */
final class Corpora {
  private static final long WARM = 20_000_000_000L;

  private Corpora() {}

  interface Step {
    long run() throws IOException;
  }

  private static long median(Step step) throws IOException {
    long[] t = new long[3];
    for (int i = 0; i < 3; i++) {
      long t0 = System.nanoTime();
      step.run();
      t[i] = System.nanoTime() - t0;
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

  private static Document text(JsonNode n, Field.Store store) {
    Document d = new Document();
    d.add(new StringField("key", n.get("id").asText(), Field.Store.YES));
    d.add(new TextField("title", n.get("title").asText(), store));
    d.add(new TextField("body", n.get("body").asText(), store));
    return d;
  }

  /** W5 and W5t: all documents of a file, one commit, one merge. Parsing is outside the clock. */
  static final class Bulk implements Worker.Case {
    private final Path scratch;
    private final String file;
    private final boolean taxi;

    Bulk(Path scratch, String corpus, String file) {
      this.scratch = scratch;
      this.file = file;
      taxi = corpus.equals("taxi");
    }

    @Override
    public String block(int n) throws Exception {
      List<Long> bulk = new ArrayList<>(), merge = new ArrayList<>();
      long docs = 0;
      String figures = "";
      for (int i = 0; i < n; i++) {
        Path path = scratch.resolve("bulk");
        long written = Report.written(), spent = 0;
        double size;
        try (Directory dir = Cycles.open("mmap", path); Jsonl in = new Jsonl(file); IndexWriter w = new IndexWriter(dir, large())) {
          for (List<JsonNode> chunk; !(chunk = in.chunk(10_000)).isEmpty(); ) {
            List<Taxi.Row> rows = new ArrayList<>();
            if (taxi) for (JsonNode r : chunk) rows.add(Taxi.taxi(r));
            long t = System.nanoTime();
            if (taxi) for (Taxi.Row r : rows) w.addDocument(Taxi.taxiDocument(r));
            else for (JsonNode r : chunk) w.addDocument(text(r, Field.Store.NO));
            spent += System.nanoTime() - t;
            docs += chunk.size();
          }
          long t = System.nanoTime();
          w.commit();
          bulk.add(spent + System.nanoTime() - t);
          size = Report.treeBytes(path) / 1e6;
          t = System.nanoTime();
          w.forceMerge(1);
          w.commit();
          merge.add(System.nanoTime() - t);
        }
        figures = String.format(java.util.Locale.ROOT, ", \"figures\": {\"MB\": %.3f, \"MB merged\": %.3f, \"MB written\": %.3f, \"MiB peak\": %.1f}",
            size, Report.treeBytes(path) / 1e6, (Report.written() - written) / 1e6, Report.status("VmHWM") / 1024.);
      }
      Map<String, List<Long>> series = new LinkedHashMap<>();
      series.put(taxi ? "ingest" : "bulk", bulk);
      series.put("merge", merge);
      return answer(series, n, ", \"docs\": " + docs + figures);
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

  /** An index of the wiki's first documents, merged to one segment, with the columns of W8 if asked for. */
  private abstract static class Wiki implements Worker.Case {
    final Directory dir;
    final IndexWriter writer;
    final FacetsConfig facets = new FacetsConfig();
    final List<String> keys = new ArrayList<>();
    DirectoryReader reader;
    IndexSearcher searcher;

    Wiki(Path scratch, String file, boolean kinds) throws Exception {
      facets.setIndexFieldName("f50", "f50");
      facets.setIndexFieldName("f10k", "f10k");
      dir = Cycles.open("mmap", scratch.resolve("wiki"));
      writer = new IndexWriter(dir, large());
      try (Jsonl in = new Jsonl(file)) {
        for (List<JsonNode> chunk; !(chunk = in.chunk(10_000)).isEmpty(); )
          for (JsonNode n : chunk) {
            Document d = text(n, kinds ? Field.Store.YES : Field.Store.NO);
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
      d.add(new SortedSetDocValuesFacetField("f50", "v" + Long.remainderUnsigned(z, 50)));
      d.add(new SortedSetDocValuesFacetField("f10k", "v" + Long.remainderUnsigned(z, 10_000)));
    }

    final void open() throws IOException {
      if (reader != null) reader.close();
      reader = DirectoryReader.open(dir);
      searcher = new IndexSearcher(reader);
      searcher.setQueryCache(null);
    }

    @Override
    public void close() throws IOException {
      reader.close();
      writer.close();
      dir.close();
    }
  }

  /** W7, and with `deleted` W11. The queries are a file of [class, text] lines written by bench/corpora.py. */
  static final class Classes extends Wiki {
    private final List<String[]> queries = new ArrayList<>();
    private final boolean deleted;

    Classes(Path scratch, String file, String queryFile, boolean deleted) throws Exception {
      super(scratch, file, false);
      this.deleted = deleted;
      try (Jsonl in = new Jsonl(queryFile)) {
        for (JsonNode n : in.chunk(Integer.MAX_VALUE)) queries.add(new String[] {n.get(0).asText(), n.get(1).asText()});
      }
      long until = System.nanoTime() + WARM;
      while (System.nanoTime() < until)
        for (String[] q : queries) for (Queries.Mode m : Queries.Mode.values()) Queries.run(searcher, Queries.parse(q[1]), m);
    }

    @Override
    public String answers() throws Exception {
      Map<String, Long> counts = new TreeMap<>();
      for (String[] q : queries) counts.put(q[1], (long) searcher.count(Queries.parse(q[1])));
      return "{\"counts\": " + new ObjectMapper().writeValueAsString(counts) + "}";
    }

    private double sum(Queries.Mode mode) throws IOException {
      double total = 0;
      for (String[] q : queries) {
        Query parsed = Queries.parse(q[1]);
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) least = Math.min(least, median(() -> Queries.run(searcher, parsed, mode)));
        total += least;
      }
      return total;
    }

    private String slower(int n) throws IOException {
      double top = sum(Queries.Mode.TOP_10), count = sum(Queries.Mode.COUNT);
      List<String> some = new ArrayList<>(keys);
      Collections.shuffle(some, new Random(11));
      for (String key : some.subList(0, keys.size() * 3 / 10)) writer.deleteDocuments(new Term("key", key));
      writer.commit();
      open();
      return String.format(java.util.Locale.ROOT, "{\"series\": {}, \"turns\": %d, \"figures\": {\"slower TOP_10\": %.3f, \"slower COUNT\": %.3f}}", n,
          sum(Queries.Mode.TOP_10) / top, sum(Queries.Mode.COUNT) / count);
    }

    @Override
    public String block(int n) throws Exception {
      if (deleted) return slower(n);
      Map<String, List<Long>> series = new LinkedHashMap<>();
      for (Queries.Mode mode : Queries.Mode.values())
        for (String[] q : queries) {
          Query parsed = Queries.parse(q[1]);
          series.computeIfAbsent(mode + " " + q[0], k -> new ArrayList<>()).add(median(() -> Queries.run(searcher, parsed, mode)));
        }
      return answer(series, n, "");
    }
  }

  /** W8. The terms are those of bench/corpora.py: {"high": [...], "med": [...]}. */
  static final class Kinds extends Wiki {
    private final Map<String, List<Step>> steps = new LinkedHashMap<>();

    Kinds(Path scratch, String file, String termFile) throws Exception {
      super(scratch, file, true);
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
      Shapes random = new Shapes(6);
      for (int i = 0; i < 500; i++) {
        String key = keys.get(random.below(keys.size()));
        step("get by key, stored fields",
            () -> reader.storedFields().document(searcher.search(new TermQuery(new Term("key", key)), 1).scoreDocs[0].doc).getFields().size());
      }
      UnifiedHighlighter highlighter = UnifiedHighlighter.builder(searcher, new StandardAnalyzer()).build();
      for (int i = 0; i < Math.min(high.size(), med.size()); i++) {
        Query q = Queries.parse("+" + high.get(i) + " +" + med.get(i));
        TopDocs found = searcher.search(q, 10);
        step("ten passages", () -> highlighter.highlight("body", q, found, 1).length);
      }
      long until = System.nanoTime() + WARM;
      while (System.nanoTime() < until) for (List<Step> all : steps.values()) for (Step s : all) s.run();
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

    private void facets(List<String> high) throws IOException {
      for (String f : new String[] {"f50", "f10k"}) {
        String values = f.equals("f50") ? "facet of 50" : "facet of 10,000";
        var state = new DefaultSortedSetDocValuesReaderState(reader, f, facets);
        for (String t : high) step("frequent term, " + values, () -> count(state, f, new TermQuery(term(t))));
        step("all, " + values, () -> count(state, f, new MatchAllDocsQuery()));
      }
    }

    private long count(DefaultSortedSetDocValuesReaderState state, String f, Query q) throws IOException {
      FacetsCollector c = searcher.search(q, new FacetsCollectorManager());
      return new SortedSetDocValuesFacetCounts(state, c).getTopChildren(10, f).childCount;
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
      block(20_000);
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
      for (Term t : terms) {
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
