package bench.lucene;

import bench.Suite;
import bench.Suite.Kind;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.custom.CustomAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoubleField;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntField;
import org.apache.lucene.document.KeywordField;
import org.apache.lucene.document.LongField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.facet.FacetsCollectorManager;
import org.apache.lucene.facet.StringDocValuesReaderState;
import org.apache.lucene.facet.StringValueFacetCounts;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.MatchNoDocsQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.util.QueryBuilder;

/** W3 on six plain Lucene indexes: the same script, fields, filters and facets without Solr's layers. */
public final class Replay implements Suite.Engine {
  private static final Pattern FILTER = Pattern.compile("(.+?):(?:\\[(\\S+) TO (\\S+)\\]|(.+))");

  private record Core(IndexWriter writer, SearcherManager manager) {}

  private final Map<Kind, Core> cores = new LinkedHashMap<>();
  private final Map<Kind, List<JsonNode>> documents = new LinkedHashMap<>();
  private final Analyzer analyzer;

  /** Six indexes below a folder. */
  Replay(String directory, Path scratch) throws IOException {
    analyzer = CustomAnalyzer.builder().withTokenizer("whitespace").addTokenFilter("stop", "ignoreCase", "true")
        .addTokenFilter("wordDelimiterGraph", "generateWordParts", "1", "generateNumberParts", "1", "catenateWords", "1", "catenateNumbers", "1",
            "splitOnCaseChange", "1")
        .addTokenFilter("flattenGraph").addTokenFilter("lowercase").addTokenFilter("asciiFolding")
        .addTokenFilter("snowballPorter", "language", "English").addTokenFilter("removeDuplicates").build();
    for (Kind k : Kind.values()) {
      IndexWriterConfig c = new IndexWriterConfig(analyzer).setMergeScheduler(new SerialMergeScheduler()).setMaxFullFlushMergeWaitMillis(0);
      IndexWriter w = new IndexWriter(Cycles.open(directory, scratch.resolve("replay").resolve(k.core)), c);
      cores.put(k, new Core(w, new SearcherManager(w, null)));
    }
  }

  void close() throws IOException {
    for (Core c : cores.values()) {
      c.manager.close();
      c.writer.close();
    }
  }

  @Override
  public void load(Kind k, List<JsonNode> nodes) {
    documents.put(k, nodes);
  }

  private static void field(Document d, Kind k, String name, JsonNode v) {
    switch (k.typed.getOrDefault(name, "string")) {
      case "text" -> d.add(new TextField(name, v.asText(), Field.Store.YES));
      case "int" -> d.add(new IntField(name, v.asInt(), Field.Store.YES));
      case "double" -> d.add(new DoubleField(name, v.asDouble(), Field.Store.YES));
      case "date" -> d.add(new LongField(name, Instant.parse(v.asText()).toEpochMilli(), Field.Store.YES));
      default -> d.add(new KeywordField(name, v.asText(), Field.Store.YES));
    }
    if (k == Kind.SEARCH) d.add(new TextField("search_text", v.asText(), Field.Store.NO));
  }

  @Override
  public void add(Kind k, int document) throws IOException {
    JsonNode n = documents.get(k).get(document);
    Document d = new Document();
    n.fields().forEachRemaining(e -> {
      if (e.getValue().isArray()) e.getValue().forEach(x -> field(d, k, e.getKey(), x));
      else field(d, k, e.getKey(), e.getValue());
    });
    cores.get(k).writer.updateDocument(new Term(k.key, n.get(k.key).asText()), d);
  }

  @Override
  public void commit(Kind k, boolean hard) throws IOException {
    if (hard) cores.get(k).writer.commit();
    cores.get(k).manager.maybeRefreshBlocking();
  }

  private Query query(Kind k, String word) {
    if (word == null) return new MatchAllDocsQuery();
    String type = k.typed.getOrDefault(k.wordIn, k.wordIn.equals("search_text") ? "text" : "string");
    Query q = type.equals("text") ? new QueryBuilder(analyzer).createPhraseQuery(k.wordIn, word) : new TermQuery(new Term(k.wordIn, word));
    return q == null ? new MatchNoDocsQuery() : q;
  }

  private static Query filter(Kind k, String text) {
    Matcher m = FILTER.matcher(text);
    if (!m.matches()) throw new IllegalArgumentException(text);
    if (m.group(4) != null) return new TermQuery(new Term(m.group(1), m.group(4)));
    if (k.typed.get(m.group(1)).equals("int")) return IntField.newRangeQuery(m.group(1), Integer.parseInt(m.group(2)), Integer.parseInt(m.group(3)));
    return DoubleField.newRangeQuery(m.group(1), Double.parseDouble(m.group(2)), Double.POSITIVE_INFINITY);
  }

  @Override
  public void search(Kind k, String word) throws IOException {
    SearcherManager manager = cores.get(k).manager;
    IndexSearcher s = manager.acquire();
    try {
      BooleanQuery.Builder b = new BooleanQuery.Builder().add(query(k, word), Occur.MUST);
      for (String f : k.filters) b.add(filter(k, f), Occur.FILTER);
      var found = FacetsCollectorManager.search(s, b.build(), 10, new FacetsCollectorManager());
      for (ScoreDoc d : found.topDocs().scoreDocs) s.storedFields().document(d.doc);
      if (found.topDocs().scoreDocs.length == 0) return;
      for (String f : k.facets)
        new StringValueFacetCounts(new StringDocValuesReaderState(s.getIndexReader(), f), found.facetsCollector()).getTopChildren(20, f);
    } finally {
      manager.release(s);
    }
  }

  @Override
  public void wipe(Kind k) throws IOException {
    cores.get(k).writer.deleteDocuments(new MatchAllDocsQuery());
  }

  @Override
  public long count(Kind k) throws IOException {
    SearcherManager manager = cores.get(k).manager;
    IndexSearcher s = manager.acquire();
    try {
      return s.getIndexReader().numDocs();
    } finally {
      manager.release(s);
    }
  }
}
