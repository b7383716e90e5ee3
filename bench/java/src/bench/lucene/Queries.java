package bench.lucene;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollectorManager;

/** The queries of W7 and the ways they are run. */
final class Queries {
  enum Mode {
    TOP_10, TOP_100, TOP_1000, TOP_100_COUNT, COUNT
  }

  private static final Pattern CLAUSE = Pattern.compile("([+-]?)(?:\"([^\"]*)\"(?:~(\\d+))?|(\\S+))");

  private Queries() {}

  static Query parse(String text) {
    List<BooleanClause> clauses = new ArrayList<>();
    Matcher m = CLAUSE.matcher(text);
    while (m.find()) {
      Query q = m.group(2) == null ? new TermQuery(new Term("body", m.group(4)))
          : new PhraseQuery(m.group(3) == null ? 0 : Integer.parseInt(m.group(3)), "body", m.group(2).split(" "));
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
}
