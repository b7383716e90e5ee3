package bench.lucene;

import bench.Report;
import bench.Shapes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntField;
import org.apache.lucene.document.KeywordField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.store.NRTCachingDirectory;

/** How Lucene's indexes are opened and its documents made, in all workloads. */
final class Cycles {
  private Cycles() {}

  static Directory open(String kind, Path path) throws IOException {
    Report.deleteTree(path);
    Files.createDirectories(path);
    return switch (kind) {
      case "ram" -> new ByteBuffersDirectory();
      case "mmap" -> new MMapDirectory(path);
      case "nrtcaching" -> new NRTCachingDirectory(new MMapDirectory(path), 5, 60);
      default -> throw new IllegalArgumentException(kind);
    };
  }

  /** "default": Lucene's own settings. "best": merges run in the caller, no wait for merges on a flush. */
  static IndexWriterConfig config(boolean best) {
    IndexWriterConfig c = new IndexWriterConfig(new StandardAnalyzer());
    if (best) c.setMergeScheduler(new SerialMergeScheduler()).setMaxFullFlushMergeWaitMillis(0);
    return c;
  }

  static Document document(Shapes.Doc d) {
    Document doc = new Document();
    doc.add(new StringField("key", d.key, Field.Store.YES));
    for (int i = 0; i < d.text.length; i++) doc.add(new TextField("t" + i, d.text[i], Field.Store.NO));
    for (int i = 0; i < d.keyword.length; i++) doc.add(new KeywordField("s" + i, d.keyword[i], Field.Store.NO));
    for (int i = 0; i < d.number.length; i++) doc.add(new IntField("n" + i, d.number[i], Field.Store.NO));
    return doc;
  }
}
