package bench.lucene;

import bench.Jsonl;
import bench.Report;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPOutputStream;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.Version;

/** W7: query classes over the body field of a merged index. */
public final class Queries {
  enum Mode {
    TOP_10, TOP_100, TOP_1000, TOP_100_COUNT, COUNT
  }

  static final int RUNS = 11;
  private static final Pattern CLAUSE = Pattern.compile("([+-]?)(?:\"([^\"]*)\"|(\\S+))");

  public static void main(String[] args) throws Exception {
    String index = args[0], queries = args[1], parity = args[2], variant = args[3], results = args[4];
    Map<String, List<String>> classes = new LinkedHashMap<>();
    try (Report report = new Report(results, "lucene", Version.LATEST.toString()); MMapDirectory dir = new MMapDirectory(Path.of(index));
        DirectoryReader reader = DirectoryReader.open(dir)) {
      if (reader.leaves().size() != 1) throw new IllegalStateException("merge the index first");
      IndexSearcher searcher = new IndexSearcher(reader);
      searcher.setQueryCache(null);
      try (Jsonl in = new Jsonl(queries)) {
        for (JsonNode n : in.chunk(Integer.MAX_VALUE)) {
          String name = n.get("tags").get(0).asText();
          if (!name.equals("term") && !name.startsWith("two-phase")) classes.computeIfAbsent(name, k -> new ArrayList<>()).add(n.get("query").asText());
        }
      }
      classes.put("the", List.of("the"));
      terms(reader, classes);
      long until = System.nanoTime() + 20_000_000_000L;
      while (System.nanoTime() < until)
        for (List<String> list : classes.values()) for (String q : list) for (Mode m : Mode.values()) run(searcher, parse(q), m);
      for (Mode mode : Mode.values()) {
        Map<String, double[][]> times = new LinkedHashMap<>();
        classes.forEach((k, v) -> times.put(k, new double[v.size()][RUNS]));
        for (int r = -1; r < RUNS; r++)
          for (var c : classes.entrySet())
            for (int i = 0; i < c.getValue().size(); i++) {
              Query q = parse(c.getValue().get(i));
              long t = System.nanoTime();
              run(searcher, q, mode);
              t = System.nanoTime() - t;
              if (r >= 0) times.get(c.getKey())[i][r] = t / 1e3;
            }
        for (var c : times.entrySet()) {
          double[] median = new double[c.getValue().length], least = new double[median.length];
          for (int i = 0; i < median.length; i++) {
            double[] t = c.getValue()[i];
            Arrays.sort(t);
            least[i] = t[0];
            median[i] = t[(t.length - 1) / 2];
          }
          report.dist("W7", variant + "/" + c.getKey() + "/" + mode, "query_min_of_" + RUNS, "us", least);
          report.dist("W7", variant + "/" + c.getKey() + "/" + mode, "query_median_of_" + RUNS, "us", median);
        }
      }
      parity(searcher, classes, parity);
    }
  }

  /** Three classes of 50 single terms, chosen by document frequency so that another engine finds the same ones. */
  static void terms(IndexReader reader, Map<String, List<String>> classes) throws IOException {
    int n = reader.maxDoc();
    classes.put("term-high", pick(reader, n / 20, n));
    classes.put("term-med", pick(reader, n / 1000, n / 100));
    classes.put("term-low", pick(reader, 10, 100));
  }

  /** Terms of 3 or more characters a-z with lo <= df < hi in byte order; of these 50, evenly spaced. */
  static List<String> pick(IndexReader reader, int lo, int hi) throws IOException {
    List<String> all = new ArrayList<>();
    TermsEnum e = reader.leaves().get(0).reader().terms("body").iterator();
    for (BytesRef t; (t = e.next()) != null; ) {
      if (e.docFreq() < lo || e.docFreq() >= hi) continue;
      String s = t.utf8ToString();
      if (s.matches("[a-z]{3,}")) all.add(s);
    }
    List<String> some = new ArrayList<>();
    for (int i = 0; i < 50 && i < all.size(); i++) some.add(all.get((int) ((long) i * all.size() / Math.min(50, all.size()))));
    return some;
  }

  static Query parse(String text) {
    List<BooleanClause> clauses = new ArrayList<>();
    Matcher m = CLAUSE.matcher(text);
    while (m.find()) {
      Query q = m.group(2) != null ? new PhraseQuery("body", m.group(2).split(" ")) : new TermQuery(new Term("body", m.group(3)));
      clauses.add(new BooleanClause(q, m.group(1).equals("+") ? BooleanClause.Occur.MUST
          : m.group(1).equals("-") ? BooleanClause.Occur.MUST_NOT : BooleanClause.Occur.SHOULD));
    }
    if (clauses.size() == 1) return clauses.get(0).query();
    BooleanQuery.Builder b = new BooleanQuery.Builder();
    clauses.forEach(b::add);
    return b.build();
  }

  /** TOP_k may stop counting at k hits; TOP_100_COUNT must give the exact count as well. */
  static long run(IndexSearcher s, Query q, Mode mode) throws IOException {
    return switch (mode) {
      case TOP_10 -> top(s, q, 10, 10).scoreDocs.length;
      case TOP_100 -> top(s, q, 100, 100).scoreDocs.length;
      case TOP_1000 -> top(s, q, 1000, 1000).scoreDocs.length;
      case TOP_100_COUNT -> top(s, q, 100, Integer.MAX_VALUE).totalHits.value();
      case COUNT -> s.count(q);
    };
  }

  static TopDocs top(IndexSearcher s, Query q, int k, int threshold) throws IOException {
    return s.search(q, new TopScoreDocCollectorManager(k, threshold));
  }

  private static void parity(IndexSearcher s, Map<String, List<String>> classes, String file) throws IOException {
    try (Writer out = new OutputStreamWriter(new GZIPOutputStream(Files.newOutputStream(Path.of(file))), StandardCharsets.UTF_8)) {
      for (var c : classes.entrySet())
        for (String text : c.getValue()) {
          Query q = parse(text);
          StringBuilder b = new StringBuilder();
          for (ScoreDoc d : top(s, q, 10, Integer.MAX_VALUE).scoreDocs)
            b.append(b.isEmpty() ? "" : ",").append(String.format(Locale.ROOT, "[\"%s\",%s]", s.storedFields().document(d.doc).get("key"), d.score));
          out.write(String.format(Locale.ROOT, "{\"class\":\"%s\",\"query\":\"%s\",\"count\":%d,\"top\":[%s]}\n", c.getKey(),
              text.replace("\"", "\\\""), s.count(q), b));
        }
    }
  }
}
